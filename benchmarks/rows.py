"""A measurement is one flat row; the page is made from a file of rows only."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from mtcluster._utils import text


@dataclass(frozen=True)
class Row:
    """One number and its description."""

    part: str  # of the benchmark
    case: str  # the rows
    subject: str  # the method
    quantity: str
    value: float
    unit: str = ""
    limit: str = ""  # of the value, such as "<= 2" or ">= 100"
    versions: str = ""

    @property
    def kept(self) -> bool:
        """Whether the value is within its limit."""
        if not self.limit:
            return True
        sign, bound = self.limit.split()
        return self.value <= float(bound) if sign == "<=" else self.value >= float(bound)


@cache
def versions() -> str:
    """The versions of Python and of the packages that determine a row."""
    found = text.versions(("mtcluster", "numpy", "scipy", "scikit-learn"))
    return " ".join(f"{name}={version}" for name, version in found.items())


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
