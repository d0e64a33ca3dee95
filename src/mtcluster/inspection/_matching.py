"""How clusters of data sets without a common column were matched, in words."""

from __future__ import annotations

from typing import Any

from ._words import named


def matching_sentences(matching: list[Any] | None) -> list[str]:
    """Write a line for each group of tasks that no common column links to those before it."""
    return [_sentence(one) for one in matching or []]


def _sentence(one: Any) -> str:
    own, others = (named("task", [repr(label) for label in labels]) for labels in (one.tasks, one.reference))
    apart = f"Matching: {own} and {others} have no column in common, and their clusters"
    figures = (
        f"the best matching leaves {100 * one.misfit:.2g} % of the squared distances between centres unexplained, the "
        f"second best {100 * one.second_misfit:.2g} % (margin {100 * one.margin:.0f} %), so that it has "
        f"{100 * one.evidence:.0f} % of the likelihood of all; it was the best in {100 * one.stability:.0f} % of "
        "samples of the rows"
    )
    if one.held:
        return f"{apart} were matched by the geometry of their centres alone: {figures}."
    return (
        f"{apart} could not be matched by the geometry of their centres, so they have numbers of their own: {figures}, "
        f"and {100 * one.threshold:.0f} % of both is needed."
    )
