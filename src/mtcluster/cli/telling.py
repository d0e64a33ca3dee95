"""The result of a fit, as it is printed: the verdict, a sentence for each cluster, who holds which, and notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._utils.tables import Table
from .._utils.text import count
from ..certainty import MEANINGS
from ..inspection._meaning import CAUTION, NO_STRUCTURE
from ..inspection._vocabulary import counted, in_words
from . import layout

NOT_SURE = "How sure: not measured."
MOST_LINES, MOST_CLUSTERS, MOST_TASKS, MOST_COLUMNS = 25, 8, 6, 12  # that are printed


def lines(result: dict[str, Any]) -> list[str]:
    """Write the result as printed: the verdict, a sentence for each cluster, who holds which, and notes."""
    word, verdict, names = result["group"], result["verdict"], list(result["sizes"])
    totals = f"{result['n_rows']} rows, {counted(len(names), word)}, {count(result['n_clusters'], 'cluster')}"
    sure = (
        f"How sure: {verdict}. {MEANINGS[verdict][:1].upper()}{MEANINGS[verdict][1:]}."
        if verdict
        else "How sure: not measured."
    )
    said = [in_words(sure, word), *[CAUTION] * (verdict == NO_STRUCTURE), f"{totals}, {result['seconds']:.1f} s.", ""]
    said += [*_first(result["clusters"], MOST_CLUSTERS, "clusters"), ""]
    if len(names) > 1:
        shown = sorted(names, key=lambda name: -sum(result["sizes"][name]))[:MOST_TASKS]
        columns = range(min(result["n_clusters"], MOST_COLUMNS))
        table = [
            {word: name} | {f"cluster {j}": result["sizes"][name][j] for j in columns if j < len(result["sizes"][name])}
            for name in names
            if name in shown
        ]
        left = len(names) - len(shown)
        said += [str(Table.from_rows(table)), *[f"and {counted(left, 'other ' + word)}: centers.csv."] * (left > 0), ""]
    notes = [*result["context"]]
    if result["changes"] is not None:
        notes.append(f"Since the previous fit: {' '.join(result['changes']['sentences'])}")
    if result["left_alone"]:
        alone = ", ".join(result["left_alone"])
        notes.append(f"Clustered separately, as they have too little in common with the other tasks: {alone}.")
    if result["stability"] is not None:
        notes += result["stability"]["sentences"][1:2]
    if result["missing"] is not None and result["missing"]["mosaic"] is not None:
        notes += result["missing"]["sentences"][:1]
    notes += result["lines"]
    said += _first(
        [in_words(note, word) for note in notes], MOST_LINES - 1 - sum(1 + line.count("\n") for line in said), "notes"
    )
    return [*said, *written(result["out"])]


def _first(items: list[str], most: int, what: str) -> list[str]:
    """Take the first lines; the last says where the others are."""
    if len(items) <= most:
        return items
    most = max(most, 1)
    return [*items[: most - 1], f"{len(items) - most + 1} more {what}: report.html."]


def written(out: str) -> list[str]:
    """Write a sentence on the files of a folder."""
    there = [name for name in layout.KNOWN if Path(out, name).exists()]
    return [f"Written to {out}: {', '.join(there)}. Open report.html in a browser."]
