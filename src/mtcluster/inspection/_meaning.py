"""What a result means, in the sentences that a reader needs first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..certainty import VERDICTS
from ._certainty import plain_stability
from ._subject import Subject
from ._words import percent

CHOSEN = ("set", "evidence")  # reasons for which the location of tasks is treated as it is, out of two ways
TOLD = ("Present in", "Private to", "Absent:", "Every cluster")  # what the sentences on clusters tell, too
LITTLE = 0.01  # share of the rows that makes no difference
NO_STRUCTURE = VERDICTS[-1]
CAUTION = (
    f"There is {NO_STRUCTURE} in these data: take the clusters as a way to divide the rows, not as groups that exist."
)


def meaning(subject: Subject, holding: Sequence[str], stability: Any = None) -> list[str]:
    """Say what was decided and matters: what clusters are relative to, who holds which, and how sure one can be.

    `holding` are the sentences on who holds which, `stability` is a result of `mtcluster.model_selection.stability`, or
    the same as plain values.
    """
    found = plain_stability(stability)
    return [*_location(subject, found), *holding, *_sure(found)]


def context(subject: Subject, holding: Sequence[str], stability: Any = None) -> list[str]:
    """Say what clusters are relative to, and what the sentences on clusters leave open about who holds which."""
    others = [line for line in holding if not line.startswith(TOLD)]
    return [*_location(subject, plain_stability(stability)), *others]


def _location(subject: Subject, found: dict[str, Any] | None) -> list[str]:
    made, shares = subject.decisions, subject.fitted.shares
    if made is None or len(shares) < 2 or not shares.any() or made.task_offset_reason not in CHOSEN:
        return []
    removed, share = made.task_offset != "none", None if found is None else found.get("location_share")
    said = (
        "Clusters are relative to the average of each task: where a task lies as a whole does not count."
        if removed
        else "Tasks are compared as they are: where a task lies as a whole counts."
    )
    if share is None:
        return [said]
    other = "Without that" if removed else "Relative to the average of each task"
    if share < LITTLE:
        return [f"{said} {other}, hardly a row would change its cluster."]
    option = "--location keep" if removed else "--location remove"
    value = "none" if removed else "matched"
    ways = f'{option}, or task_offset="{value}" in Python'
    return [f"{said} {other}, {percent(share)} of the rows would change their cluster ({ways})."]


def _sure(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return []
    caution = [CAUTION] if found["verdict"] == NO_STRUCTURE else []
    return [found["sentences"][0], *caution] if found.get("sentences") else caution
