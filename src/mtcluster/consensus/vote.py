"""The vote: labels of several fits → the share of them that puts each row into each cluster."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from ..core.relations import match


def vote(members: list[list[Array]], n_clusters: int, max_rounds: int = 10) -> list[Array]:
    """Get the share of the members that put each row into each cluster, clusters renumbered to agree with the others.

    The reference is the member that agrees best with all of them, then the vote itself, until nothing changes. All of
    it is read from the tables of how many rows two clusters have in common.
    """
    labels = np.stack([np.concatenate(member) for member in members])
    M, n = labels.shape
    hot = (labels[:, None] == np.arange(n_clusters)[:, None]).astype(np.float32).reshape(M * n_clusters, n)
    tables = (hot @ hot.T).reshape(M, n_clusters, M, n_clusters).astype(np.float64)
    common = np.einsum("icjd,icjd->ij", tables, tables)
    lengths = np.sqrt(np.diag(common))
    reference = int(np.argmax((common / np.outer(lengths, lengths)).sum(axis=1)))
    overlap, numbers = tables[:, :, reference], np.zeros((M, n_clusters), dtype=int)
    for _ in range(max_rounds):
        new = np.stack([match(table) for table in overlap])  # member, its cluster → cluster of the vote
        if np.array_equal(new, numbers):
            break
        numbers = new
        own = np.argsort(numbers, axis=1)  # member, cluster of the vote → its cluster
        overlap = np.take_along_axis(tables, own[None, None], axis=3).sum(axis=2)
    shares = np.zeros((n_clusters, n), dtype=np.float64)
    for member, order in zip(hot.reshape(M, n_clusters, n), np.argsort(numbers, axis=1), strict=True):
        shares += member[order]
    return np.split((shares / M).T, np.cumsum([len(part) for part in members[0]])[:-1])
