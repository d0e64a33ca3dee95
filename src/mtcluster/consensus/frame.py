"""The frame of a fit with a shared metric: where tasks lie, what they hold, and how distances are measured.

Candidates decide it on a sample; then it is told which clusters each task holds, and which tasks have nothing in common
with the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Blocks
from ..core.geometry import STRENGTH, Tied
from ..core.model import Model
from ..core.relations import align, relatedness_by_common
from ..core.sharing import Offsets, Shrink
from .candidates import SMOOTHING, Candidates, Chosen
from .completion import by_clusters
from .embedding import Embedder, Embedding
from .members import blocks_of
from .presence import Presence, find_presence
from .scales import rounding_variance, whitened, within_covariance, without_tails


@dataclass(frozen=True)
class Frame:
    """What candidates decided."""

    labels: list[Array]  # of the sample
    geometry: Tied  # in the coordinates of X
    chosen: Chosen
    within_weight: Array  # (m,) λ1; 1: left alone
    log_shares: Array  # (m, c)
    holds: Array  # (m, c) which clusters a task holds
    support: Array  # (m, c) the evidence for it
    kinship: Array  # (m,) relatedness to the most similar task
    least: float  # below it a task is left alone


@dataclass(frozen=True)
class Framing:
    """The steps from an embedding to a frame."""

    how: Candidates
    embedder: Embedder
    plain: Embedding  # all rows count as they do
    embedding: Embedding  # those far from all others count less
    n_clusters: int
    frames: tuple[bool, ...]  # whether offsets are tried
    min_relatedness: float
    usual: float  # share of the median relatedness below which a task is left alone
    min_rows: int
    per_task: Array | None  # (m,) number of clusters of each task, where it is known
    rng: np.random.Generator
    known: list[Array] | None = None  # labels of the sample by an earlier fit

    @cached_property
    def prior(self) -> Array:
        """(l, l) the covariance within tasks, in the coordinates of the embedding."""
        return self._prior_of(self.embedding)

    def _prior_of(self, rows: Embedding) -> Array:
        rounding = rounding_variance(rows.Ys) if self.embedder.V is None else None
        return within_covariance(rows.Ys, rows.us, rounding, STRENGTH)

    @cached_property
    def seen_prior(self) -> Array:
        """The same of the rows as candidates see them."""
        return self._prior_of(self.seen)

    @cached_property
    def geometry(self) -> Tied:
        """The prior of the metric, in the coordinates of X."""
        embedder = self.embedder
        if embedder.V is None:
            prior = self.prior * np.outer(embedder.scale, embedder.scale)
            return Tied.of(prior + np.diag(np.maximum(embedder.noise - np.diag(prior), 0)))
        d, l = embedder.V.shape
        N = sum(float(u.sum()) for u in self.embedding.us)
        energy = sum(float(b.u @ b.sq) for b in embedder.sample) / N
        rest = max(energy - float(np.trace(self.prior)), 1e-3 * energy) / max(d - l, 1)
        return Tied.of(self.prior, embedder.V, rest if rest > 0 else 1.0)

    @cached_property
    def seen(self) -> Embedding:
        """The rows as candidates see them: narrow ones without tails, wide ones moved towards their neighbours.

        A skewed column would be cut in two, and one covariance cannot follow the clusters of wide rows, which are
        rarely elliptical.
        """
        if self.embedder.V is None:
            return replace(self.embedding, Ys=without_tails(self.embedding.Ys))
        return replace(self.embedding, Ys=self.embedding.smoothed([SMOOTHING])[0])

    def find(self) -> Frame:
        """Choose, look for tasks with nothing in common, and tell which clusters each task holds."""
        chosen = self._choose(range(len(self.seen.Ys)))
        labels = [share.argmax(axis=1) for share in chosen.shares]
        kinship, least = self._kinship(labels, chosen)
        known = np.array([len(own) for own in labels]) >= self.min_rows * self.n_clusters
        alone = known & (kinship < least)
        if alone.any():
            chosen, labels = self._again(chosen, labels, alone)
        held = self._presence(labels, chosen, alone)
        holds, labels, sizes = held.holds, held.labels, self.embedding.centers(held.labels, self.n_clusters)[1]
        c = self.n_clusters
        log_shares = np.log((sizes + 1 / c) / (sizes.sum(axis=1, keepdims=True) + 1))
        log_shares[alone] = 0.0
        share = np.zeros(len(labels))
        if np.isfinite(chosen.shrinkage):
            total = np.maximum(sizes.sum(axis=1), np.finfo(np.float64).tiny)
            share = np.sum(sizes**2 / (sizes + chosen.shrinkage), axis=1) / total
        share = np.minimum(share, 0.99)
        return Frame(
            labels, self.geometry, chosen, np.where(alone, 1.0, share), log_shares, holds, held.support, kinship, least
        )  # fmt: skip

    def completed(self, found: Frame) -> Embedder:
        """Return the sample with what the clusters that were found expect in place of missing values."""
        embedder, chosen = self.embedder, found.chosen
        if embedder.V is not None:
            return embedder
        model = Model(
            self.n_clusters, Shrink.of(chosen.shrinkage), self.n_clusters, geometry=self.geometry,
            offsets=Offsets.none(chosen.matched), holds=found.holds[None],
        )  # fmt: skip
        return embedder.with_sample(by_clusters(embedder.given, model, found.labels))

    def _choose(self, tasks: Sequence[int]) -> Chosen:
        seen = self.seen if len(tasks) == len(self.seen.Ys) else self.seen.of_tasks(list(tasks))
        known = None if self.known is None else [self.known[k] for k in tasks]
        return self.how.choose(seen, self.seen_prior, self.n_clusters, self.frames, self.rng, known)

    def _kinship(self, labels: list[Array], chosen: Chosen) -> tuple[Array, float]:
        """Get how like each task is to the one most like it, by the clusters that both hold, and how it should be.

        A task below that is like no other, or much less like them than is usual among these tasks.
        """
        m, c = len(labels), self.n_clusters
        kinship = np.ones(m)
        if m == 1 or c == 1:
            return kinship, self.min_relatedness
        held = self._presence(labels, chosen, np.zeros(m, dtype=bool))
        holds = held.holds
        alike = relatedness_by_common(*self.embedding.centers(held.labels, c), holds)
        alike[holds.astype(int) @ holds.T < 2] = 1.0  # too little to tell by
        kinship = (alike - np.eye(m)).max(axis=1)
        return kinship, max(self.min_relatedness, self.usual * float(np.median(kinship)) if m > 2 else 0.0)

    def _again(self, chosen: Chosen, labels: list[Array], alone: Array) -> tuple[Chosen, list[Array]]:
        """Get the other tasks once more, and each of these on its own; their clusters are matched by where they lie."""
        if not alone.all():
            others = np.flatnonzero(~alone).tolist()
            chosen = self._choose(others)
            for k, share in zip(others, chosen.shares, strict=True):
                labels[k] = share.argmax(axis=1)
        for k in np.flatnonzero(alone).tolist():
            labels[k] = self._choose([k]).shares[0].argmax(axis=1)
        orders = align(*self.embedding.centers(labels, self.n_clusters))
        if not alone.all():  # the others keep their numbers
            known = np.argsort(orders[int(np.flatnonzero(~alone)[0])])
            orders = [
                order[known] if left else np.arange(len(order)) for order, left in zip(orders, alone, strict=True)
            ]
        return chosen, [np.argsort(order)[found] for order, found in zip(orders, labels, strict=True)]

    @cached_property
    def _rows(self) -> Blocks:
        """The rows in coordinates in which the covariance within tasks is the identity."""
        return Blocks(blocks_of(whitened(self.seen.Ys, self.seen_prior), self.seen.us, 1.0))

    def _presence(self, labels: list[Array], chosen: Chosen, alone: Array) -> Presence:
        return find_presence(
            self._rows, labels, self.n_clusters, chosen.matched, chosen.shrinkage, alone, self.per_task
        )
