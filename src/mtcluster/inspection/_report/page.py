"""The page of a report: one HTML file, rendered from templates, that loads nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from .._vocabulary import GROUP, counted, in_words, plural
from .._words import number, percent, related, whole
from .boxes import box_charts
from .charts import dendrogram, flow_chart, line_chart, number_chart, reference_chart, tree_chart
from .effects import MODERATE, STRONG

MATRIX_TASKS = 40  # tasks of the matrix of relatedness: larger ones are not read as numbers
UNBROKEN = 20  # characters of the longest word that is never broken
LEADING = 4  # columns of a card that are not folded away
LATER = (
    "missing",
    "separation",
    "distributions",
    "classes",
    "anonymous",
    "merging",
)  # parts that earlier summaries lack
LISTS = ("sentences", "flow", "meaning", "changes", "drift")  # lists that they lack


@dataclass(frozen=True)
class Section:
    """A section of the page: its template, what it needs of the summary, and whether it is folded away."""

    name: str  # of its template, and its anchor
    title: str
    needs: str = ""
    folded: bool = False


SECTIONS = (
    Section("told", "What was found"),
    Section("changes", "Since the previous fit", "changes"),
    Section("sizes", "Clusters by {group}"),
    Section("features", "What makes each cluster"),
    Section("map", "Map of the rows", "map"),
    Section("separation", "Columns that separate the clusters", "separation"),
    Section("classes", "Clusters and known classes", "classes"),
    Section("next", "What to try next"),
    Section("sure", "How sure the clusters are", folded=True),
    Section("number", "The number of clusters", "selection", folded=True),
    Section("merging", "Which clusters are near each other", "merging", folded=True),
    Section("related", "Relatedness of the {groups}", folded=True),
    Section("examples", "Outliers and hard rows", "examples", folded=True),
    Section("missing", "Missing values", "missing", folded=True),
    Section("fit", "Course of the fit", folded=True),
    Section("done", "Data, method and decisions", folded=True),
)


def render(summary: dict[str, Any], template: Any = None, **told: Any) -> str:
    """Write the page of a summary: what comes from the data is escaped, and only the page's own script may run.

    Another `template` can extend the page's own one; it gets what is `told` too.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.inspection import make_report
    >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, random_state=0)
    >>> report = make_report(SPMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks), title="Blobs & more")
    >>> "<title>Blobs &amp; more</title>" in render(report.summary)
    True
    """
    from jinja2 import UndefinedError

    known = environment()
    script = known.get_template("page.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    earlier = {"names": {}, "group": GROUP, "n_columns": summary.get("n_features", 0)} | {name: [] for name in LISTS}
    summary = dict.fromkeys(LATER) | earlier | summary
    words = {"group": summary["group"], "groups": plural(summary["group"])}
    parts = {
        "groups": words["groups"],
        "sections": [replace(one, title=one.title.format(**words)) for one in SECTIONS if _is_told(one, summary)],
        "LEADING": LEADING,
        "merging_picture": dendrogram(summary["merging"]),
        "flow_picture": flow_chart(summary["flow"]),
        "digest": digest,
        "data": _for_script(summary),
        "order": natural_order([task["name"] for task in summary["tasks"]]),
        "shown": _largest(summary["tasks"]),
        "most": max((share for own in summary["sizes"]["shares"] for share in own if share is not None), default=1),
        "objective": line_chart(**summary["course"]),
        "compared": reference_chart(**summary["certainty"]),
        "numbers": number_chart(summary["selection"]),
        "tree": tree_chart(summary["selection"]),
        "boxes": box_charts(summary["distributions"]),
        "strong": _strong(summary["separation"]),
        "settings_text": json.dumps(summary["settings"], ensure_ascii=False, indent=2),
    }
    try:
        return (template or known.get_template("page.html")).render(summary | parts | told)
    except UndefinedError as error:
        raise ValueError(f"The summary lacks what the page shows: {error}.") from error


def _is_told(section: Section, summary: dict[str, Any]) -> bool:
    """Tell whether there is something to say in a section."""
    if section.name == "separation" and summary["n_clusters"] == 1:
        return False
    told = (summary["changes"] or summary["drift"]) if section.needs == "changes" else summary.get(section.needs, True)
    return bool(told)


@cache
def environment() -> Any:
    """Load the templates, with everything escaped that they insert."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("mtcluster.inspection._report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "count": lambda n, word: f"{n} {plural(word)}" if isinstance(n, str) else counted(n, word),
        "figure": number,
        "percent": percent,
        "related": related,
        "whole": lambda n: n if isinstance(n, str) else whole(n),  # small counts of anonymous reports are texts
        "in_order": natural_order,
        "with_names": with_names,
        "in_words": in_words,
        "letter": letter,
        "strongest": strongest,
    }
    made.tests["long"] = lambda name: any(len(word) > UNBROKEN for word in str(name).split())
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    return made


