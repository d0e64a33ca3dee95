"""A CSV file of 1 000 000 rows × 20 columns, read, clustered and reported by one command: seconds and peak memory.

python -m benchmarks.large_csv [FOLDER]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.csv

from mtcluster.datasets import make_multitask_blobs

SIZES = [400_000, 300_000, 200_000, 100_000]


def write(path: Path) -> None:
    X, _, tasks = make_multitask_blobs(SIZES, 20, n_tasks=4, n_clusters=8, separation=8, task_shift=2, random_state=0)
    columns = {f"x{j}": X[:, j] for j in range(20)} | {"site": [f"site {k}" for k in tasks]}
    pa.csv.write_csv(pa.table(columns), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="where to write (default: a temporary folder)")
    with tempfile.TemporaryDirectory() as temporary:
        folder = parser.parse_args().folder or Path(temporary)
        write(folder / "large.csv")
        command = ["fit", folder / "large.csv", "--task", "site", "--clusters", "8", "--out", folder / "run", "--force"]
        began = perf_counter()
        subprocess.run([sys.executable, "-m", "mtcluster", *map(str, command)], check=True)
        seconds = perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        size = (folder / "large.csv").stat().st_size
        print(f"{size / 1e6:.0f} MB of CSV: {seconds:.0f} s, {peak / 1e9:.1f} GB at most")


if __name__ == "__main__":
    main()
