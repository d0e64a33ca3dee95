"""A measurement is one flat row; a file of rows is all that the page needs."""

from __future__ import annotations

import csv
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One number and what it is."""

    part: str  # of the run
    case: str  # on what rows
    subject: str  # of what
    quantity: str
    value: float
    unit: str = ""
    limit: str = ""  # what the value should keep: "<= 2", ">= 100"
    versions: str = ""

    @property
    def kept(self) -> bool:
        """Whether the value keeps its limit."""
        if not self.limit:
            return True
        sign, bound = self.limit.split()
        return self.value <= float(bound) if sign == "<=" else self.value >= float(bound)


@cache
def versions() -> str:
    """What computed a row."""
    names = ("mtcluster", "numpy", "scipy", "scikit-learn")
    return " ".join([f"python={platform.python_version()}", *(f"{name}={version(name)}" for name in names)])


def measured(
    part: str, case: object, subject: str, quantity: str, value: float, unit: str = "", limit: str = ""
) -> Row:
    """A row of this run."""
    return Row(part, str(case), subject, quantity, float(value), unit, limit, versions())


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) | {"value": f"{row.value:.6g}"} for row in rows)


def read_rows(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        records: list[dict[str, Any]] = list(csv.DictReader(file))
    return [Row(**record | {"value": float(record["value"])}) for record in records]
