"""Partitions of Dask data frames, and what is wrong with one that is not as its frame says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dask
from dask.delayed import Delayed, delayed

from . import dask_worker as worker
from .dask_cluster import run
from .dask_names import sound

SELECTIONS = ("Projection", "Drop")  # Dask's names for steps that take some columns of a frame
DELAYED = "FromDelayed"  # and for the one that makes a frame of partitions that were given


def partitions(frame: Any) -> list[Any]:
    """The partitions of a data frame, or of a column, as they are read: there may be others before."""
    parts = frame.to_delayed()
    graph = sound(parts[0].dask)  # that of all
    return [Delayed(part.key, graph, layer=part.__dask_layers__()[0]) for part in parts]


def sizes_of(parts: list[Any], frame: Any, name: str) -> list[int]:
    """The number of rows of each partition.

    Raises
    ------
    ValueError
        If columns of a partition are taken that it lacks, in words that name it.
    """
    try:
        [sizes] = run(dask.compute, [delayed(len)(part) for part in parts])
    except (KeyError, ValueError) as error:
        if wrong := _found(frame, name):
            raise wrong from error
        raise
    return list(sizes)


def columns_of(frame: Any) -> list[Any]:
    """The names of the columns of a data frame, or the name of one column."""
    return [frame.name] if frame.ndim == 1 else list(frame.columns)


def _found(frame: Any, name: str) -> worker.PartitionError | None:
    """What is wrong with a partition that some columns are taken of; None: nothing, as far as it can be read."""
    for parts, columns in _sources(frame):
        places = (f"partition {i} of {name}" for i in range(len(parts)))
        try:
            run(dask.compute, [delayed(worker.check_columns)(*one, columns) for one in zip(parts, places, strict=True)])
        except worker.PartitionError as error:
            return error
        except Exception:  # what came before is told
            continue
    return None


def _sources(frame: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """Partitions from which columns are taken, and these columns, for all steps that do so."""
    from dask.dataframe.dask_expr._collection import new_collection

    for step in frame.expr.walk():
        kind = type(step).__name__
        if kind in SELECTIONS:
            yield partitions(new_collection(step.frame)), list(step.columns)
        elif kind == DELAYED and step.verify_meta:  # Dask compares them, and does not say which is another
            yield list(step.delayed_container.operands), list(step.columns)
