"""Relations of the command line: what it writes is what Python says, however the same rows lie in files."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from mtcluster import SPMTC
from mtcluster.cli.main import main
from mtcluster.datasets import make_multitask_blobs
from mtcluster.interop import load

NAMES = ("age", "income", "trust", "hours", "visits")
OPTIONS = ("--task", "site", "--clusters", "3", "--refits", "0", "--quiet")
Check = tuple[str, str]


def table(rng: np.random.Generator) -> Any:
    """Draw clear clusters of three sites, on several scales."""
    import pandas as pd

    seed = int(rng.integers(2**31))
    X, _, tasks = make_multitask_blobs([40, 50, 45], 5, n_tasks=3, n_clusters=3, separation=14, random_state=seed)
    frame = pd.DataFrame(X * [1, 10, 0.1, 100, 1], columns=list(NAMES))
    return frame.assign(site=np.array(["a", "b", "c"])[tasks]).iloc[rng.permutation(len(X))].reset_index(drop=True)


def of_files(rng: np.random.Generator) -> Iterator[Check]:
    """Compare what commands write with each other, and with Python."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frame = table(rng)
        frame.to_csv(folder / "t.csv", index=False)
        ended = run("fit", folder / "t.csv", *OPTIONS, "--out", folder / "run")
        yield "command line, fit", ended
        if ended:
            return
        labels = labels_in(folder / "run" / "labels.csv")
        yield from of_python(folder, frame, labels)
        for relation, change in FILES.items():
            files = change(folder, frame, rng)
            ended = run("predict", folder / "run", *files, "--out", folder / "labels.csv", "--force", "--quiet")
            yield f"command line, predict, {relation}", ended or _differ(folder, frame, labels)
        for relation in ("--out-of-core", "again"):
            more = (relation,) if relation.startswith("--") else ()
            ended = run("fit", folder / "t.csv", *OPTIONS, *more, "--out", folder / relation.strip("-"))
            yield f"command line, fit, {relation}", ended or _same_clusters(folder / relation.strip("-"), labels)


def of_python(folder: Path, frame: Any, labels: Any) -> Iterator[Check]:
    """Compare the command line with Python."""
    kept = load(folder / "run" / "model.skops")
    X, tasks = kept["preprocessor"].transform(frame.drop(columns="site")), frame["site"].to_numpy()
    found = kept["model"].predict(X, tasks=tasks)
    yield "command line, predict in Python", "" if np.array_equal(found, labels) else "other labels"
    own = SPMTC(3, random_state=0).fit(X, tasks=tasks)
    yield "command line, fit in Python", "" if adjusted_rand_score(own.labels_, labels) == 1 else "other clusters"


# ------------------------------------------------------------------------------------------------ the same rows
def as_they_were(folder: Path, _: Any, __: np.random.Generator) -> list[Path]:
    """Return the file of the fit."""
    return [folder / "t.csv"]


def other_columns_first(folder: Path, frame: Any, rng: np.random.Generator) -> list[Path]:
    """Write columns in another order."""
    frame[rng.permutation(frame.columns.to_numpy())].to_csv(folder / "columns.csv", index=False)
    return [folder / "columns.csv"]


def tabs(folder: Path, frame: Any, _: np.random.Generator) -> list[Path]:
    """Write tabs between the columns."""
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    return [folder / "t.tsv"]


def parquet(folder: Path, frame: Any, _: np.random.Generator) -> list[Path]:
    """Write a Parquet file."""
    frame.to_parquet(folder / "t.parquet", index=False)
    return [folder / "t.parquet"]


def two_files(folder: Path, frame: Any, _: np.random.Generator) -> list[Path]:
    """Write the first and the other rows into files of their own."""
    found = [folder / "first.csv", folder / "second.csv"]
    for path, part in zip(found, (frame.iloc[:50], frame.iloc[50:]), strict=True):
        part.to_csv(path, index=False)
    return found


FILES: dict[str, Callable[[Path, Any, np.random.Generator], list[Path]]] = {
    "the same file": as_they_were, "order of columns": other_columns_first, "tabs": tabs, "Parquet": parquet,
    "two files": two_files,
}  # fmt: skip


# ------------------------------------------------------------------------------------------------ what is compared
def run(*arguments: object) -> str:
    """Run a command; tells what went wrong."""
    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return f"{arguments[0]} ended with {code}: {said.getvalue()[:200]}" if code else ""


def labels_in(path: Path) -> Any:
    """Read the clusters of a table of labels."""
    import pandas as pd

    if path.is_dir():
        parts = [pd.read_parquet(part) for part in sorted(path.glob("part-*.parquet"))]
        return pd.concat(parts)["cluster"].to_numpy()
    return pd.read_csv(path)["cluster"].to_numpy()


def _differ(folder: Path, frame: Any, labels: Any) -> str:
    found = labels_in(folder / "labels.csv")
    n = len(frame) if len(found) != len(labels) else int(np.count_nonzero(found != labels))
    return f"{n} of {len(labels)} labels differ" if n else ""


def _same_clusters(folder: Path, labels: Any) -> str:
    path = folder / "labels.csv"
    found = labels_in(path if path.exists() else folder / "labels")
    return "" if adjusted_rand_score(found, labels) == 1 else "other clusters"
