"""How many clusters: each number is judged on its own, on the same halves, against the same data without clusters.

A number is separated if all of its clusters are found again, rows are rarer between them, and tasks predict each other
about as well as halves of themselves do. The largest such number is suggested, and the coarser ones are named. Where no
number is, and for rows that are directions or counts, whose clusters may run into each other, the most stable one is
suggested, if there is more structure than in data without clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from .bases import find_bases
from .evidence import Evidence, gather, reference_values
from .refits import Setting
from .valleys import ratios
from .verdict import FAIRLY_STABLE, STABLE
from .view import View

N_REFITS = 6
N_SEEDINGS = 1  # starts of a refit, beside the labels at hand
N_REFERENCES = 3
STABLE_CLUSTER = 0.85  # Jaccard index
FEWEST_ROWS = 10  # of a cluster
SEPARATED = 0.65  # density between two clusters, relative to that at the sparser of their centres
PROBED = range(2, 11)  # numbers that tell whether there is structure at all
STRUCTURE = 0.9  # share of the data sets without clusters that are less stable, over all numbers
AS_STABLE = 0.02  # share of the rows by which a number may be less stable than the most stable one
ACROSS = 0.1  # by how much worse tasks may predict each other than halves do
CROSSING = 0.1  # share of the rows of a finer number that may lie in another cluster of a coarser one
PART = 0.02  # share of the rows of a task from which on a cluster has rows there


@dataclass(frozen=True)
class Number:
    """What is known about one number of clusters."""

    n_clusters: int
    evidence: Evidence
    stability: float  # share of the rows that keep their cluster
    error: float  # its standard error over refits
    weakest: float  # least Jaccard index of a cluster
    across: float | None  # share that the other tasks predict
    between: float  # density between the two neighbours that are separated least
    n_cells: int  # pairs of a task and a cluster with rows

    @property
    def setting(self) -> Setting:
        """Labels, and what is known about tasks."""
        return self.evidence.fits.setting

    @property
    def labels(self) -> Array:
        """Of the sample, task by task."""
        return np.concatenate(self.setting.labels)

    @property
    def reference(self) -> Array:
        """(B,) stability of data without clusters."""
        return self.evidence.reference

    @property
    def beats(self) -> bool:
        """Whether it is more stable than in all data sets without clusters."""
        return bool(self.stability > self.reference.max())

    @property
    def predicted(self) -> bool:
        """Whether tasks predict each other about as well as halves do; where they cannot, halves count."""
        return self.across is None or self.across >= self.stability - ACROSS

    @property
    def separated(self) -> bool:
        """Whether the number counts."""
        sizes = np.bincount(self.labels, minlength=self.n_clusters)
        stable = self.weakest >= STABLE_CLUSTER and self.stability >= np.median(self.reference)
        return bool(sizes.min() >= FEWEST_ROWS and stable and self.predicted and self.between <= SEPARATED)


@dataclass(frozen=True)
class Counted:
    """The suggestion."""

    numbers: list[Number]
    n_clusters: int | None
    named: list[int]  # numbers that are supported, the coarsest first
    why: str  # "separated", "stable", "unstable" or "none"
    blind: bool = True  # were the rows also fitted as if nothing were known about them?

    def number(self, n_clusters: int) -> Number:
        """Tell what is known about a number that was asked for."""
        return next(one for one in self.numbers if one.n_clusters == n_clusters)


def count_clusters(view: View, numbers: list[int], seed: int, tell: Callable[[], None] = lambda: None) -> Counted:
    """Judge each number of clusters, at least 2, and choose."""
    settings = find_bases(view, numbers, seed)
    tell()
    found = [_number(one) for one in gather(view, settings, N_REFITS, N_REFERENCES, N_SEEDINGS, seed, tell=tell)]
    undecided = view.measured and not any(one.separated for one in found)
    ranks = _other_ranks(view, numbers, seed) if undecided else []
    return Counted(found, *choose(found, view.measured, ranks), view.measured)


def choose(found: list[Number], gaps: bool, ranks: Sequence[float] = ()) -> tuple[int | None, list[int], str]:
    """Return the suggested number, those that are supported, and why; `gaps`: whether these may decide.

    `ranks`: of numbers that were not asked for, the share of data without clusters that are less stable than the rows.
    """
    kept = consistent([one for one in found if one.separated]) if gaps else []
    if kept:
        return kept[-1].n_clusters, [one.n_clusters for one in kept], "separated"
    if not _structured(found, gaps, ranks):
        return 1, [], "none"
    stable = [one for one in found if one.stability >= FAIRLY_STABLE and one.weakest >= FAIRLY_STABLE]
    if not stable:
        return None, [one.n_clusters for one in found if one.beats], "unstable"
    most = max(one.stability for one in stable)
    named = [one.n_clusters for one in stable if one.stability >= most - AS_STABLE]
    return named[0], named, "stable"


def _structured(found: list[Number], blind: bool, ranks: Sequence[float]) -> bool:
    """Tell whether the rows are more stable than data without clusters.

    One of several numbers may be so by chance, so the same numbers count whatever was asked for. `blind`: rows are
    compared that are fitted like these data, as if nothing were known about them; votes have no such counterpart, and
    find nothing stable where there is nothing.
    """
    if not blind:
        return any(one.beats and one.stability >= STABLE for one in found)
    own = [float(np.mean(one.evidence.plain > one.reference)) for one in found if one.n_clusters in PROBED]
    return any(one.beats for one in found) and float(np.mean([*own, *ranks] or [1.0])) >= STRUCTURE


def _other_ranks(view: View, numbers: list[int], seed: int) -> list[float]:
    """Return the ranks of numbers that were not asked for."""
    most = len(view.codes) // 2
    others = [number for number in PROBED if number not in numbers and number <= most]
    if not others:
        return []
    values = reference_values(view, find_bases(view, others, seed), N_REFERENCES, N_SEEDINGS, seed)
    return np.mean(values[0] > values[1:], axis=0).tolist()


def consistent(found: list[Number]) -> list[Number]:
    """Without numbers that contradict others.

    A larger number has to cut clusters within tasks: calling the same cluster of two tasks by two names is no cluster
    more. Of numbers that hardly differ within tasks the one counts by which tasks predict each other better, or where
    that is alike the one of the lower criterion. And clusters of a larger number have to lie within those of a smaller
    one; else the less separated of the two goes.
    """
    kept: list[Number] = []
    for one in found:
        added = [(one.n_cells - other.n_cells) / (one.n_clusters - other.n_clusters) for other in kept]
        enough = 2 if len(one.setting.labels) > 1 else 1  # a cluster of its own adds to what tasks hold
        alike = [other for other, share in zip(kept, added, strict=True) if share < enough]
        if all(_better(one, other) for other in alike):
            kept = [other for other, share in zip(kept, added, strict=True) if share >= 1] + [one]
    while True:
        crossing = next(
            (
                (fine, coarse)
                for i, fine in enumerate(kept)
                for coarse in kept[:i]
                if crossed(fine.labels, coarse.labels) > CROSSING
            ),
            None,
        )
        if crossing is None:
            return kept
        kept.remove(max(crossing, key=lambda one: one.between))


def _better(one: Number, other: Number) -> bool:
    """Tell whether a number describes the same clusters within tasks better than a smaller one."""
    if one.across is None or other.across is None:
        return other.across is None and (one.across is not None or one.setting.value < other.setting.value)
    if abs(one.across - other.across) > AS_STABLE:
        return one.across > other.across
    return one.setting.value < other.setting.value


def crossed(fine: Array, coarse: Array) -> float:
    """Get the share of rows outside the cluster of the coarse labels in which most rows of their fine cluster lie."""
    table = np.zeros((int(fine.max()) + 1, int(coarse.max()) + 1))
    np.add.at(table, (fine, coarse), 1)
    return float(1 - table.max(axis=1).sum() / table.sum())


def _number(evidence: Evidence) -> Number:
    setting = evidence.fits.setting
    known = ratios(evidence.counts)
    known = known[np.isfinite(known)]
    of_refits = evidence.agreement.kept[evidence.halves] @ evidence.weights / evidence.weights.sum()
    sizes = np.stack([np.bincount(own, minlength=setting.n_clusters) for own in setting.labels])
    cells = int(np.sum(sizes > np.maximum(2, PART * sizes.sum(axis=1, keepdims=True))))
    stability = evidence.cluster_stability
    return Number(
        n_clusters=setting.n_clusters,
        evidence=evidence,
        stability=evidence.overall,
        error=float(of_refits.std(ddof=1) / np.sqrt(len(of_refits))) if len(of_refits) > 1 else 0.0,
        weakest=float(np.min(np.nan_to_num(stability, nan=0.0))),  # a cluster without rows was not found
        across=evidence.across,
        between=float(known.max()) if len(known) else np.inf,
        n_cells=cells,
    )
