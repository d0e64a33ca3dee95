"""`mtcluster check`: what is in the way of a fit, and what would be done about it."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import Any

import numpy as np

from .._utils.text import count, listed
from ..inspection._vocabulary import counted, group_word
from ..preprocessing._findings import Finding, lines_of
from .cleaning import Checking, cleaned
from .console import Console
from .preparing import read


def run(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Read the files as `mtcluster fit` does, and tell everything at once."""
    roles, data = read(arguments)
    left, findings = cleaned(data, roles, Checking.of(arguments), impute=arguments.impute, scale=arguments.scale)
    named = [str(task) for task in (left.tasks if left.tasks is not None else ()) if task is not None]
    names, sizes = np.unique(np.array(named, dtype=str), return_counts=True)
    return {
        "files": [str(path) for path in data.files],
        "n_rows": len(data),
        "group": group_word(roles.task),
        "n_rows_left": len(left),
        "tasks": dict(zip(names.tolist(), sizes.tolist(), strict=True)),
        "columns": left.names,
        "notes": list(data.notes),
        "findings": [asdict(one) for one in findings],
    }


def lines(result: dict[str, Any]) -> list[str]:
    """Write the result as printed."""
    findings = [Finding(**one) for one in result["findings"]]
    tasks = listed(f"{name} ({n})" for name, n in result["tasks"].items())
    columns = f"{count(len(result['columns']), 'column')} to cluster by: {listed(result['columns'])}."
    left = result["n_rows_left"]
    said = [
        f"{count(left, 'row')} in {counted(len(result['tasks']), result['group'])}: {tasks}.",
        columns,
        *result["notes"],
        "",
    ]
    if not findings:
        return [*said, "Nothing to complain about."]
    stops = sum(one.stops for one in findings)
    verdict = f"{count(stops, 'thing')} must be changed before a fit." if stops else "Nothing is in the way of a fit."
    below = "Below each finding stands the option that changes what is done." if any(o.option for o in findings) else ""
    return [*said, " ".join([f"{count(len(findings), 'finding')}.", verdict, below]).rstrip(), *lines_of(findings)]
