"""`mtcluster rename`: names for the clusters of a run, in its model, its tables and its report."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import Any

from .._utils.files import one_at_a_time
from .._utils.text import count, listed
from ..inspection._report import Report
from . import folder, layout
from .console import Console
from .errors import InputError, need
from .loading import findings, load_model, undamaged

TABLES = (layout.ROWS_TABLE, layout.CENTERS, layout.RELATIONS)  # with a column "cluster"


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Write the names into the model, and the tables and the report again."""
    need("skops", "files", "writing a model")
    with one_at_a_time(arguments.model):  # what another process writes meanwhile would be lost
        return {"out": str(arguments.model), "names": _written(arguments)}


def _written(arguments: Namespace) -> dict[str, str]:
    """Write the names; returns those of all clusters."""
    from ..interop import dump

    folder.tidy_up(arguments.model)  # a stopped run may have left the old folder beside its place
    contents = load_model(arguments.model)
    with undamaged(arguments.model / layout.MODEL):
        summary = findings(contents)
        summary["names"] = names = _renamed(summary, arguments)
        page, model = Report(summary).html, _named(contents["model"], names)
    with folder.changed_folder(arguments.model, (layout.REPORT, layout.MODEL, *TABLES)) as new:
        (new / layout.REPORT).write_text(page, encoding="utf-8")
        dump(contents | {"findings": json.dumps(summary), "model": model}, new / layout.MODEL)
        for path in filter(Path.exists, map(arguments.model.__truediv__, TABLES)):
            folder.rename_rows(path, new / path.name, {int(j): name for j, name in names.items()})
    return names


def _named(model: Any, names: dict[str, str]) -> Any:
    """Give the names to the model, if it keeps them."""
    if not hasattr(model, "rename"):
        return model
    known = dict.fromkeys(model.cluster_names_, "")
    return model.rename(known | {int(j): name for j, name in names.items()})


def _renamed(summary: dict[str, Any], arguments: Namespace) -> dict[str, str]:
    """Collect the names of all clusters that have one, by their number."""
    known, names = int(summary.get("n_numbers", summary["n_clusters"])), dict(summary.get("names") or {})
    twice = [cluster for cluster, n in Counter(cluster for cluster, _ in arguments.names).items() if n > 1]
    if twice:
        raise InputError(f"cluster {twice[0]} is given several names: give each cluster one.")
    for cluster, name in arguments.names:
        if not 0 <= cluster < known:
            raise InputError(f"{arguments.model} has no cluster {cluster}: its clusters are 0 to {known - 1}.")
        if name:
            names[str(cluster)] = name
        else:
            names.pop(str(cluster), None)
    return names


def lines(result: dict[str, Any]) -> list[str]:
    """Write the result as printed."""
    told = listed(
        f"{cluster}: {name}" for cluster, name in sorted(result["names"].items(), key=lambda one: int(one[0]))
    )
    names = count(len(result["names"]), "cluster")
    return [f"{names} with a name{f' ({told})' * bool(told)}; {result['out']}/{layout.REPORT} uses them."]
