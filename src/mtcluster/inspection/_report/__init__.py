"""Reports: a fitted model as a plain dict, and as one HTML page made from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from ..._utils.files import replacing
from .examples import Cells
from .page import render
from .summary import Given, summarize

__all__ = ["Report", "make_report"]

NOTEBOOK_HEIGHT = 800  # pixels of a report in a notebook


class Report:
    """A report on a fitted model, as a dict and as an HTML page; a notebook shows the page.

    Parameters
    ----------
    summary : dict
        The `summary` of another report.

    Attributes
    ----------
    summary : dict
        Everything that the page says, in dicts, lists, strings and numbers that `json.dumps` takes.
    html : str
        The page: one file without links to others.
    """

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary

    @cached_property
    def html(self) -> str:
        """The page, rendered on first use."""
        return render(self.summary)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file.

        A file of that name is replaced once the page is complete.

        Parameters
        ----------
        path : str or path
            File to write.

        Returns
        -------
        path : Path
            Absolute path of the file.
        """
        with replacing(path) as temporary:
            temporary.write_text(self.html, encoding="utf-8", newline="\n")
        return Path(path).expanduser().absolute()

    def __repr__(self) -> str:
        return f"<Report: {self.summary['title']}; .save('report.html') writes it>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.summary["title"])}" '
            'sandbox="allow-scripts allow-modals" '
            f'style="width:100%;height:{NOTEBOOK_HEIGHT}px;border:1px solid #8888"></iframe>'
        )


def make_report(
    model: Any,
    *,
    ids: Any = None,
    feature_names: Any = None,
    title: str | None = None,
    data: dict[str, Any] | None = None,
    cells: Cells | None = None,
    stability: Any = None,
    selection: Any = None,
    settings: dict[str, Any] | None = None,
    X: Any = None,
    in_units: Callable[..., Any] | None = None,
    classes: Sequence[Any] | None = None,
    cluster_names: Mapping[Any, str] | None = None,
    anonymous: bool = False,
    group: str | None = None,
) -> Report:
    """Make a report on a fitted model.

    Parameters
    ----------
    model : SPMTC, LSSMTC, ASI or LabelDescription
        Fitted model. It is not changed.
    ids : sequence of length n, optional
        Names of the rows. None: their numbers.
    feature_names : sequence of length d, optional
        Names of the features. None: `model.feature_names_in_` if present, otherwise their numbers.
    title : str, optional
        Title of the report. None: the numbers of clusters and data sets.
    data : dict, optional
        What the model was fitted on: "files", a list of dicts with the keys "name", "rows" and "bytes", "lines", a
        list of sentences, and "found", sentences that stand first (default: columns that make clusters by themselves).
    cells : callable, optional
        Takes a list of row numbers and returns one dict per row with the user's own columns and cells. It is called
        once, for the rows that tables show.
    stability : Stability or dict, optional
        Result of `mtcluster.model_selection.stability`, or "stability" of settings.json: how sure one can be of the
        clusters.
    selection : Selection or dict, optional
        Result of `mtcluster.model_selection.select_n_clusters`, or "selection" of settings.json. None: `selection_` of
        the model, if it has chosen the number of clusters itself.
    settings : dict, optional
        All settings, shown at the end of the report. None: the parameters of the model.
    X : data frame, array or sparse matrix of n rows, optional
        The rows of the fit in the user's units, in the order of `labels_`: distributions, effect sizes, features on the
        map, and why a row is an outlier are computed from them. Columns of a data frame are found by the names of
        the features: "age" for numbers, "sex = male" for categories; others, such as texts, are ignored. An array or
        sparse matrix has one column per feature.
    in_units : callable, optional
        Takes centres (c, d) of the numbers given to the fit and `task`, the label of a task or None, and returns them
        in the user's units, such as `TablePreprocessor.inverse_transform_centers`. None: they are in these units.
    classes : sequence of length n, optional
        Known classes of the rows, None where the class is not known. They are compared with the clusters.
    cluster_names : mapping of int to str, optional
        Names of clusters, shown beside their numbers.
    anonymous : bool, default=False
        Whether to leave out everything about single rows: identifiers, cells, the map, typical and outlying rows.
        Tasks of fewer than 5 rows are left out, and counts from 1 to 4 are shown as "<5".
    group : str, optional
        What a task is called, such as "island", or the name of the column that holds the tasks. None: a data set.

    Returns
    -------
    report : Report
        The report, with its `summary`, its `html`, and a method `save`.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, random_state=0)
    >>> make_report(SPMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks))
    <Report: 3 clusters in 2 data sets; .save('report.html') writes it>
    """
    given = Given(
        ids, feature_names, title, data, cells, stability, selection, settings, X, in_units, classes, cluster_names,
        anonymous, group,
    )  # fmt: skip
    return Report(summarize(model, given))
