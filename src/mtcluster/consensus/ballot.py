"""A vote of quick fits with the Euclidean metric: the way of a consensus for directions, counts and blurred rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Blocks
from ..core.relations import adjusted_rand, align, relatedness
from ..core.renumbering import resized
from .embedding import Embedding
from .members import Starts, blocks_of, fit_from, fit_members
from .vote import vote

if TYPE_CHECKING:
    from .consensus import Consensus


@dataclass
class Ballot:
    """The steps of a vote with the Euclidean metric."""

    how: Consensus  # its parameters
    embedding: Embedding
    n_clusters: int
    rng: np.random.Generator
    n_members: int = 0

    def vote(self, embedding: Embedding, known: list[Array] | None = None) -> tuple[list[Array], list[Array]]:
        """Return the shares of the members, on the tasks of an embedding, and the clusters of each task on its own.

        `known`: labels by an earlier fit, where one more member starts.
        """
        how, c = self.how, self.n_clusters
        numbers = (how.n_seedings, how.n_init_member, how.n_init_own)
        plain, *smoothed = (
            Blocks(blocks_of(Ys, embedding.us, embedding.unit))
            for Ys in (embedding.Ys, *embedding.smoothed(how.smoothings))
        )
        starts = Starts.find(plain, smoothed[0], c, len(smoothed), *numbers, self.rng)
        members = fit_members(smoothed, c, how.within_weights, starts)
        if known is not None:
            start = resized(embedding.Ys, embedding.us, known, c)
            members.append(fit_from(smoothed[0], c, how.within_weights[0], start))
        self.n_members = self.n_members or len(members)
        return vote(members, c), starts.owns

    def compare(self, shares: list[Array], owns: list[Array]) -> tuple[list[Array], Array, Array, Array]:
        """Get labels by majority, agreement of each task with them, its relatedness, and which tasks are left alone."""
        labels, m, c = [share.argmax(axis=1) for share in shares], len(shares), self.n_clusters
        agreement, kinship, alone = np.ones(m), np.ones(m), np.zeros(m, dtype=bool)
        if m > 1 and c > 1:
            agreement = np.array([adjusted_rand(a, b) for a, b in zip(owns, labels, strict=True)])
            labels = self.matched(labels)
            kinship = (relatedness(*self.embedding.centers(labels, c)) - np.eye(m)).max(axis=1)
            known = np.array([len(Y) for Y in self.embedding.Ys]) >= self.how.min_rows * c
            alone = known & ((agreement < self.how.min_agreement) | (kinship < self.how.min_relatedness))
        return labels, agreement, kinship, alone

    def again(
        self, shares: list[Array], owns: list[Array], alone: Array, known: list[Array] | None = None
    ) -> list[Array]:
        """Return labels after a second vote, without the tasks that are left alone; these keep their own."""
        if not alone.all():
            related = np.flatnonzero(~alone).tolist()
            known = None if known is None else [known[k] for k in related]
            for k, share in zip(related, self.vote(self.embedding.of_tasks(related), known)[0], strict=True):
                shares[k] = share
        labels = [own if left else share.argmax(axis=1) for own, share, left in zip(owns, shares, alone, strict=True)]
        return self.matched(labels)

    def matched(self, labels: list[Array]) -> list[Array]:
        """Labels renumbered so that clusters correspond across tasks: the vote may mean different things in them."""
        if not self.how.match_tasks:
            return labels
        return [
            np.argsort(order)[l]
            for order, l in zip(align(*self.embedding.centers(labels, self.n_clusters)), labels, strict=True)
        ]
