"""`mtcluster rename`: names for the clusters of a run, which its report uses."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from typing import Any

from .._utils.text import count, listed
from ..inspection._report import Report
from . import folder, layout
from .console import Console
from .errors import InputError, need
from .loading import findings, load_model, undamaged


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Write the names into the model, and the report again."""
    need("skops", "files", "writing a model")
    from ..interop import dump

    contents = load_model(arguments.model)
    with undamaged(arguments.model / layout.MODEL):
        summary = findings(contents)
        summary["names"] = names = _renamed(summary, arguments)
        page = Report(summary).html
    report, model = (folder.new_file(arguments.model / name, force=True) for name in (layout.REPORT, layout.MODEL))
    with report as new_report, model as new_model:  # both are complete before one of them takes its place
        new_report.write_text(page, encoding="utf-8")
        dump(contents | {"findings": json.dumps(summary)}, new_model)
    return {"out": str(arguments.model), "names": names}


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
