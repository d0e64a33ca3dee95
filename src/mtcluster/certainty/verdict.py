"""The verdict on clusters: five words, what they mean, and what they follow from. They are defined here alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array

VERDICTS = ("clear", "clear within tasks", "fair", "unsure", "no clear structure")
MEANINGS = {
    "clear": "the clusters are found again in halves of the data and with other seeds, more than in data without "
    "clusters, and there is a gap between any two that lie next to each other",
    "clear within tasks": "the clusters of each task are found again and have gaps between them, but which cluster of "
    "one task corresponds to which of another is less sure",
    "fair": "the clusters are found again in halves of the data and with other seeds, more than in data without "
    "clusters, but the gaps between some of them are narrow",
    "unsure": "the clusters are hardly more stable than in data without clusters, or there are no gaps between them: "
    "other data of the same kind may give other clusters",
    "no clear structure": "data without clusters of the same shape would be cut as reproducibly",
}
STABLE, FAIRLY_STABLE = 0.9, 0.75  # share of the rows that keep their cluster
GAP, NARROW_GAP = 0.7, 0.9  # how wide the path between two clusters stays, relative to the rows of the sparser one
MUCH_MORE = 0.2  # share of the rows by which data are far more stable than data without clusters
MOVED = 0.1  # share of the rows that depend on where tasks lie from which on clusters hardly correspond


@dataclass(frozen=True)
class Verdict:
    """The verdict, and what it follows from."""

    word: str  # one of `VERDICTS`
    beats: str  # is it more stable than data without clusters? "yes", "barely" or "no"

    @property
    def meaning(self) -> str:
        """The verdict in a clause."""
        return MEANINGS[self.word]


def compared(overall: float, reference: Array) -> str:
    """Tell whether data are more stable than all, most or few data sets without clusters."""
    if not len(reference):
        return "yes"
    if overall <= np.median(reference):
        return "no"
    return "yes" if overall >= reference.max() else "barely"  # no more than all rows can keep their cluster


def judge(overall: float, within: float, reference: Array, between: Array, moved: float | None, alone: bool) -> Verdict:
    """The verdict from the stability of the data, that of data without clusters, and the gaps between clusters.

    `overall` is the share of the rows that keep their cluster, `within` that where clusters are matched in each task on
    its own, `moved` the share that depends on where tasks lie, `alone` whether tasks share nothing.

    Clear: more stable than every data set without clusters, nine rows in ten keep their cluster, and there is a gap
    between any two neighbours. Fair: as stable, three rows in four keep their cluster, and gaps may be narrow; or nine
    rows in ten do, far more than without clusters, whatever the gaps.
    """
    beats = compared(overall, reference)
    known = between[np.isfinite(between)]
    worst = float(known.max()) if len(known) else 1.0
    if len(between) < 2:
        return Verdict("no clear structure", beats)
    if beats == "no" and compared(within, reference) == "no":
        return Verdict("no clear structure", beats)
    corresponds = not alone and (moved is None or moved < MOVED)
    if beats == "yes" and overall >= STABLE and worst <= GAP and corresponds:
        return Verdict("clear", beats)
    if within >= STABLE and worst <= GAP and compared(within, reference) == "yes":
        return Verdict("clear within tasks", beats)
    far = overall >= STABLE and overall >= reference.max(initial=0.0) + MUCH_MORE
    if beats == "yes" and ((overall >= FAIRLY_STABLE and worst <= NARROW_GAP) or far):
        return Verdict("fair", beats)
    return Verdict("unsure", beats)
