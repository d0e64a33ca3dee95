"""Run rows: one flat record per run and task, appended safely to one file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TextIO

from .._utils.files import replacing


class BenchmarkError(Exception):
    """An error that the user can fix."""


@dataclass(frozen=True, order=True)
class Spec:
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
    outliers: str = "none"  # "none", or a kind of `views.OUTLIERS`
    noise: float = 0.0
    run: int = 0  # the seed


@dataclass(frozen=True)
class Row(Spec):
    """The result of a run for one task."""

    task: int = 0
    n_tasks: int = 0
    acc: float = 0.0  # per cent
    nmi: float = 0.0  # per cent, arithmetic normalisation
    nmi_geometric: float = 0.0
    joint: float = 0.0  # per cent, of this task under the matching that is best for all tasks
    auc: float = -1.0  # of score_samples as a detector of outliers; -1: there are none
    seconds: float = 0.0  # of the whole run
    n_iter: int = -1
    versions: str = ""
    # Of the whole run, over the rows of all tasks; -1: not measured.
    joint_rows: float = -1.0  # per cent, accuracy with one matching for all rows
    ari: float = -1.0  # per cent
    presence: float = -1.0  # per cent of the (task, class) pairs in which it is right whether the task holds the class
    linked: int = -1  # 1: tasks are linked by pairs that have two classes in common, 0: they are not
    biology: float = -1.0  # per cent, scores of scib-metrics for the rows that were clustered
    batch: float = -1.0

    def spec(self) -> Spec:
        """The run that this row belongs to."""
        return Spec(**{f.name: getattr(self, f.name) for f in fields(Spec)})


COLUMNS = [f.name for f in fields(Row)]
LATER = ("joint_rows", "ari", "presence", "linked", "biology", "batch")  # absent from files of version 0.1
TYPES = {f.name: {"str": str, "int": int, "float": float}[str(f.type)] for f in fields(Row)}


class RunFile:
    """`runs.csv` in a folder: the rows of finished runs, kept whatever happens to the program.

    If there is no `runs.csv`, as in a published folder of results, rows are read from `runs.parquet`.
    """

    def __init__(self, folder: Path) -> None:
        self.path, self.parquet = folder / "runs.csv", folder / "runs.parquet"

    def existing(self) -> Path | None:
        """The file that rows would be read from; None if there is none."""
        return next((path for path in (self.path, self.parquet) if path.exists()), None)

    def read(self) -> list[Row]:
        """Rows of complete runs; incomplete lines left by an interruption are skipped."""
        if self.existing() == self.parquet:
            return self._read_parquet()
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        reader = csv.DictReader(io.StringIO(whole))
        columns = list(reader.fieldnames or ())
        if whole and columns not in (COLUMNS, [name for name in COLUMNS if name not in LATER]):
            raise BenchmarkError(
                f"{self.path} is not a file of runs, or of another version: give another --out folder."
            )
        rows: list[Row] = []
        for record in reader:
            try:
                rows.append(Row(**{name: TYPES[name](record[name]) for name in columns}))
            except (TypeError, ValueError) as error:
                raise BenchmarkError(f"{self.path} is damaged near line {reader.line_num}: {error}.") from error
        return list(complete(rows))

    def _read_parquet(self) -> list[Row]:
        import pandas as pd

        try:
            frame = pd.read_parquet(self.parquet)
            columns = [name for name in COLUMNS if name in frame or name not in LATER]
            records = frame[columns].to_dict("records")
            return list(complete([Row(**{name: TYPES[name](row[name]) for name in columns}) for row in records]))
        except (OSError, TypeError, ValueError, KeyError) as error:
            raise BenchmarkError(f"{self.parquet} is not a file of runs, or is damaged: {error}") from error

    def write_parquet(self, rows: Iterable[Row]) -> None:
        """Write these rows, in the given order, as Parquet."""
        import pandas as pd

        rows = list(rows)
        frame = pd.DataFrame({column: [getattr(row, column) for row in rows] for column in COLUMNS})
        with replacing(self.parquet) as temporary:
            frame.to_parquet(temporary, index=False)

    def rewrite(self, rows: Iterable[Row]) -> None:
        """Replace the file by one that holds these rows in a fixed order."""
        with replacing(self.path) as temporary:
            temporary.write_text(_lines(sorted(rows), header=True), encoding="utf-8")

    @contextmanager
    def appending(self) -> Iterator[Any]:
        """A function that appends the rows of one run in one write."""
        with self.path.open("a", encoding="utf-8", newline="") as file:

            def append(rows: list[Row]) -> None:
                file.write(_lines(rows, header=False))
                file.flush()

            yield append


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
            raise BenchmarkError(
                f"another benchmark is writing into {folder}: wait for it, or give another --out."
            ) from error
        yield


def _lock(handle: TextIO) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def complete(rows: list[Row]) -> Iterator[Row]:
    """The rows of runs for which all tasks are present, each once."""
    found: dict[Spec, dict[int, Row]] = {}
    for row in rows:
        found.setdefault(row.spec(), {})[row.task] = row
    for tasks in found.values():
        if all(len(tasks) == row.n_tasks for row in tasks.values()):
            yield from tasks.values()


def _lines(rows: Iterable[Row], *, header: bool) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    if header:
        writer.writeheader()
    for row in rows:
        writer.writerow(
            {name: repr(value) if isinstance(value, float) else value for name, value in asdict(row).items()}
        )
    return buffer.getvalue()
