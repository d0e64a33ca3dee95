"""The page of all campaigns, from a file of their figures, so that campaigns can be made one at a time."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from mtcluster._utils.text import versions

from .campaign import Outcome
from .findings import OF_ATTACK, OF_CAMPAIGNS, OF_RELATIONS, OF_SECOND, Findings

MOST = 60  # failures that are listed
PACKAGES = ("mtcluster", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "skops", "anndata", "dask")
HEAD = """# Reliability

Faults on purpose, in six campaigns, which must find nothing. `make faults` makes them all and writes this page; each
trial has a number, and `python -m benchmarks.faults --only NAME --seed SEED` repeats a campaign. Short forms of all of
them are among the tests.
"""
FOUND = """## What was found

Each is fixed, and has tests; the order of rows (13) is like a seed, which the guide says. By hand, before there were
campaigns (`python -m benchmarks.faults.regressions` lets the tests run with the sources from before,
where those of each must fail):
"""
LATER = """
By the campaigns, while they were built:
"""
AGAIN = """
By hand once more, when the campaigns found nothing any more:
"""
PAIRS = """
By a second attack and by the campaign on relations, of pairs of calls whose results must agree:
"""


def noted(path: Path, name: str, outcome: Outcome, about: str, seed: int, seconds: float) -> dict[str, Any]:
    """Write the figures of a campaign into the file of all campaigns; returns what the file holds."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known[name] = {
        "name": outcome.name,
        "about": about,
        "trials": outcome.n_trials,
        "failures": len(outcome.wrong),
        "seed": seed,
        "commit": _commit(),
        "minutes": round(seconds / 60, 1),
        "note": outcome.note,
        "counts": dict(sorted(outcome.counts.items())),
        "wrong": outcome.wrong[:MOST],
        "versions": versions(PACKAGES),
    }
    path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return known


def _commit() -> str:
    """The state of the sources, "" outside of a repository."""
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def page(campaigns: dict[str, Any]) -> str:
    """The page in Markdown."""
    command = "python -m benchmarks.faults"
    rows = [
        f"| {one['name']} | {one['trials']:,} | {one['failures']} | {one['minutes']:g} | {one['commit']} | "
        f"`{command} --only {name} --seed {one['seed']}` |"
        for name, one in campaigns.items()
    ]
    parts = [
        HEAD,
        "| campaign | trials | failures | minutes | commit | command |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
    ]
    for one in campaigns.values():
        parts += [f"## {one['name']}", "", one["about"], "", *([one["note"], ""] if one.get("note") else [])]
        parts += ["| kind | trials |", "|---|---|"]
        parts += [f"| {kind} | {n:,} |" for kind, n in one["counts"].items()]
        parts += ["", *(f"- {line}" for line in one["wrong"]), *([""] if one["wrong"] else [])]
    parts += [FOUND, *_table(OF_ATTACK), LATER, *_table(OF_CAMPAIGNS), AGAIN, *_table(OF_SECOND)]
    parts += [PAIRS, *_table(OF_RELATIONS)]
    return "\n".join(parts) + "\n"


def _table(findings: Findings) -> list[str]:
    rows = [
        f"| {i} | {what} | {'<br>'.join(f'`tests/{file}::{test}`' for file, test in tests)} |"
        for i, (what, tests) in enumerate(findings, 1)
    ]
    return ["| | found | tests |", "|---|---|---|", *rows]
