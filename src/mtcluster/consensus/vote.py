"""The vote: labels of several fits → the share of them that puts each row into each cluster."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from ..core.matching import renumber


def vote(members: list[list[Array]], n_clusters: int, max_rounds: int = 10) -> list[Array]:
    """The share of the members that put each row into each cluster, clusters renumbered to agree with the others.

    The reference is the member that agrees best with all of them, then the vote itself, until nothing changes.
    """
    labels = [np.concatenate(member) for member in members]
    eye = np.eye(n_clusters)
    agreement = [np.mean([np.mean(renumber(l, eye[ref]) == ref) for l in labels]) for ref in labels]
    shares = eye[labels[int(np.argmax(agreement))]]
    for _ in range(max_rounds):
        new = np.mean([eye[renumber(l, shares)] for l in labels], axis=0)
        if np.array_equal(new, shares):
            break
        shares = new
    return np.split(shares, np.cumsum([len(part) for part in members[0]])[:-1])
