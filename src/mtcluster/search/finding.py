"""The search on one look at the rows: starts, mixtures in several frames, moves, and the evidence, which chooses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array
from ..core.evidence import Judged
from ..core.relations import align
from .mixtures import FRAMES, fit_mixtures
from .moves import improved, prices, regrouped, settled
from .rows import Rows
from .starts import starting_labels

MOST_ITER = 40  # iterations of a mixture
OWN_GAIN = 0.14  # nats per value that centres of tasks have to gain


@dataclass(frozen=True, eq=False)
class Candidate:
    """Labels of the rows, and how probable they make these."""

    labels: Array
    frame: str  # of the mixture that they come from
    judged: Judged
    scaled: bool  # are the rows more probable with tasks of one spread?

    @property
    def value(self) -> float:
        """The evidence, in nats."""
        return self.judged.value


@dataclass(frozen=True, eq=False)
class Finder:
    """A search for so many clusters on the same rows.

    `frames`: names of what tasks may differ in; `n_init`: runs of each k-means; `n_moved`: how many labels moves go on
    from.
    """

    rows: Rows
    n_clusters: int
    frames: tuple[str, ...]
    rng: np.random.Generator
    n_init: int
    n_moved: int

    @property
    def several(self) -> bool:
        """Whether there are several tasks."""
        return len(self.rows.sizes) > 1

    def find(self, known: Array | None = None) -> list[Candidate]:
        """Return all labels that were found, those of the highest evidence first; `known`: one more start."""
        if self.n_clusters >= len(self.rows.Y):  # a cluster for each row
            return [self.judge(np.arange(len(self.rows.Y)))]
        starts = starting_labels(self.rows, self.n_clusters, self.n_init, self.rng).astype(np.int64)
        if known is not None:
            starts = np.concatenate([known[None].astype(np.int64), starts])
        kinds = self.frames if self.several else ("none",)
        starts = np.stack([self.numbered(one) for one in starts])
        found = {one.tobytes(): (one, "") for one in starts}
        for frame in kinds:
            begun = starts[-1:] if FRAMES[frame].own else starts
            for one in fit_mixtures(self.look(frame), begun, self.n_clusters, FRAMES[frame], MOST_ITER):
                one = self.numbered(one)
                found.setdefault(one.tobytes(), (one, frame))
        made = _sorted(self.judge_all(*zip(*found.values(), strict=True)))
        made = _sorted([self.moved(one) for one in made[: self.n_moved]] + made)
        best = made[0]
        labels = settled(self._seen(best), best.labels, self.n_clusters, self._judged) if self.several else best.labels
        return made if labels is best.labels else [self.judge(self.numbered(labels), best.frame), *made]

    def judge(self, labels: Array, frame: str = "") -> Candidate:
        """Compute the evidence of labels (n,)."""
        return self.judge_all([labels], [frame])[0]

    def judge_all(self, labels: Sequence[Array], frames: Sequence[str]) -> list[Candidate]:
        """Compute the evidence of each of several labels, with the frame of the mixture that they come from.

        Of rows as they are or with tasks of one spread, with own centres or not.
        """
        c, scales = self.n_clusters, any(FRAMES[name].scales for name in self.frames)
        looks = [self.rows, self.rows.scaled] if self.several and scales else [self.rows]
        offsets = any(FRAMES[name].offsets for name in self.frames)
        sums = [look.sums_of_all(labels, c) for look in looks]
        found = [look.evidence.of_all(*own, offsets=offsets) for look, own in zip(looks, sums, strict=True)]
        at = np.argmax([[one.value for one in each] for each in found], axis=0)
        judged = [found[i][r] for r, i in enumerate(at)]
        able = self.several and "own" in self.frames
        least = OWN_GAIN * float(self.rows.u.sum()) * self.rows.Y.shape[1]
        for i, look in enumerate(looks):
            asked = [r for r, frame in enumerate(frames) if able and at[r] == i and frame in ("", "own")]
            if asked:  # others were fitted with shared centres
                N, T = (values[asked] for values in sums[i])
                for r, own in zip(asked, look.evidence.of_all(N, T, own=True, offsets=offsets), strict=True):
                    if own.value - least > judged[r].value:
                        judged[r] = replace(own, value=own.value - least)
        return [
            Candidate(one, frame, *rest)
            for one, frame, *rest in zip(labels, frames, judged, (at == 1).tolist(), strict=True)
        ]

    def numbered(self, labels: Array) -> Array:
        """Number clusters by their weight, the largest first, so that labels that mean the same are the same."""
        weight = np.bincount(labels, self.rows.u, self.n_clusters)
        first = np.full(self.n_clusters, len(labels))
        np.minimum.at(first, labels, np.arange(len(labels)))
        order = np.lexsort((first, -weight))
        return np.argsort(order)[labels]

    def look(self, frame: str) -> Rows:
        """Return the rows as a frame sees them."""
        return self.rows.scaled if self.several and FRAMES[frame].scales else self.rows

    def moved(self, one: Candidate) -> Candidate:
        """Return a candidate of higher evidence, if moves find any."""
        frame = one.frame or self.frames[-1]
        labels = improved(self._judged, self.look(frame), one.labels, self.n_clusters, FRAMES[frame], self.rng)
        return one if labels is one.labels else self.judge(self.numbered(labels), frame)

    def support(self, one: Candidate) -> tuple[Array, Array]:
        """Compute what the evidence says for each cluster in each task.

        Returns the nats (m, c) that are lost if the rows of a cluster in a task go to the next best one, or if those of
        another one come to a cluster that the task lacks, less what holding one more costs; and whether it holds rows.
        """
        rows, c = self._seen(one), self.n_clusters
        N, _ = rows.sums(one.labels, c)
        lost, moves = regrouped(rows, one.labels, c, one.judged)
        found = np.full(N.shape, np.inf)
        lost, (k, j, l) = lost[moves[:, 3] == 0], moves[moves[:, 3] == 0, :3].T
        np.minimum.at(found, (k, j), lost)
        new = N[k, l] == 0
        np.minimum.at(found, (k[new], l[new]), lost[new])
        return found - prices(rows, c)[:, None] * np.where(N > 0, 1, -1), N > 0

    def own(self, labels: Array, ks: list[int]) -> float:
        """Estimate the variance of centres of some tasks around the shared ones, of rows as they are."""
        if len(ks) < 2:
            return 0.0
        rows = self.rows.of_tasks(ks)
        return rows.evidence(*rows.sums(labels[np.isin(self.rows.ids, ks)], self.n_clusters), own=True).effects.own

    def apart(self, labels: Array, ks: list[int]) -> Array:
        """Compute by how much the evidence of some tasks rises if the clusters of one are none of the shared ones."""
        rows, c = self.rows.of_tasks(ks), self.n_clusters
        N, T = rows.sums(labels[np.isin(self.rows.ids, ks)], c)
        wide = [(0, 0), (0, c)]
        N, T = np.pad(N, wide), np.pad(T, [*wide, (0, 0)])
        judged = rows.evidence(N[:, :c], T[:, :c], own=True)
        return rows.evidence.gains(N, T, judged, np.arange(len(N)), np.roll(N, c, axis=1), np.roll(T, c, axis=1))

    def matched(self, labels: Array, alone: Array) -> Array:
        """Renumber the clusters of tasks that are left alone by where they lie; the others keep their numbers."""
        N, T = self.rows.sums(labels, self.n_clusters)
        orders = align(T / np.maximum(N, 1e-9)[..., None], N)
        known = np.argsort(orders[int(np.argmin(alone))]) if not alone.all() else np.arange(self.n_clusters)
        found = labels.copy()
        for k, part in enumerate(self.rows.parts):
            if alone[k]:
                found[part] = np.argsort(orders[k][known])[labels[part]]
        return found

    def limited(self, one: Candidate, per_task: Array) -> Candidate:
        """Return labels with so many clusters in each task (m,): those of the least evidence go to their next."""
        rows, c, labels = self._seen(one), self.n_clusters, one.labels
        while True:
            N, _ = rows.sums(labels, c)
            lost, moves = regrouped(rows, labels, c, one.judged)
            many = (N > 0).sum(axis=1) > per_task
            can = many[moves[:, 0]] & (moves[:, 3] == 0) & (N[moves[:, 0], moves[:, 2]] > 0)
            if not can.any():
                return self.judge(labels, one.frame)
            k, j, l, _ = moves[np.where(can, lost, np.inf).argmin()]
            labels = np.where((rows.ids == k) & (labels == j), l, labels)

    def _seen(self, one: Candidate) -> Rows:
        return self.rows.scaled if one.scaled else self.rows

    def _judged(self, labels: Sequence[Array]) -> list[Judged]:
        return [one.judged for one in self.judge_all(labels, [""] * len(labels))]


def _sorted(made: list[Candidate]) -> list[Candidate]:
    """From the highest evidence to the lowest."""
    return sorted(made, key=lambda one: -one.value)
