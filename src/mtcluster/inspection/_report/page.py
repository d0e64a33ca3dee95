"""The page of a report: one HTML file, rendered from templates, that loads nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from typing import Any

from .._words import count, number, percent, related, whole
from .charts import line_chart, number_chart, reference_chart, tree_chart

MATRIX = 40  # tasks of the matrix of relatedness: larger ones are not read as numbers
UNBROKEN = 20  # characters of the longest word that is never broken


def render(summary: dict[str, Any]) -> str:
    """The page of a summary: what comes from the data is escaped, and only the page's own script may run.

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

    environment = _environment()
    script = environment.get_template("page.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "digest": digest,
        "data": _for_script(summary),
        "shown": _largest(summary["tasks"]),
        "objective": line_chart(**summary["course"]),
        "compared": reference_chart(**summary["certainty"]),
        "numbers": number_chart(summary["selection"]),
        "tree": tree_chart(summary["selection"]),
        "settings_text": json.dumps(summary["settings"], ensure_ascii=False, indent=2),
    }
    try:
        return environment.get_template("page.html").render({"missing": None} | summary | parts)
    except UndefinedError as error:
        raise ValueError(f"The summary lacks what the page shows: {error}.") from error


@cache
def _environment() -> Any:
    """The templates, with everything escaped that they insert."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("mtcluster.inspection._report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": count, "figure": number, "percent": percent, "related": related, "whole": whole}
    environment.tests["long"] = lambda name: any(len(word) > UNBROKEN for word in str(name).split())
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    return environment


def _for_script(summary: dict[str, Any]) -> dict[str, Any]:
    """What the script of the page draws and shows."""
    return {key: value for key, value in summary["map"].items() if key not in ("note", "words")} | {
        "tasks": [task["name"] for task in summary["tasks"]],
        "short": [cluster["in_short"] for cluster in summary["features"]["clusters"]],
        "cells": {str(row["row"]): row["cells"] for row in summary["examples"]["rows"] if row["cells"]},
    }


def _largest(tasks: list[dict[str, Any]]) -> list[int]:
    """The largest tasks, in their order."""
    return sorted(sorted(range(len(tasks)), key=lambda k: -tasks[k]["rows"])[:MATRIX])
