"""A summary as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from . import sections
from .parts import esc, fill, resource
from .words import embedded

SECTIONS = (
    ("done", "What was done", sections.done),
    ("sizes", "Clusters by task", sections.cluster_sizes),
    ("features", "What makes each cluster", sections.cluster_features),
    ("map", "Map of the examples", sections.map_of_examples),
    ("related", "How related the tasks are", sections.relatedness),
    ("examples", "Hardest and most outlying examples", sections.outlying),
    ("fit", "How the fit went", sections.fit_course),
    ("sure", "How sure we are", sections.certainty),
    ("decisions", "What was decided, and why", sections.decisions),
    ("next", "What to try next", sections.advice),
)


def render(summary: dict[str, Any]) -> str:
    """The page of a summary.

    Parameters
    ----------
    summary : dict
        From `mtcluster.inspection.summary.summarize`.

    Returns
    -------
    page : str
        HTML. What comes from the data is escaped, and the only script that may run is the page's own.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.inspection.summary import summarize
    >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, random_state=0)
    >>> page = render(summarize(SPMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks), title="Blobs & more"))
    >>> "<title>Blobs &amp; more</title>" in page
    True
    """
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{title}</h2>{make(summary)}</section>'
        for key, title, make in SECTIONS
    )
    script = resource("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    filled = {
        "TITLE": esc(summary["title"]),
        "POLICY": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        "STYLE": resource("style.css").replace("DARK_COLOURS", resource("dark.css")),
        "LINKS": "".join(f'<li><a href="#{key}">{title}</a></li>' for key, title, _ in SECTIONS),
        "LEAD": sections.lead(summary),
        "BODY": body,
        "DATA": embedded(_for_script(summary)),
        "SCRIPT": script,
    }
    return fill("page.html", filled)


def _for_script(summary: dict[str, Any]) -> dict[str, Any]:
    """What the page's script draws and tells."""
    shown = {key: value for key, value in summary["map"].items() if key not in ("note", "words")}
    cells = {str(row["row"]): row["cells"] for row in summary["examples"]["rows"] if row["cells"]}
    return shown | {
        "tasks": [task["name"] for task in summary["tasks"]],
        "short": [cluster["in_short"] for cluster in summary["features"]["clusters"]],
        "cells": cells,
    }
