"""Reports without single rows: what is left out, and counts that are too small to be shown."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from .._subject import Subject
from .._words import count, text

LEAST = 5  # rows of a group that may be shown
SMALL_COUNT = f"<{LEAST}"
MEASURED = ("tasks", "sizes", "stability", "selection", "relations", "seconds", "scores", "verdict", "missing")
SENTENCES = ("sentences", "meaning", "changes", "drift", "decisions")  # lists of sentences


def large_tasks(subject: Subject) -> Array:
    """Find the tasks (m,) that may be shown: with at least `LEAST` rows, as the model counts them."""
    rows = np.bincount(subject.rows.tasks, minlength=len(subject.tasks))
    large = np.where(rows > 0, rows, subject.fitted.sizes.sum(axis=1)) >= LEAST
    if not large.any():
        raise ValueError(f"anonymous=True leaves out tasks of fewer than {LEAST} rows, and model has no others.")
    return large


def without_tasks(subject: Subject, large: Array) -> Subject:
    """Make what is told of a model as if it had only these tasks."""
    kept, made = np.flatnonzero(large[subject.rows.tasks]), subject.decisions
    rows = subject.rows.take("n", kept)
    rows = replace(rows, tasks=(np.cumsum(large) - 1)[rows.tasks], map=None, map_rows=None)
    if made is not None and (evidence := made.search) is not None:
        own = large[: len(evidence.relatedness)]
        told = replace(evidence, relatedness=evidence.relatedness[own], margins=evidence.margins[own])
        made = replace(made, search=replace(told, n_rows=min(told.n_rows, len(kept)), n_distant_rows=0))
    return replace(subject, fitted=replace(subject.fitted.take("m", np.flatnonzero(large)), rows=rows), decisions=made)


def take_rows(X: Any, rows: Array) -> Any:
    """Take some rows of a data frame, array, sparse matrix or sequence."""
    if X is None or rows.all():
        return X
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if hasattr(X, "iloc"):
        return X.iloc[np.flatnonzero(rows)]
    if hasattr(X, "shape"):
        return X[np.flatnonzero(rows)]
    return [X[i] for i in np.flatnonzero(rows)]


def conceal(summary: dict[str, Any], small: list[Any]) -> dict[str, Any]:
    """Make the summary without single rows, small counts and the names of the tasks that were left out."""
    found = {**summary, "map": None, "examples": None}
    found["anonymous"] = {"tasks_left_out": len(small), "sentences": _sentences(len(small))}
    found["sizes"], found["flow"] = _sizes(summary["sizes"]), []
    few = {cluster["cluster"] for cluster in summary["features"]["clusters"] if 0 < cluster["rows"] < LEAST}
    found["sentences"] = [_sentence(line, few) for line in summary["sentences"]]
    found["meaning"] = _few_told(summary["meaning"])
    found["features"] = {**summary["features"], "clusters": [_cluster(c) for c in summary["features"]["clusters"]]}
    overview = summary["overview"]
    files = [{"name": file["name"], "rows": None, "bytes": None} for file in overview["files"]]
    found["overview"] = {**overview, "files": files}
    found["missing"] = _missing(summary["missing"], [task["rows"] for task in summary["tasks"]])
    if summary["classes"] is not None:
        own = summary["classes"]
        tasks = [{**part, "rows": _few(part["rows"])} for part in own["tasks"]]
        found["classes"] = {**own, "rows": _few(own["rows"]), "tasks": tasks}
    found["certainty"] = _certainty(summary["certainty"], {text(name) for name in small})
    settings = {key: value for key, value in summary["settings"].items() if key not in MEASURED}
    found["settings"] = {**settings, **({"files": files} if "files" in settings else {})}
    return _without_names(found, [str(name) for name in small])


def _sentences(left_out: int) -> list[str]:
    lines = [
        "This report is anonymous: it holds no single rows, so there is no map and there are no tables of typical "
        "or outlying rows.",
        f"Counts from 1 to {LEAST - 1} are shown as {SMALL_COUNT}, and distributions only of groups of at least "
        f"{LEAST} rows, without their extremes.",
    ]
    if left_out:
        group = f"{count(left_out, 'smaller group')} not listed"
        lines.append(f"{group}: tasks of fewer than {LEAST} rows count nowhere on this page.")
    return lines


def _sentence(line: str, few: set[int]) -> str:
    """Write the sentence on a cluster without what it says if the cluster has few rows."""
    number = int(re.match(r"Cluster (\d+)", line)[1])  # type: ignore[index]
    return f"Cluster {number}: fewer than {LEAST} rows." if number in few else line


def _few(values: Any) -> Any:
    """Write counts, in lists of any depth, with those that are too small as text."""
    if isinstance(values, list):
        return [_few(value) for value in values]
    return SMALL_COUNT if 0 < values < LEAST else values


def _sizes(sizes: dict[str, Any]) -> dict[str, Any]:
    shares = [
        [None if 0 < n < LEAST else share for n, share in zip(*pair, strict=True)]
        for pair in zip(sizes["rows"], sizes["shares"], strict=True)
    ]
    return {**sizes, "rows": _few(sizes["rows"]), "shares": shares, "sentences": _few_told(sizes["sentences"])}


def _few_told(lines: list[str]) -> list[str]:
    """Write sentences without small counts."""
    return [re.sub(rf"\b[1-{LEAST - 1}] rows?\b", f"{SMALL_COUNT} rows", line) for line in lines]


def _missing(missing: dict[str, Any] | None, rows: list[int]) -> dict[str, Any] | None:
    """Tell what is missing, without shares that stand for a few rows."""
    if missing is None:
        return None

    def told(shares: list[float | None]) -> list[float | str | None]:
        few = [0 < round((share or 0) * n) < LEAST for share, n in zip(shares, rows, strict=True)]
        return [SMALL_COUNT if hidden else share for share, hidden in zip(shares, few, strict=True)]

    return {**missing, "columns": [{**column, "missing": told(column["missing"])} for column in missing["columns"]]}


def _cluster(cluster: dict[str, Any]) -> dict[str, Any]:
    """Describe a cluster without rows; the mean of a few rows would tell them."""
    tasks = [
        {**part, "rows": _few(part["rows"]), "features": part["features"] if part["rows"] >= LEAST else []}
        for part in cluster["tasks"]
    ]
    found = {**cluster, "tasks": tasks, "typical": []}
    if not 0 < cluster["rows"] < LEAST:
        return found
    return {**found, "rows": SMALL_COUNT, "share": None, "shared": []}


def _certainty(sure: dict[str, Any], small: set[str]) -> dict[str, Any]:
    """Tell how sure one can be, without small tasks and the number of all rows, which would tell theirs."""
    kept = [k for k, name in enumerate(sure["tasks"]) if name not in small]
    lines = [re.sub(r"\bof \d+ rows\b", "of the rows", line) for line in sure["sentences"]]
    tasks, cells = ([sure[key][k] for k in kept] for key in ("tasks", "cells"))
    return {**sure, "sentences": lines, "tasks": tasks, "cells": cells}


def _without_names(summary: dict[str, Any], small: list[str]) -> dict[str, Any]:
    """Make the summary without sentences and settings that name a task that is not shown."""
    if not small:
        return summary
    named = re.compile("|".join(map(_named, small)))
    found = {**summary, "settings": _scrubbed(summary["settings"], named)}
    for key in SENTENCES:
        found[key] = [line for line in summary[key] if not named.search(line)]
    for key, part in (("overview", "lines"), ("certainty", "sentences")):
        found[key] = {**found[key], part: [line for line in found[key][part] if not named.search(line)]}
    return found


def _named(name: str) -> str:
    """Make a pattern of the name of a task; numbers are names only after the word."""
    word = rf"(?<!\w){re.escape(name)}(?!\w)"
    return rf"\btasks? (?:[^.]*\W)?{word}|^{word}$" if name.isdecimal() else word


def _scrubbed(value: Any, named: re.Pattern[str]) -> Any:
    """Keep settings without entries that name such a task."""
    if isinstance(value, dict):
        return {key: _scrubbed(item, named) for key, item in value.items() if not named.search(str(key))}
    if isinstance(value, list | tuple):
        return [_scrubbed(item, named) for item in value if not (isinstance(item, str) and named.search(item))]
    return None if isinstance(value, str) and named.search(value) else value
