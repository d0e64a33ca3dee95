"""`mtcluster merge`: clusters of a run that a person found to be one, in its model, its tables and its report."""

from __future__ import annotations

import csv
import shutil
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from .._utils.files import one_at_a_time
from .._utils.text import listed
from ..estimators.merging import as_told
from ..inspection._relations import relations
from . import folder, layout
from .again import rows_again, settings_in
from .console import Console
from .errors import InputError, input_errors, need
from .fit import report_of
from .loading import findings, load_model
from .writing import write_results


class KnownStability(dict[str, Any]):
    """How sure one can be of the clusters, as a run says it, with the confidence of its rows."""

    row_confidence: Any = None


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Merge the clusters in the model, and write the files of the run again."""
    need("skops", "files", "writing a model")
    with one_at_a_time(arguments.model):  # what another process writes meanwhile would be lost
        return _merged(arguments.model, arguments.clusters, console)


def _merged(out: Path, clusters: list[int], console: Console) -> dict[str, Any]:
    """Merge the clusters; returns what is told."""
    folder.tidy_up(out)
    contents = load_model(out)
    model, before = contents["model"], findings(contents)
    if not hasattr(model, "merge"):
        raise InputError(f"{out}: {type(model).__name__} keeps no merged clusters; fit with a --method such as spmtc.")
    with console.working(1):
        console.begin("reading the rows again")
        options, rows = rows_again(out, contents)
        with input_errors():
            model.merge(clusters)
        console.begin("writing")
        settings = settings_in(out)
        found = _without(model, _stability(out, settings))
        settings |= {"stability": found, "merged": [list(pair) for pair in model.fitted_.merged]}
        said = f"Merged by hand: clusters {listed(map(str, sorted(set(clusters))), final=' and ')}."
        lines = [*before["overview"]["lines"], said]
        report = report_of(options, rows, model, settings, lines, found, folder.names_of(model))
        with folder.placing(out, last=layout.SETTINGS) as new:
            write_results(new, rows, model, model, relations(model), report, found)
            if (out / layout.CHANGES).exists():
                shutil.copy2(out / layout.CHANGES, new / layout.CHANGES)
            folder.write_settings(new, settings)
        console.finish(1)
    return {"out": str(out), "merged": settings["merged"], "n_clusters": model.n_clusters_}


def _stability(out: Path, settings: dict[str, Any]) -> Any:
    """Read how sure one can be of the clusters, with what labels.csv says of its rows; None if it was not measured."""
    if settings["stability"] is None:
        return None
    found = KnownStability(settings["stability"])
    with (out / layout.ROWS_TABLE).open(newline="", encoding="utf-8") as file:
        confidence = [row["confidence"] for row in csv.DictReader(file)]
    found.row_confidence = np.array([float(value) for value in confidence])
    return found


def _without(model: Any, found: Any) -> Any:
    """Take out what was measured of single clusters that are merged now, which says nothing about them together."""
    if found is not None:
        touched = {j for pair in model.fitted_.merged for j in pair}
        gone = set(range(len(found["cluster_stability"]))) - set(np.flatnonzero(as_told(model.fitted_).exists).tolist())
        for name in ("cluster_stability", "next_to", "between"):
            found[name] = [None if j in touched else value for j, value in enumerate(found[name])]
        found["next_to"] = [None if j in gone else j for j in found["next_to"]]
        cells = found["cluster_task_stability"]
        found["cluster_task_stability"] = [[None if j in touched else v for j, v in enumerate(row)] for row in cells]
    return found


def lines(result: dict[str, Any]) -> list[str]:
    """Write the result as printed."""
    return [f"{result['n_clusters']} clusters are left; all files in {result['out']} tell them as merged."]
