"""Labels of all rows, written part by part where they are, and the model with values of a sample of the rows."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.fitted import RowResults
from ...core.record import declared
from ...estimators.publish import public
from ...inspection._labels import LabelDescription
from ..errors import InputError
from ..preparing import Prepared
from . import passes
from .pieces import Piece
from .preparing import Large, dataset_of, transformed
from .table import Pieces, Rules, read_rows, without_missing


@dataclass(frozen=True)
class How:
    """What all parts of the labels share."""

    rules: Rules
    tasks: list[str]
    n_clusters: int
    belonging: str  # the name of the column with the probability
    usual: dict[str, float]  # loss of each task; "" for others


def sample_of(large: Large, model: Any) -> tuple[Prepared, Any]:
    """Read the rows of the map of a model, and make the model with values of these rows alone, in NumPy's memory."""
    import dask

    from ...engines.dask import run

    ends, n = np.cumsum(large.table.used), large.table.n_rows
    fitted = model.fitted_
    at = np.asarray(fitted.rows.map_rows)
    parts = np.split(at, np.searchsorted(at, ends[:-1]))
    found = passes.sampled(large.table, [part - end for part, end in zip(parts, [0, *ends[:-1]], strict=True)])
    data = dataset_of(large.table, replace(found, X=without_missing(found, large.table.rules)))
    before = large.sample
    X = transformed(before.preprocessor, data).astype(before.X.dtype)
    rows = replace(before, data=data, X=X, tasks=np.asarray(data.tasks, dtype=str))
    some = replace(fitted.rows.take("n", at), map_rows=np.arange(len(at)), n_all=n)
    names = [one.name for one in declared(RowResults)]
    found = run(dask.compute, *(getattr(some, name) for name in names))
    kept = copy(model)
    vars(kept).update(public(kept, replace(fitted, rows=replace(some, **dict(zip(names, found, strict=True))))))
    return rows, kept


def description_of(large: Large, rows: Prepared, kept: Any, method: str, sizes: Array) -> Any:
    """Find what describes the clusters of each task: the model, or the rows of the sample if it knows one task."""
    if len(kept.tasks_) == len(large.table.tasks):
        return kept
    found = LabelDescription(method).fit(rows.X, kept.labels_, tasks=rows.tasks)
    fitted = found.fitted_
    counted = replace(fitted, sizes=sizes.astype(float), rows=replace(fitted.rows, n_all=large.table.n_rows))
    found.__dict__.update(public(found, counted))
    return found


def write_labels(folder: Path, table: Pieces, values: tuple[Any, ...], how: How) -> Array:
    """Write the labels of all rows, one file for each piece, and count the rows (m, c + 2) of each cluster.

    `values` are Dask arrays of labels, of probabilities (n, c) or None, of losses, and of which rows have no value at
    all. The last two columns count rows that no cluster explains, and rows without any value.
    """
    import dask
    from dask import delayed

    from ...engines.dask import blocks_of, run

    paths = [folder.absolute() / f"part-{j:05d}.parquet" for j in range(len(table.pieces))]
    chunks = [[None] * len(paths) if value is None else blocks_of(value) for value in values]
    shared, jobs = (
        delayed(how, traverse=False, pure=False),
        zip(table.pieces, table.firsts, paths, *chunks, strict=True),
    )
    [counts] = run(
        dask.compute,
        [delayed(write_part)(shared, piece, first, path, *own) for piece, first, path, *own in jobs],
    )
    if not all(path.exists() for path in paths):
        raise InputError(
            "The workers wrote labels that this machine does not see: --out must be on a file system that they share."
        )
    return np.sum(counts, axis=0)


def write_part(
    how: How,
    piece: Piece,
    first: int,
    path: Path,
    labels: Array,
    belonging: Array | None,
    losses: Array | None,
    empty: Array,
) -> Array:
    """Write the labels of the rows of a piece."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = how.rules.names[:1] if how.rules.roles.task is None else []
    rows = read_rows(piece, how.rules, names, ("id",))
    if len(rows.tasks) != len(labels):
        raise InputError(f"{piece.path} was changed while it was read; fit again.")
    some, at = labels >= 0, np.arange(len(labels))
    codes = np.searchsorted(how.tasks, rows.tasks)
    columns: dict[str, Any] = {
        "id": first + rows.at + 1 if rows.ids is None else pa.array(rows.ids, pa.string()),
        "task": pa.DictionaryArray.from_arrays(codes.astype(np.int32), how.tasks),
        "cluster": labels.astype(np.int32),
    }
    if belonging is not None:
        columns[how.belonging] = np.where(some, belonging[at, np.maximum(labels, 0)], np.nan).astype(np.float32)
    if losses is not None:
        usual = np.array([how.usual.get(task, how.usual[""]) for task in how.tasks])[codes]
        scores = np.divide(losses, usual, out=np.ones(len(losses)), where=usual > 0)
        columns["outlier_score"] = np.where(empty, np.nan, scores).astype(np.float32)
    pq.write_table(pa.table(columns), path)
    own = np.where(empty, how.n_clusters + 1, np.where(some, labels, how.n_clusters))
    m, c = len(how.tasks), how.n_clusters + 2
    return np.bincount(codes * c + own, minlength=m * c).reshape(m, c)


def without_values(X: Any) -> Any:
    """Find which rows (n,) of a Dask array have no value at all."""
    return X.map_blocks(empty_rows, drop_axis=1, dtype=bool, chunks=(X.chunks[0],))


def empty_rows(X: Array) -> Array:
    """Find which rows of a chunk have no value at all."""
    return np.asarray(np.isnan(X).all(axis=1))


def belonging_name(model: Any) -> str:
    """Find the word for the probabilities of a model."""
    return "probability" if model.fitted_.model.membership.diagonal else "membership"
