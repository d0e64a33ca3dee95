"""Labels of this state against those of another commit: `python -m benchmarks.same_labels --against COMMIT`.

Both states fit the same rows with the same seeds: default fits and fits with fixed settings, on every task set of the
data folder (`MTCLUSTER_DATA`) and on generated ones, with all rows. Fits with fixed settings should not change a label;
the mean ACC of a default fit should not fall by more than 0.5 points on any set. Exit code 1 where one does. `--out
FILE.md` also writes the table of the default fits. `benchmarks.golden` compares everything, on fewer rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
from benchmarks.golden.data import data_sets
from benchmarks.golden.states import make
from scipy.optimize import linear_sum_assignment

ALLOWED = 0.5  # points of ACC that a default fit may lose
SEEDS = 5
# Name → class, parameters and number of seeds; all of them known to both states.
FITS = {
    "default SPMTC": ("SPMTC", {}, SEEDS),
    "default LSSMTC": ("LSSMTC", {}, SEEDS),
    "SPMTC soft, λ1 = 0.5": ("SPMTC", {"within_weight": 0.5}, 1),
    "SPMTC hard, per-task": ("SPMTC", {"within_weight": 0.3, "weighting": "hard", "init": "per-task"}, 1),
    "SPMTC non-negative": (
        "SPMTC",
        {"within_weight": 0.5, "membership": "nonnegative", "init": "random", "soft_rule": "paper"},
        1,
    ),
    "LSSMTC pooled, offset": ("LSSMTC", {"within_weight": 0.7, "init": "pooled", "task_offset": "mean"}, 1),
    "ASI": ("ASI", {}, 1),
}


def accuracy(y, labels) -> float:
    """Share of rows that agree under the best matching of classes and clusters."""
    table = np.zeros((y.max() + 1, labels.max() + 1))
    np.add.at(table, (y, labels), 1)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / len(y))


def fit_all(folder: Path | None, only: list[str], out: Path) -> None:
    """Labels of all fits, by the mtcluster on the path."""
    found = {}
    for name, X, y, tasks in data_sets(folder):
        if only and name not in only:
            continue
        for fit, (kind, parameters, seeds) in FITS.items():
            for seed in range(seeds):
                model = make(kind, len(np.unique(y)), random_state=seed, **parameters)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        labels = model.fit(X, tasks=tasks).labels_
                    except ValueError as error:  # the same in both states, or it shows
                        labels = np.array([-1, len(str(error))])
                found[f"{name}|{fit}|{seed}"] = labels
        print(f"  {name}", file=sys.stderr, flush=True)
    np.savez(out, **found)


def scores(y, tasks, labels: list) -> list[float]:
    """ACC of each of several fits in points, the mean over tasks; 0 where a fit is refused."""
    own = [np.flatnonzero(tasks == k) for k in np.unique(tasks)]
    return [
        0.0 if found.min() < 0 else 100 * float(np.mean([accuracy(y[at], found[at]) for at in own])) for found in labels
    ]


def compare(before, after, folder: Path | None, only: list[str]) -> tuple[int, list[tuple]]:
    """Print a table; the number of differences that are too large, and (set, fit, ACC before, ACC after) by seed."""
    bad, found = 0, []
    print(f"{'set':28} {'fit':24} {'labels equal':>12} {'ACC before':>10} {'after':>7}")
    for name, _, y, tasks in data_sets(folder):
        if only and name not in only:
            continue
        for fit, (_, _, seeds) in FITS.items():
            keys = [f"{name}|{fit}|{seed}" for seed in range(seeds)]
            pairs = [(before[key], after[key]) for key in keys]
            same = np.mean([a.shape == b.shape and bool(np.all(a == b)) for a, b in pairs])
            if any(a.min() < 0 or b.min() < 0 for a, b in pairs):
                by_seed = [[0.0] * seeds, [0.0] * seeds]
            else:
                by_seed = [scores(y, tasks, state) for state in zip(*pairs, strict=True)]
            acc = [np.mean(values) for values in by_seed]
            wrong = acc[1] < acc[0] - ALLOWED if fit.startswith("default") else same < 1
            bad += wrong
            found.append((name, fit, *by_seed))
            print(f"{name:28} {fit:24} {same:12.0%} {acc[0]:10.2f} {acc[1]:7.2f}{'  <<<' if wrong else ''}", flush=True)
    return bad, found


def page(found: list[tuple], command: str) -> str:
    """The default fits as Markdown: sets down; ACC before and after, their difference and its standard error across."""
    fits = [fit for fit in FITS if fit.startswith("default")]
    cells = {(name, fit): (before, after) for name, fit, before, after in found}
    names = list(dict.fromkeys(name for name, *_ in found))
    text = [
        "# Accuracy of the defaults, before and after",
        "",
        f"Made by `{command}`. ACC in points, averaged over tasks and then over {SEEDS} seeds, which are the same "
        "before and after; the difference of the means, and its standard error from the variances over seeds "
        f"(√(s₁² / {SEEDS} + s₂² / {SEEDS})). Differences below −{ALLOWED} are bold.",
    ]
    for fit in fits:
        text += ["", f"## {fit.removeprefix('default ')} with its defaults", ""]
        text += ["| set | before | after | difference | standard error |", "| --- | ---: | ---: | ---: | ---: |"]
        means = []
        for name in names:
            before, after = (np.array(values) for values in cells[name, fit])
            means.append((before.mean(), after.mean()))
            error = np.sqrt((before.var(ddof=1) + after.var(ddof=1)) / SEEDS)
            text.append(_line(name, *means[-1], f"{error:.2f}"))
        text.append(_line("mean of all sets", *np.mean(means, axis=0), ""))
    return "\n".join(text) + "\n"


def _line(name: str, before: float, after: float, error: str) -> str:
    change = f"{after - before:+.2f}".replace("-", "−")
    if after < before - ALLOWED:
        change = f"**{change}**"
    return f"| {name} | {before:.2f} | {after:.2f} | {change} | {error} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", metavar="COMMIT", help="commit to compare with")
    parser.add_argument("--sets", type=lambda text: text.split(","), default=[], metavar="A,B", help="default: all")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="also write the table of the default fits")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folder = Path(os.environ["MTCLUSTER_DATA"]) if os.environ.get("MTCLUSTER_DATA") else None
    if arguments.child:
        fit_all(folder, arguments.sets, arguments.child)
        return 0
    if not arguments.against:
        parser.error("--against COMMIT says what to compare with")
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as scratch:
        archive = subprocess.run(
            ["git", "archive", arguments.against, "src"], cwd=root, check=True, capture_output=True
        )
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as tar:
            tar.extractall(scratch, filter="data")
        states = []
        for name, source in ((arguments.against, Path(scratch) / "src"), ("this state", root / "src")):
            print(name, file=sys.stderr, flush=True)
            out = Path(scratch) / f"{len(states)}.npz"
            sets = ["--sets", ",".join(arguments.sets)] if arguments.sets else []
            subprocess.run(
                [sys.executable, "-m", "benchmarks.same_labels", "--child", str(out), *sets],
                env=os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{root}"}, check=True,
            )  # fmt: skip
            states.append(dict(np.load(out)))
        bad, found = compare(*states, folder, arguments.sets)
    if arguments.out:
        given = [f"--sets {','.join(arguments.sets)}"] if arguments.sets else []
        words = ["python -m benchmarks.same_labels", f"--against {arguments.against}", *given, f"--out {arguments.out}"]
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(page(found, " ".join(words)), encoding="utf-8")
    print(f"{bad} difference(s) that are too large." if bad else "No difference that matters.")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
