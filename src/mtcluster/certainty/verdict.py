"""The verdict on clusters: four words, what they mean, and what they follow from. They are defined here alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array

VERDICTS = ("clear", "fair", "unsure", "no clear structure")
MEANINGS = {
    "clear": "the clusters are found again in halves of the data, more than in data without clusters, and rows are "
    "rare between any two that lie next to each other",
    "fair": "the clusters are found again in halves of the data, more than in data without clusters, but some of "
    "them run into each other",
    "unsure": "the clusters are hardly more stable than in data without clusters, or there are no gaps between them: "
    "other data of the same kind may give other clusters",
    "no clear structure": "data without clusters of the same shape would be cut as reproducibly",
}
STABLE, FAIRLY_STABLE = 0.9, 0.75  # share of the rows that keep their cluster
GAP, SLIGHT_GAP = 0.5, 0.75  # density between two clusters, relative to that at the sparser of their centres


@dataclass(frozen=True)
class Verdict:
    """The verdict, and what it follows from."""

    word: str  # one of `VERDICTS`
    beats: str  # is it more stable than data without clusters? "yes", "barely" or "no"
    separated: float  # share of the pairs of neighbouring clusters with a gap; NaN: no two clusters are neighbours

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


def judge(overall: float, reference: Array, ratios: Array) -> Verdict:
    """The verdict from the stability of the data, that of data without clusters, and the densities between clusters.

    Clear: more stable than every data set without clusters, nine rows in ten keep their cluster, and between any two
    neighbours rows are at most half as dense. Fair: as stable, three rows in four keep their cluster, and rows are
    rarer between most neighbours; or half as dense between all, and more stable than most data sets without clusters.
    """
    known = ratios[np.isfinite(ratios)]
    beats = compared(overall, reference)
    separated = float(np.mean(known <= GAP)) if len(known) else float("nan")
    if beats == "no":
        return Verdict("no clear structure", beats, separated)
    everywhere = len(known) > 0 and bool(known.max() <= GAP)
    mostly = len(known) > 0 and bool(np.median(known) <= SLIGHT_GAP)
    if beats == "yes" and everywhere and overall >= STABLE:
        return Verdict("clear", beats, separated)
    if overall >= FAIRLY_STABLE and (everywhere or (mostly and beats == "yes")):
        return Verdict("fair", beats, separated)
    return Verdict("unsure", beats, separated)