def natural_order(names: list[str]) -> list[int]:
    """Find the order in which names are shown, with numbers in them by their value.

    Examples
    --------
    >>> natural_order(["site 10", "site 2", "Site 1"])
    [2, 1, 0]
    """

    def key(i: int) -> list[Any]:
        return [int(part) if at % 2 else part.casefold() for at, part in enumerate(re.split(r"(\d+)", names[i]))]

    return sorted(range(len(names)), key=key)


def with_names(line: str, names: dict[str, str]) -> str:
    """Write a sentence with the names of clusters after their numbers.

    Examples
    --------
    >>> with_names("Cluster 3 is closest to cluster 0.", {"3": "young"})
    'Cluster 3 · young is closest to cluster 0.'
    """

    def named(match: re.Match[str]) -> str:
        name = names.get(match[1])
        return f"{match[0]} · {name}" if name else match[0]

    return re.sub(r"\b[Cc]luster (\d+)\b", named, line)


def letter(i: int) -> str:
    """Name the clusters of another fit by letters, as numbers are those of this fit.

    Examples
    --------
    >>> letter(0), letter(27)
    ('A', 'AB')
    """
    return (letter(i // 26 - 1) if i >= 26 else "") + chr(ord("A") + i % 26)


def strongest(features: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Take the columns with the largest differences, above first, then below; of a column of categories, one."""
    found: dict[str, dict[str, Any]] = {}
    for f in sorted(features, key=lambda f: (-round(abs(f["difference"]), 2), f["difference"] < 0)):
        found.setdefault(f["name"].partition(" = ")[0], f)
    return sorted(list(found.values())[:most], key=lambda f: (f["difference"] < 0, -abs(f["difference"])))


def _for_script(summary: dict[str, Any]) -> dict[str, Any]:
    """Tell what the script of the page draws and shows."""
    if summary["map"] is None:
        return {}
    rows = summary["examples"]["rows"]
    return {key: value for key, value in summary["map"].items() if key not in ("note", "words")} | {
        "tasks": [task["name"] for task in summary["tasks"]],
        "order": natural_order([task["name"] for task in summary["tasks"]]),
        "short": _phrases(summary),
        "names": summary["names"],
        "group": summary["group"],
        "cells": {str(row["row"]): row["cells"] for row in rows if row["cells"]},
        "odd": {str(row["row"]): row["odd"] for row in rows if row.get("odd")},
        "notes": {str(row["row"]): row["note"] for row in rows if row.get("note")},
    }


def _phrases(summary: dict[str, Any]) -> list[str]:
    """Take from the sentence on each cluster what its rows are like; empty where there is none."""
    told = {line.split(",")[0].split(":")[0]: line.partition(": ")[2] for line in summary["sentences"]}
    return [told.get(f"Cluster {cluster['cluster']}", "") for cluster in summary["features"]["clusters"]]


def _largest(tasks: list[dict[str, Any]]) -> list[int]:
    """Find the largest tasks, in the order in which they are shown."""
    largest = set(sorted(range(len(tasks)), key=lambda k: -tasks[k]["rows"])[:MATRIX_TASKS])
    return [k for k in natural_order([task["name"] for task in tasks]) if k in largest]


def _strong(separation: dict[str, Any] | None) -> float:
    """Find the effect size that has the full colour: the largest, within bounds if it does not depend on units."""
    rows = [] if separation is None else separation["features"]
    largest = max((abs(value) for row in rows for value in row["effect"] if value is not None), default=0.0) or 1.0
    if separation is None or separation["unit"] == "spread":
        return min(max(largest, MODERATE), STRONG)
    return largest
