"""A table while it is being checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.arrays import Array
from ._findings import Finding
from ._input import is_table


@dataclass
class Draft:
    """A table while it is being checked: what is left of it, and what has been found."""

    X: Any
    names: list[str]  # of its columns
    tasks: Array | None  # (n,) of str, None where a row has no task
    ids: Array | None
    rows: Array
    wanted: frozenset[str]  # columns that the user has named, which are kept
    text: tuple[str, ...]
    missing: tuple[str, ...] | None  # further texts that stand for missing values; None: only empty cells
    dates: tuple[str, ...]
    impute: bool
    scale: str
    min_rows: int
    drop_unnamed: bool
    drop_duplicates: bool
    keep_spelling: bool
    decimal: str | None  # the sign before decimals, if the user has named it
    thousands: str | None  # the sign between thousands, likewise; "": none
    drop_rows: tuple[str, ...]  # texts of cells whose rows are left out
    written: tuple[str, ...]  # how numbers of columns of texts are written, as `Written.coded` has it
    typed: bool  # whether cells have types of their own, which say nothing on how texts are written
    task_column: str  # how the column of tasks is called in a message
    id_column: str
    where: Callable[[int], str]  # how a row of the table is called in a message
    findings: list[Finding] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    copies: Array | None = None  # (n,) which rows repeat an earlier one, if any does

    def keep(self, rows: Array) -> None:
        """Keep some rows only."""
        self.X = self.X.iloc[rows] if is_table(self.X) else self.X[rows]
        self.tasks = None if self.tasks is None else self.tasks[rows]
        self.ids = None if self.ids is None else self.ids[rows]
        self.copies = None if self.copies is None else self.copies[rows]
        self.rows = self.rows[rows]

    def leave_out(self, names: Sequence[str]) -> None:
        """Leave columns out."""
        self.X = self.X.drop(columns=list(names))
        self.names = list(self.X.columns)
        self.left_out += names

    def codes(self) -> Array:
        """Number the tasks of the rows."""
        if self.tasks is None:
            return np.zeros(len(self.rows), dtype=int)
        return np.unique(np.array([str(task) for task in self.tasks]), return_inverse=True)[1]

    def describing(self) -> list[str]:
        """Columns that are neither texts nor kept at the user's wish."""
        return [name for name in self.X.columns if name not in self.text and name not in self.wanted]
