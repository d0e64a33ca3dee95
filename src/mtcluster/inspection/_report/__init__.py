"""Reports: a fitted model as a plain dict, and that as one HTML page that needs nothing else."""

from __future__ import annotations

import os
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any
from uuid import uuid4

from .page import render
from .summary import summarize

__all__ = ["Report", "make_report", "render", "summarize"]

NOTEBOOK_HEIGHT = 800  # pixels of a report in a notebook


class Report:
    """What a fitted model found, as a dict and as a page; a notebook shows the page.

    Attributes
    ----------
    summary : dict
        Everything the page says, in dicts, lists, strings and numbers: `json.dumps` takes it.
    html : str
        The page, one file without links to others.
    """

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary

    @cached_property
    def html(self) -> str:
        """The page, made when it is first asked for."""
        return render(self.summary)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all; a file of that name is replaced.

        Parameters
        ----------
        path : path
            Where to.

        Returns
        -------
        path : Path
            Where it is, in full.
        """
        to = Path(path).expanduser().absolute()
        if not to.parent.is_dir():
            raise FileNotFoundError(f"path={str(path)!r}: there is no folder {str(to.parent)!r}; make it first.")
        beside = to.with_name(f".{uuid4().hex}.part")  # to.name and more may be too long a name
        try:
            beside.write_text(self.html, encoding="utf-8", newline="\n")
            os.replace(beside, to)
        finally:
            beside.unlink(missing_ok=True)
        return to

    def __repr__(self) -> str:
        return f"<Report: {self.summary['title']}; .save('report.html') writes it>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html, quote=True)}" title="{escape(self.summary["title"], quote=True)}" '
            'sandbox="allow-scripts allow-modals" '
            f'style="width:100%;height:{NOTEBOOK_HEIGHT}px;border:1px solid #8888"></iframe>'
        )


def make_report(model: Any, **arguments: Any) -> Report:
    """A report of a fitted model.

    Parameters
    ----------
    model : SPMTC, LSSMTC, ASI or LabelDescription
        Fitted.
    **arguments
        `ids`, `feature_names`, `title`, `data`, `cells`, `stability` and `settings`, as in
        `mtcluster.inspection.summary.summarize`.

    Returns
    -------
    report : Report
        Its `summary`, its `html`, and `save(path)`.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, random_state=0)
    >>> make_report(SPMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks))
    <Report: 3 clusters in 2 data sets; .save('report.html') writes it>
    """
    return Report(summarize(model, **arguments))
