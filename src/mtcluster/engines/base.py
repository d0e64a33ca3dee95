"""The contract of an engine: where the rows of a fit live, and who works on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from importlib import import_module
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np

from ..core.arrays import Array, Summary, host
from ..core.blocks import Block, Job, PerRow

NO_NUMBERS = "Leave them out, or let mtcluster.preprocessing.TablePreprocessor turn them into numbers."


class DaskClusterError(RuntimeError):
    """A Dask cluster is gone, was restarted, or has no workers that can do the work; the text says what to do.

    What a lost worker had is computed again by the others, without an error. An estimator whose `fit` ends with this
    error is as it was before.
    """


class Engine(ABC):
    """All rows of all tasks, wherever they live: what the core needs (`core.blocks.RowSource`), and the way back.

    Values per row stay where the rows are; only `gather` brings them into the order in which the rows came.
    """

    instead: ClassVar[str]  # what a user can do where a part of the model cannot work with the engine
    one_library: ClassVar[bool] = False  # must new rows be arrays of the library that the model was fitted with?
    xp: Any = np  # the library of what `gather` returns
    labels: Array  # (m,) labels of the tasks
    sizes: list[int]  # rows of each task
    named: bool  # did the user say which task the rows belong to?
    n_features: int
    dtype: np.dtype[Any]
    centered: bool  # are losses computed from the means of the tasks?
    few: int  # values per row that may be brought together in one place

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @property
    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """The fields of `Capabilities` that parts of the model need to work with these rows."""

    @property
    @abstractmethod
    def summary(self) -> Summary:
        """What one pass over the rows tells."""

    @property
    def gaps(self) -> bool:
        """Whether values are missing."""
        return self.summary.gaps > 0

    @cached_property
    def origins(self) -> Array:
        """(m, d) where losses are computed from: the means of the tasks, or 0."""
        return self.summary.centers if self.centered else np.zeros_like(self.summary.sums)

    @abstractmethod
    def apply(self, job: Job, *values: PerRow, outputs: int = 0, lazy: bool = False) -> tuple[Any, ...]:
        """Run a job in every place: so many outputs per row, which stay there, and the sum of what the jobs add up.

        `lazy`: the job needs the rows alone, and its outputs may be computed when they are asked for.
        """

    @abstractmethod
    def take(self, positions: list[Array] | None) -> list[Block]:
        """Rows of each task in NumPy's memory: those at some positions among the rows with u > 0; None: all rows."""

    @abstractmethod
    def locate(self, positions: list[Array], V: Array) -> tuple[list[Array], list[Array]]:
        """For the rows at some positions of each task, their numbers in the user's order, and rows times V."""

    @abstractmethod
    def scatter(
        self, values: list[Array], positions: list[Array] | None = None, otherwise: PerRow | None = None
    ) -> PerRow:
        """Values for the rows of each task, where the rows live; those not at `positions` have `otherwise`'s."""

    @abstractmethod
    def split(self, values: Any, check: Any) -> PerRow:
        """An array with a value per row, in the user's order, checked and brought to where the rows live."""

    @abstractmethod
    def gather(self, values: PerRow, dtype: Any = None, width: int | None = None) -> Any:
        """Values per row as one array in the user's order; `width`: they have so many columns."""

    def small(self, values: Array) -> Any:
        """A small NumPy array in the library and the place of the user's arrays."""
        return values


# Top-level module of the user's arrays → module and class of the engine that works on them; all others are local.
ENGINES = {"dask": ("mtcluster.engines.dask", "DaskEngine"), "dask_expr": ("mtcluster.engines.dask", "DaskEngine")}


def engine_of(X: Any) -> Any:
    """The engine class for X, or for a dict or list of data sets; None: rows of this process.

    No array library is imported to know it.
    """
    items = list(X.values()) if isinstance(X, dict) else X if isinstance(X, list | tuple) else [X]
    kinds = {type(item).__module__.split(".")[0] for item in items}
    found = {ENGINES[kind] for kind in kinds if kind in ENGINES}
    if not items or not kinds <= set(ENGINES) or len(found) != 1:
        return None
    module, name = found.pop()
    return getattr(import_module(module), name)


def bring_here(value: Any) -> Any:
    """An array of any engine in NumPy's memory; what is no array stays as it is."""
    module = type(value).__module__.split(".")[0]
    if module in ENGINES:
        return import_module(ENGINES[module][0]).brought(value)
    return host(value) if hasattr(value, "__dlpack__") and module != "numpy" else value
