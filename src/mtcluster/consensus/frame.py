"""The frame of a fit with a shared metric: where tasks lie, what they hold, and how distances are measured.

Candidates decide it on a sample; then it is told which clusters each task holds, and which tasks have nothing in common
with the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Blocks, Place
from ..core.metric import STRENGTH, Metric
from ..core.model import Model
from ..core.relations import align, relatedness_by_common
from ..core.solver import first_state
from ..core.terms import Terms
from .candidates import SMOOTHING, Candidates, Chosen
from .embedding import Embedder, Embedding
from .members import blocks_of
from .scales import rounding_variance, whitened, within_covariance, without_tails

MOST_GAIN = 3.0  # nats that one row can say for a cluster: an outlier must not make one


@dataclass(frozen=True)
class Frame:
    """What candidates decided."""

    labels: list[Array]  # of the sample
    metric: Metric  # in the coordinates of X
    chosen: Chosen
    within_weight: Array  # (m,) λ1; 1: left alone
    log_shares: Array  # (m, c)
    present: Array  # (m, c) which clusters a task holds
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
    def metric(self) -> Metric:
        """The prior metric, in the coordinates of X."""
        embedder = self.embedder
        if embedder.V is None:
            return Metric(None, self.prior * np.outer(embedder.scale, embedder.scale))
        d, l = embedder.V.shape
        N = sum(float(u.sum()) for u in self.embedding.us)
        energy = sum(float(b.u @ b.sq) for b in embedder.sample) / N
        rest = max(energy - float(np.trace(self.prior)), 1e-3 * energy) / max(d - l, 1)
        return Metric(embedder.V, self.prior, rest if rest > 0 else 1.0)

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
        chosen = self._choose(self.seen)
        labels = [share.argmax(axis=1) for share in chosen.shares]
        kinship, least = self._kinship(labels, chosen)
        known = np.array([len(own) for own in labels]) >= self.min_rows * self.n_clusters
        alone = known & (kinship < least)
        if alone.any():
            chosen, labels = self._again(chosen, labels, alone)
        present, support, labels, sizes = self._presence(labels, chosen, alone)
        c = self.n_clusters
        log_shares = np.log((sizes + 1 / c) / (sizes.sum(axis=1, keepdims=True) + 1))
        log_shares[alone] = 0.0
        share = np.zeros(len(labels))
        if np.isfinite(chosen.shrinkage):
            total = np.maximum(sizes.sum(axis=1), np.finfo(np.float64).tiny)
            share = np.sum(sizes**2 / (sizes + chosen.shrinkage), axis=1) / total
        share = np.minimum(share, 0.99)
        return Frame(
            labels, self.metric, chosen, np.where(alone, 1.0, share), log_shares, present, support, kinship, least
        )  # fmt: skip

    def _choose(self, embedding: Embedding) -> Chosen:
        return self.how.choose(embedding, self.seen_prior, self.n_clusters, self.frames, self.rng)

    def _kinship(self, labels: list[Array], chosen: Chosen) -> tuple[Array, float]:
        """Relatedness of each task to the one most like it, by the clusters that both hold, and what it should be.

        A task below that is like no other, or much less like them than is usual among these tasks.
        """
        m, c = len(labels), self.n_clusters
        kinship = np.ones(m)
        if m == 1 or c == 1:
            return kinship, self.min_relatedness
        present, _, labels, _ = self._presence(labels, chosen, np.zeros(m, dtype=bool))
        alike = relatedness_by_common(*self.embedding.centers(labels, c), present)
        alike[present.astype(int) @ present.T < 2] = 1.0  # too little to tell by
        kinship = (alike - np.eye(m)).max(axis=1)
        return kinship, max(self.min_relatedness, self.usual * float(np.median(kinship)) if m > 2 else 0.0)

    def _again(self, chosen: Chosen, labels: list[Array], alone: Array) -> tuple[Chosen, list[Array]]:
        """The other tasks once more, and each of these on its own; their clusters are matched by where they lie."""
        if not alone.all():
            others = np.flatnonzero(~alone).tolist()
            chosen = self._choose(self.seen.of_tasks(others))
            for k, share in zip(others, chosen.shares, strict=True):
                labels[k] = share.argmax(axis=1)
        for k in np.flatnonzero(alone).tolist():
            labels[k] = self._choose(self.seen.of_tasks([k])).shares[0].argmax(axis=1)
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

    def _hold(self, present: Array, support: Array, j: int) -> None:
        """Let the task with the most support for a cluster hold it; where numbers are known, in place of another."""
        for k in np.argsort(-support[:, j], kind="stable"):
            elsewhere = present[k] & (present.sum(axis=0) > 1)
            full = self.per_task is not None and present[k].sum() >= self.per_task[k]
            if full and not elsewhere.any():
                continue
            if full:
                present[k, np.where(elsewhere, support[k], np.inf).argmin()] = False
            present[k, j] = True
            return

    def _presence(self, labels: list[Array], chosen: Chosen, alone: Array) -> tuple[Array, Array, list[Array], Array]:
        """Which clusters each task holds, the support of that, labels without the others, and sizes (m, c).

        The evidence for a cluster is by how much its rows would fit worse in their second best one, at most a few nats
        a row; its price is that of a centre in the space of all centres, ½ min(d + 1, c) log N_k. Support is the share
        of the evidence in both.
        """
        rows, c = self._rows, self.n_clusters
        model = Model(
            c, 0.0, c, metric=Metric(None, np.eye(len(self.prior))), proportions=True, matched=chosen.matched,
            shrinkage=np.array([chosen.shrinkage]),
        )  # fmt: skip
        centers = first_state(rows, model, [labels], energy=False).centers
        terms = model.terms(centers, rows.origins, energy=False)
        _, sizes = self.embedding.centers(labels, c)
        evidence = rows.apply(partial(_evidence, terms=terms, n_clusters=c), labels)[-1]
        evidence[alone] = np.inf
        price = 0.5 * min(rows.n_features + 1, c) * np.log(np.maximum(sizes.sum(axis=1, keepdims=True), 2.0))
        sure = np.isinf(evidence)
        support = np.where(sure, 1.0, np.where(sure, 0, evidence) / (np.where(sure, 0, evidence) + price))
        present = support >= 0.5
        if self.per_task is not None:
            rank = np.argsort(np.argsort(-support - 1e-9 * sizes, axis=1, kind="stable"), axis=1)
            present = rank < self.per_task[:, None]
        present[np.arange(len(present)), support.argmax(axis=1)] = True  # a task holds something
        for j in np.flatnonzero(~present.any(axis=0) & sizes.any(axis=0)):  # and a cluster is held by some task
            self._hold(present, support, int(j))
        labels = rows.apply(partial(_relabel, terms=terms, present=present), labels, outputs=1)[0]
        return present, support, labels, self.embedding.centers(labels, c)[1]


def _distances(place: Place, terms: Terms, k: int) -> Array:
    """(c, n) half of what each label adds to the losses of the rows of a task."""
    block = place.blocks[k]
    return np.array(terms.where(block)[k].quadratic(block.X, block.sq).D[0], dtype=np.float64)


def _evidence(place: Place, labels: list[Array], *, terms: Terms, n_clusters: int) -> tuple[Array]:
    """(m, c) by how much the rows of each cluster would fit worse in the second best one."""
    found = np.zeros((len(labels), n_clusters))
    if n_clusters == 1:
        return (found + np.inf,)
    for k, own in enumerate(labels):
        D, rows = _distances(place, terms, k), np.arange(len(own))
        here = D[own, rows]
        D[own, rows] = np.inf
        gain = np.clip(D.min(axis=0) - here, -MOST_GAIN, MOST_GAIN)
        found[k] = np.maximum(np.bincount(own, weights=place.blocks[k].u * gain, minlength=n_clusters), 0)
    return (found,)


def _relabel(place: Place, labels: list[Array], *, terms: Terms, present: Array) -> tuple[list[Array], None]:
    """Rows of clusters that their task does not hold go to the best one that it does."""
    found = []
    for k, own in enumerate(labels):
        lost = ~present[k][own]
        if lost.any():
            D = _distances(place, terms, k)
            D[~present[k]] = np.inf
            own = np.where(lost, D.argmin(axis=0), own)
        found.append(own)
    return found, None
