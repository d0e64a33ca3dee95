"""Run rows → numbers: the grid point of each method, means, and the methods that are best or comparable to the best."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from scipy import stats

from .methods import METHODS
from .runs import Row

Column = tuple[str, int]  # data set, task


@dataclass(frozen=True)
class Cell:
    """One method on one task: runs at the chosen grid point."""

    acc: tuple[float, ...]
    nmi: tuple[float, ...]
    joint: tuple[float, ...]
    within_weight: float
    n_components: int

    def mean(self, metric: str) -> float:
        """Mean over runs."""
        return float(np.mean(getattr(self, metric)))

    def std(self, metric: str) -> float:
        """Standard deviation over runs."""
        return float(np.std(getattr(self, metric)))


def published() -> dict[tuple[str, Column], dict[str, float]]:
    """(method, column) → the paper's ACC and NMI."""
    text = files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    return {
        (row["method"], (row["data_set"], int(row["task"]))): {"acc": float(row["acc"]), "nmi": float(row["nmi"])}
        for row in csv.DictReader(text.splitlines())
    }


def select(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """Rows whose fields have the given values."""
    return [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]


def group(rows: Iterable[Row], *names: str) -> dict[tuple[object, ...], list[Row]]:
    """Rows by the values of some fields, in order."""
    found: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(getattr(row, name) for name in names)].append(row)
    return dict(sorted(found.items(), key=lambda item: tuple(map(str, item[0]))))


def mean(rows: Sequence[Row], metric: str) -> float:
    """Mean of a field."""
    return float(np.mean([getattr(row, metric) for row in rows]))


def cells(rows: Iterable[Row], protocol: str, features: str, study: str = "main") -> dict[str, dict[Column, Cell]]:
    """Method → column → cell; of a grid, the point with the best mean ACC over the tasks of a set, as in the paper."""
    found: dict[str, dict[Column, Cell]] = {method: {} for method in METHODS}
    main = select(rows, study=study, protocol=protocol, features=features)
    for (method, data_set), own in group(main, "method", "data_set").items():
        grid = group(own, "within_weight", "n_components")
        (weight, l), chosen = max(grid.items(), key=lambda item: mean(item[1], "acc"))
        for (task,), runs in group(chosen, "task").items():
            scores = {name: tuple(getattr(row, name) for row in runs) for name in ("acc", "nmi", "joint")}
            found[str(method)][str(data_set), int(str(task))] = Cell(
                **scores, within_weight=float(str(weight)), n_components=int(str(l))
            )
    return {method: columns for method, columns in found.items() if columns}


def comparable(table: dict[str, dict[Column, Cell]], column: Column, metric: str, level: float = 0.05) -> set[str]:
    """The best method of a column and those that a two-sided t-test does not distinguish from it."""
    here = {method: columns[column] for method, columns in table.items() if column in columns}
    best = max(here, key=lambda method: here[method].mean(metric))
    return {
        method for method, cell in here.items() if p_value(getattr(here[best], metric), getattr(cell, metric)) >= level
    }


def p_value(a: Sequence[float], b: Sequence[float]) -> float:
    """Welch's t-test; constant runs are comparable only if they are equal."""
    if len(a) < 2 or len(b) < 2 or max(np.ptp(a), np.ptp(b)) < 1e-9:
        return 1.0 if np.isclose(np.mean(a), np.mean(b)) else 0.0
    (mean_a, std_a), (mean_b, std_b) = ((np.mean(x), np.std(x, ddof=1)) for x in (a, b))
    return float(stats.ttest_ind_from_stats(mean_a, std_a, len(a), mean_b, std_b, len(b), equal_var=False).pvalue)


@dataclass(frozen=True)
class Agreement:
    """Agreement of a method with the paper over the columns, in points of ACC or NMI."""

    n: int
    within_4: int
    reached: int  # at most 2 below
    above_all: int  # above everything that the paper prints in that column
    differences: dict[Column, float]


def agreement(table: dict[str, dict[Column, Cell]], metric: str = "acc") -> dict[str, Agreement]:
    """Method → agreement with the paper."""
    paper = published()
    found = {}
    for method, columns in table.items():
        known = {column: cell for column, cell in columns.items() if (method, column) in paper}
        if not known:
            continue
        differences = {column: cell.mean(metric) - paper[method, column][metric] for column, cell in known.items()}
        best = {column: max(v[metric] for (_, c), v in paper.items() if c == column) for column in known}
        values = np.array(list(differences.values()))
        above = sum(cell.mean(metric) > best[column] for column, cell in known.items())
        found[method] = Agreement(
            len(values), int((abs(values) <= 4).sum()), int((values >= -2).sum()), above, differences
        )
    return found
