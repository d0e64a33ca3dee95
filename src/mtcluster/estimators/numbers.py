"""The number of clusters, where it is left to the data."""

from __future__ import annotations

from collections.abc import Sized
from numbers import Integral
from typing import Any, Literal

import numpy as np

from ..certainty import Selection, count_clusters, selection_of
from ..core.sampling import Sampling, take_sample
from ..engines import Engine
from ..search import Search
from ..search.view import View, view_of
from .input import check_counting
from .plan import Asked, metric_of
from .progress import bar, warn_user

NumberOfClusters = int | Literal["auto"] | tuple[int, int] | list[int]
AUTO = range(2, 11)
MOST_NUMBERS = 10_000  # numbers that can be compared
NUMBER_ROWS, NUMBER_TASK_ROWS = 1500, 50  # rows that numbers are compared on, and least per task


def read_numbers(n_clusters: Any) -> list[int]:
    """Return the numbers to compare, from whole numbers of at least 1; 1 itself needs no fit."""
    try:
        if isinstance(n_clusters, Sized) and not isinstance(n_clusters, str) and len(n_clusters) > MOST_NUMBERS:
            raise ValueError(
                f"n_clusters holds {len(n_clusters)} numbers to compare: up to {MOST_NUMBERS} can be compared."
            )
        given = [n_clusters] if isinstance(n_clusters, Integral | str) else list(n_clusters)
    except TypeError as error:
        raise ValueError(f"n_clusters={n_clusters!r} should be whole numbers such as range(2, 11).") from error
    if not given or not all(isinstance(c, Integral) and not isinstance(c, bool) and int(c) >= 1 for c in given):
        raise ValueError(f"n_clusters={given} should be whole numbers of at least 1, at least one of them.")
    numbers = sorted({int(c) for c in given} - {1})
    if not numbers:
        raise ValueError(
            f"n_clusters={given} should hold a number above 1: one cluster is always among those compared."
        )
    return numbers


def asked_numbers(n_clusters: Any) -> list[int] | None:
    """Return the numbers that an estimator has to compare; None: its number is given."""
    if isinstance(n_clusters, Integral):
        return None
    if isinstance(n_clusters, str):
        return list(AUTO)
    pair = tuple(n_clusters)
    whole = len(pair) == 2 and all(isinstance(c, Integral) and not isinstance(c, bool) for c in pair)
    if not whole or not 1 <= pair[0] <= pair[1] or pair[1] < 2:
        raise ValueError(
            f"n_clusters={n_clusters!r} should be a number, 'auto', or the least and the largest number to compare, "
            "such as (2, 10)."
        )
    return read_numbers(range(pair[0], pair[1] + 1))


def few_enough(engine: Engine, numbers: list[int]) -> list[int]:
    """Return the numbers that the rows suffice for, or the least."""
    total = int(engine.summary.counting.sum())
    return [number for number in numbers if 2 * number <= total] or numbers[:1]


def choose_number(
    engine: Engine, how: Search, numbers: list[int], random_state: np.random.RandomState, verbose: int = 0
) -> Selection:
    """Compare numbers of clusters on a sample of the rows."""
    check_counting(engine.labels, engine.sizes, engine.summary.counting)
    total = int(engine.summary.counting.sum())
    if 2 * numbers[-1] > total:
        raise ValueError(
            f"n_clusters up to {numbers[-1]} needs {2 * numbers[-1]} rows that count, twice as many as clusters, but "
            f"there are {total}: compare numbers up to {total // 2}, or give one."
        )
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    defaults = Asked("SPMTC", numbers[0], within_weight="auto", task_offset="auto", metric="auto")
    round_ = metric_of(defaults, engine)[0] == "euclidean"
    sampling = Sampling(min(how.sample, NUMBER_ROWS), min(how.task_sample, NUMBER_TASK_ROWS))
    sample = take_sample(engine, sampling, np.random.default_rng(seed))

    def look(number: int) -> View:
        return view_of(engine, *sample, number, "none", round_, seed)

    with bar(len(numbers), "comparing numbers of clusters", verbose) as step:
        return selection_of(count_clusters(look, [number for number in numbers if number > 1], seed, step))


def chosen_number(selection: Selection) -> int:
    """Return the number that is fitted; a warning where none is supported."""
    if selection.n_clusters is None:
        warn_user(f"n_clusters was left to the data. {selection.reason} The sharpest number was taken.")
    return selection.best
