"""Rows of 8 GB in Parquet on Dask workers of 1 GB each: `python -m benchmarks.larger_than_memory FOLDER`.

The rows are generated first unless FOLDER contains them; they are read again in every iteration.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import dask
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd

from mtcluster import SPMTC

FEATURES, CLUSTERS, TASKS = 32, 8, 4
ROWS_PER_FILE = 500_000


def make_file(folder: Path, index: int) -> int:
    """Overlapping blobs in four tasks, shifted a little from task to task; the number of rows."""
    shape = np.random.default_rng(0)
    centers, shifts = shape.normal(size=(CLUSTERS, FEATURES)), 0.3 * shape.normal(size=(TASKS, FEATURES))
    rng = np.random.default_rng(index + 1)
    y, tasks = rng.integers(CLUSTERS, size=ROWS_PER_FILE), rng.integers(TASKS, size=ROWS_PER_FILE)
    X = rng.standard_normal((ROWS_PER_FILE, FEATURES), dtype=np.float32)
    X += (centers[y] + shifts[tasks]).astype(np.float32)
    frame = pd.DataFrame(X, columns=[f"f{i:02d}" for i in range(FEATURES)]).assign(task=tasks.astype(np.int8))
    frame.to_parquet(folder / "unfinished", compression=None)
    (folder / "unfinished").rename(folder / f"rows-{index:04d}.parquet")
    return ROWS_PER_FILE


def make_rows(folder: Path, gigabytes: float) -> None:
    """As many files as are needed."""
    folder.mkdir(parents=True, exist_ok=True)
    n_files = round(gigabytes * 1e9 / (4 * FEATURES * ROWS_PER_FILE))
    for index in range(n_files):
        if not (folder / f"rows-{index:04d}.parquet").exists():
            make_file(folder, index)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--memory", default="1GB", help="of each worker")
    parser.add_argument("--out", type=Path, help="JSON file for the result")
    arguments = parser.parse_args()
    make_rows(arguments.folder, arguments.gigabytes)
    dask.config.set({"distributed.worker.memory.target": 0.5, "distributed.worker.memory.spill": 0.6})
    cluster = distributed.LocalCluster(
        n_workers=arguments.workers,
        threads_per_worker=1,
        memory_limit=arguments.memory,
        host="127.0.0.1",
        dashboard_address=None,
        local_directory=str(arguments.folder / "spill"),
    )
    with cluster, distributed.Client(cluster):
        table = dd.read_parquet(arguments.folder / "rows-*.parquet")
        began = time.perf_counter()
        model = SPMTC(CLUSTERS, max_iter=2, tol=0.0, random_state=0)
        model.fit(table[[f"f{i:02d}" for i in range(FEATURES)]], tasks=table["task"])
        seconds = time.perf_counter() - began
        counted = np.asarray(dask.array.bincount(model.labels_, minlength=CLUSTERS))
    found = {
        "rows": int(model.labels_.shape[0]),
        "gigabytes": 4 * FEATURES * int(model.labels_.shape[0]) / 1e9,
        "workers": arguments.workers,
        "memory of each": arguments.memory,
        "iterations": model.n_iter_,
        "seconds": round(seconds, 1),
        "rows in each cluster": counted.tolist(),
    }
    print(json.dumps(found, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
