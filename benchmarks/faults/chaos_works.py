"""What is disturbed: fits and predictions of several estimators, and the command line."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mtcluster import LSSMTC, SPMTC, MultiTaskGaussianMixture
from mtcluster.datasets import make_multitask_blobs
from mtcluster.engines import bring_here

from .chaos_reading import read

N_CHUNKS, N_ROWS = 6, 120
FILE_JOBS = 95  # of a fit of files, up to which a fault may come
RAW = ("KilledWorker", "Traceback", "KeyError", "this is a bug")


@dataclass(frozen=True)
class Work:
    """Labels of rows, wherever they are."""

    labels: Callable[[Any, Any], Any]
    jobs: int  # up to which of its jobs a fault may come


def rows() -> tuple[Any, Any]:
    """Three tasks."""
    X, _, tasks = make_multitask_blobs(n_tasks=3, n_samples=N_ROWS, n_clusters=3, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], np.array(["north", "south", "west"])[tasks[order]]


def on_cluster(X: Any, folder: Path) -> Any:
    """The rows in chunks, which are read by a function that may fail."""
    import dask.array as da

    size = -(-len(X) // N_CHUNKS)
    there = da.from_array(X, chunks=(size, -1))
    return there.map_blocks(read, str(folder), dtype=X.dtype, meta=X[:0])


def _fitted(model: Any) -> Callable[[Any, Any], Any]:
    return lambda X, tasks: bring_here(type(model)(**model.get_params()).fit(X, tasks=tasks).labels_)


def _predicted(X: Any, tasks: Any) -> Any:
    X_here, tasks_here = rows()
    model = SPMTC(3, random_state=0).fit(X_here[tasks_here != "west"], tasks=tasks_here[tasks_here != "west"])
    return bring_here(model.predict(X, tasks=tasks))


def _followed(X: Any, tasks: Any) -> Any:
    X_here, tasks_here = rows()
    model = SPMTC(3, random_state=0).fit(X_here[::2], tasks=tasks_here[::2])
    return bring_here(model.partial_fit(X, tasks=tasks).labels_)


WORKS = {
    "SPMTC": Work(_fitted(SPMTC(3, random_state=0)), 90),
    "LSSMTC": Work(_fitted(LSSMTC(3, within_weight=0.5, n_init=1, random_state=0)), 38),
    "mixture": Work(_fitted(MultiTaskGaussianMixture(3, random_state=0)), 34),
    "predict": Work(_predicted, 45),
    "partial_fit": Work(_followed, 60),
}


def labels_of(work: str, X: Any, tasks: Any) -> Any:
    """The labels, without the warnings of a small example."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(WORKS[work].labels(X, tasks))


def write_parts(folder: Path) -> list[Path]:
    """The rows as Parquet files."""
    import pandas as pd

    X, tasks = rows()
    frame = pd.DataFrame(X[:, :4], columns=list("abcd")).assign(place=tasks)
    paths = [folder / f"in-{j}.parquet" for j in range(N_CHUNKS)]
    for path, part in zip(paths, np.array_split(np.arange(len(frame)), N_CHUNKS), strict=True):
        frame.iloc[part].to_parquet(path, index=False)
    return paths


@dataclass(frozen=True)
class Command:
    """The exit code of a command line, what it printed, and the labels at --out."""

    code: int
    said: str
    labels: Any

    @property
    def problem(self) -> str:
        """What is wrong with how it ended."""
        if self.code not in (0, 2) or any(word in self.said for word in RAW):
            return f"exit code {self.code}: {self.said[-400:]}"
        return "" if self.code == 0 or len(self.said.strip().splitlines()) >= 1 else "no sentence"


def fit_files(paths: list[Path], out: Path, *options: str) -> Command:
    """`mtcluster fit` of Parquet files."""
    from mtcluster.cli.main import main

    arguments = ["fit", *map(str, paths), "--task", "place", "--clusters", "3", "--refits", "0", "--quiet", "--force"]
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(io.StringIO()):
        try:
            code = main([*arguments, "--out", str(out), *options])
        except SystemExit as end:
            code = int(end.code or 0)
    return Command(code, said.getvalue(), labels_at(out))


def labels_at(out: Path) -> Any:
    """The labels in a folder of results; None if there is none.

    pandas would open the files in Python, and threads of Arrow that still hold what they have read abort a process
    that ends.
    """
    from pyarrow.parquet import read_table

    files = sorted((out / "labels").glob("part-*.parquet"))
    return np.concatenate([read_table(file)["cluster"].to_numpy() for file in files]) if files else None


def contents(folder: Path) -> dict[str, str]:
    """Checksums of everything in a folder, which may not be there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}
