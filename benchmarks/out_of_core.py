"""`mtcluster fit --out-of-core` on Parquet files much larger than the memory that it takes.

    python -m benchmarks.out_of_core --all --out docs/results/out_of_core.md

The files are written first, in parts, unless the folder of --data has them; without --data they are removed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

FEATURES, CLUSTERS, ROWS = 20, 5, 500_000  # columns of numbers, clusters, rows of a file
TASKS = ("fr", "de", "it", "es")
COMPARED = 100_000  # rows on which labels are compared with the truth
DEFAULTS = ("--clusters", str(CLUSTERS), "--refits", "0")


@dataclass(frozen=True)
class Measured:
    """What a run took."""

    options: str
    seconds: float
    peak: int  # bytes
    agreement: float
    steps: dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the files (default: a temporary one)")
    parser.add_argument("--bytes", type=float, default=5e9, help="of all files (default 5e9)")
    parser.add_argument("--all", action="store_true", help="measure a fit with the defaults of all options, too")
    parser.add_argument("--out", type=Path, help="Markdown file for the result")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        data = arguments.data or Path(temporary, "rows")
        make_files(data, int(arguments.bytes))
        files = sorted(data.glob("rows-*.parquet"))
        runs = [measured(files, DEFAULTS, Path(temporary, "run"))]
        if arguments.all:
            runs.append(measured(files, (), Path(temporary, "run-all")))
        page = page_of(files, runs)
    print(page)
    if arguments.out:
        arguments.out.write_text(page, encoding="utf-8")


def make_files(folder: Path, least: int) -> None:
    """Write files of at least so many bytes, without compression; each has rows of all tasks in any order."""
    folder.mkdir(parents=True, exist_ok=True)
    size, index = sum(path.stat().st_size for path in folder.glob("rows-*.parquet")), 0
    while size < least:
        path = folder / f"rows-{index:04d}.parquet"
        if not path.exists():
            frame_of(index).to_parquet(folder / "unfinished", index=False, compression=None)
            (folder / "unfinished").rename(path)
            size += path.stat().st_size
        index += 1


def frame_of(index: int) -> pd.DataFrame:
    """Normal clusters with one centre for all tasks, moved a little from task to task, and the cluster of each row."""
    shape, rng = np.random.default_rng(0), np.random.default_rng(index + 1)
    centers, shifts = 2 * shape.normal(size=(CLUSTERS, FEATURES)), shape.normal(size=(len(TASKS), FEATURES))
    y, tasks = rng.integers(CLUSTERS, size=ROWS), rng.integers(len(TASKS), size=ROWS)
    X = rng.standard_normal((ROWS, FEATURES))
    X += centers[y] + shifts[tasks]
    frame = pd.DataFrame(X, columns=[f"f{j:02d}" for j in range(FEATURES)])
    return frame.assign(country=np.array(TASKS)[tasks], truth=y.astype(np.int8))


def measured(files: list[Path], options: tuple[str, ...], out: Path) -> Measured:
    """Run the command in a process of its own, and watch its memory."""
    chosen = ["--task", "country", "--drop", "truth", "--out-of-core", *options]
    command = [sys.executable, "-m", "mtcluster", "fit", *map(str, files), *chosen, "--out", str(out), "--quiet"]
    began = time.perf_counter()
    process = subprocess.Popen(command)
    peak = 0
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(0.05)
    seconds = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(f"mtcluster fit failed with code {process.returncode}.")
    settings = json.loads((out / "settings.json").read_text(encoding="utf-8"))
    return Measured(" ".join(chosen), seconds, peak, agreement(files, out), settings["seconds"])


def resident(pid: int) -> int:
    """The most memory that a process has had resident so far, and that of its children now, in bytes."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return _status(pid, "VmHWM") + sum(_status(int(child), "VmRSS") for child in children)
    except (OSError, IndexError):  # it has just ended
        return 0


def _status(pid: int, name: str) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().split(f"{name}:")[1].split()[0]) * 1024


def agreement(files: list[Path], out: Path) -> float:
    """Adjusted Rand index of the labels and the true clusters, on rows of some parts; all rows must be there."""
    parts = sorted((out / "labels").glob("part-*.parquet"))
    rows = np.concatenate([pd.read_parquet(part, columns=["id"])["id"].to_numpy() for part in parts])
    if not np.array_equal(rows, np.arange(1, len(files) * ROWS + 1)):
        raise SystemExit("The labels are not those of all rows in their order.")
    labels = np.concatenate([pd.read_parquet(part, columns=["cluster"])["cluster"].to_numpy() for part in parts])
    some = np.sort(np.random.default_rng(0).choice(len(labels), COMPARED, replace=False))
    truth = np.concatenate([pd.read_parquet(file, columns=["truth"])["truth"].to_numpy() for file in files])
    return float(adjusted_rand_score(truth[some], labels[some]))


def page_of(files: list[Path], runs: list[Measured]) -> str:
    """The results in Markdown."""
    size, n = sum(path.stat().st_size for path in files), len(files) * ROWS
    lines = [
        "# Files larger than memory",
        "",
        "Made by `python -m benchmarks.out_of_core --all --out docs/results/out_of_core.md`.",
        "",
        f"{n:,} rows of {FEATURES} columns of float64 and a column of {len(TASKS)} tasks, in {len(files)} Parquet "
        f"files without compression: {size:,} bytes. `mtcluster fit` reads them piece by piece (`--out-of-core`), in a "
        f"process of its own on {os.cpu_count()} cores; the file cache of the operating system is not counted. The "
        f"adjusted Rand index compares labels with the true clusters on {COMPARED:,} rows.",
        "",
        "| options | seconds | peak of resident memory | share of the bytes | adjusted Rand index |",
        "|---|---|---|---|---|",
        *(
            f"| `{run.options}` | {run.seconds:.0f} | {run.peak / 1e6:.0f} MB | {run.peak / size:.3f} | "
            f"{run.agreement:.4f} |"
            for run in runs
        ),
        "",
        *(f"- Seconds of the steps of `{run.options}`: {_listed(run.steps)}." for run in runs),
        "",
        f"Python {platform.python_version()} on {platform.system()}; other programs ran at the same time, so times are "
        "rough.",
        "",
    ]
    return "\n".join(lines)


def _listed(steps: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.0f}" for name, value in steps.items())


if __name__ == "__main__":
    main()
