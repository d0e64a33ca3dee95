"""Runs and their rows: a table with one row per run and task, in a file that survives whatever happens."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pandas as pd

from mtcluster._utils.files import replacing


class BenchmarkError(Exception):
    """An error that the user can fix."""


class Spec(NamedTuple):
    """Everything that determines a run; two runs of the same spec give the same scores."""

    study: str  # "main", "projection", "subspace", "pace", "tolerance", "noise", "time"
    protocol: str  # "paper" or "honest"
    features: str  # "raw" or "tfidf"
    data_set: str
    method: str
    coupling: str = "reconstruction"
    within_weight: float = -1.0  # -1: the method has none, or its default
    n_components: int = -1
    initial_fraction: float = 0.5
    fraction_step: float = 0.1
    tol: float = -1.0  # -1: that of the protocol
    outliers: str = "none"  # "none", or a kind of `data.OUTLIERS`
    noise: float = 0.0
    run: int = 0  # the seed


def grid(**fields: Any) -> list[Spec]:
    """Combine the values of some fields in all ways; texts and numbers stand for themselves."""
    values = [v if isinstance(v, Iterable) and not isinstance(v, str) else (v,) for v in fields.values()]
    return [Spec(**dict(zip(fields, one, strict=True))) for one in product(*values)]


# What a run gives for one task, with the values of what was not measured.
SCORES: dict[str, Any] = {
    "task": 0,
    "n_tasks": 0,
    "acc": 0.0,  # per cent
    "nmi": 0.0,  # per cent, arithmetic normalisation
    "nmi_geometric": 0.0,
    "joint": 0.0,  # per cent, of this task under the matching that is best for all tasks
    "auc": -1.0,  # of score_samples as a detector of outliers; -1: there are none
    "seconds": 0.0,  # of the whole run
    "n_iter": -1,
    "versions": "",
}
# The same for the whole run, over the rows of all tasks; absent from files of version 0.1.
LATER: dict[str, Any] = {
    "joint_rows": -1.0,  # per cent, accuracy with one matching for all rows
    "ari": -1.0,  # per cent
    "presence": -1.0,  # per cent of the (task, class) pairs in which it is right whether the task holds the class
    "linked": -1,  # 1: tasks are linked by pairs that have two classes in common, 0: they are not
    "biology": -1.0,  # per cent, scores of scib-metrics for the rows that were clustered
    "batch": -1.0,
}
RUN = list(Spec._fields)  # the columns that tell which run it is
DEFAULTS = dict.fromkeys(RUN, "") | Spec._field_defaults | SCORES | LATER
COLUMNS = list(DEFAULTS)
TYPES = {name: type(value) for name, value in DEFAULTS.items()}
CSV: dict[str, Any] = {"index": False, "na_rep": "nan", "lineterminator": "\n", "encoding": "utf-8"}


def table(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Make a table of rows; scores that they lack were not measured."""
    return pd.DataFrame([DEFAULTS | row for row in rows], columns=COLUMNS).astype(TYPES)


def of_specs(rows: pd.DataFrame, specs: Sequence[Spec]) -> pd.DataFrame:
    """Take the rows of some runs."""
    return rows[pd.MultiIndex.from_frame(rows[RUN]).isin(specs)]


def complete(rows: pd.DataFrame) -> pd.DataFrame:
    """Take the rows of runs for which all tasks are present, each once."""
    rows = rows.drop_duplicates([*RUN, "task"], keep="last")
    return rows[rows.groupby(RUN)["task"].transform("size") == rows["n_tasks"]].reset_index(drop=True)


class RunFile:
    """`runs.csv` in a folder: the rows of finished runs, kept whatever happens to the program.

    If there is no `runs.csv`, as in a published folder of results, rows are read from `runs.parquet`.
    """

    def __init__(self, folder: Path) -> None:
        self.path, self.parquet = folder / "runs.csv", folder / "runs.parquet"

    def existing(self) -> Path | None:
        """Find the file that rows would be read from; None if there is none."""
        return next((path for path in (self.path, self.parquet) if path.exists()), None)

    def read(self) -> pd.DataFrame:
        """Read the rows of complete runs; incomplete lines left by an interruption are skipped."""
        path = self.existing()
        if path is None:
            return table([])
        try:
            found = pd.read_parquet(path) if path == self.parquet else _lines(path)
            absent = {name: value for name, value in LATER.items() if name not in found}
            return complete(found.assign(**absent)[COLUMNS].astype(TYPES))
        except (OSError, TypeError, ValueError, KeyError) as error:
            raise BenchmarkError(f"{path} is not a file of runs, or of another version, or damaged: {error}") from error

    def rewrite(self, rows: pd.DataFrame) -> None:
        """Replace the file by one that holds these rows in a fixed order."""
        with replacing(self.path) as temporary:
            rows.sort_values(COLUMNS).to_csv(temporary, **CSV)

    def append(self, rows: pd.DataFrame) -> None:
        """Append the rows of a run."""
        rows.to_csv(self.path, mode="a", header=False, **CSV)

    def write_parquet(self, rows: pd.DataFrame) -> None:
        """Write these rows, in the given order, as Parquet."""
        with replacing(self.parquet) as temporary:
            rows.to_parquet(temporary, index=False)


def _lines(path: Path) -> pd.DataFrame:
    """Read texts up to the last line that is whole, and check that numbers are numbers."""
    text = path.read_text(encoding="utf-8")
    found = pd.read_csv(io.StringIO(text[: text.rfind("\n") + 1]), dtype=str, keep_default_na=False)
    numbers = found[[name for name in COLUMNS if name in found and TYPES[name] is not str]]
    wrong = (numbers.apply(pd.to_numeric, errors="coerce").isna() & (numbers != "nan")).any(axis=1)
    if wrong.any():
        raise BenchmarkError(f"{path} is damaged near line {wrong.idxmax() + 2}.")
    return found


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Reserve the folder for this process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / ".lock").open("w")
    except OSError as error:
        raise BenchmarkError(f"--out {folder} cannot be written: {error.strerror}.") from error
    with handle:
        try:
            _lock(handle)
        except OSError as error:
            text = f"another benchmark is writing into {folder}: wait for it, or give another --out."
            raise BenchmarkError(text) from error
        yield


def _lock(handle: TextIO) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
