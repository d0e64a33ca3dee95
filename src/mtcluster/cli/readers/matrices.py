"""Matrices with named columns: task sets (.npz), Matrix Market, AnnData."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ...datasets import load_task_set
from .collection import Collection, InputError, Reading, columns_of, names_of, need, without


def read_npz(path: Path, how: Reading) -> Collection:
    """The rows of a task set."""
    asked = [f"--{name}" for name in ("task", "id", "label") if getattr(how, name) is not None]
    if asked:
        raise InputError(
            f"{path}: a task set says its tasks and classes itself and has no columns; leave {asked[0]} out."
        )
    tasks = load_task_set(path)
    d, n = tasks.X.shape[1], tasks.X.shape[0]
    names = list(tasks.feature_names) if len(tasks.feature_names) == d else [f"feature {j}" for j in range(d)]
    classes = None
    if np.any(tasks.y != -1):
        known = len(tasks.class_names) > int(tasks.y.max()) and tasks.y.min() >= 0
        classes = np.array(tasks.class_names)[tasks.y] if known else tasks.y.astype(str)
    ids = np.arange(1, n + 1).astype(str)
    part = Collection((path,), tasks.X, names, np.asarray(tasks.tasks, dtype=str).astype(object), ids, classes)
    return _picked(path, part, how)


def read_mtx(path: Path, how: Reading) -> Collection:
    """The rows of a Matrix Market file."""
    if how.task is not None or how.id is not None or how.label is not None:
        raise InputError(
            f"{path}: a Matrix Market file has no named columns for --task, --id or --label; give several files, one a "
            "task."
        )
    from scipy.io import mmread

    X = mmread(path)
    X = sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)
    if np.iscomplexobj(X):
        raise InputError(f"{path} holds complex numbers: real ones are needed.")
    X = X.astype(np.float64)
    names = [f"feature {j}" for j in range(X.shape[1])]
    return _picked(path, Collection((path,), X, names, None, np.arange(1, X.shape[0] + 1).astype(str)), how)


def read_h5ad(path: Path, how: Reading) -> Collection:
    """The cells of an AnnData file."""
    need("anndata", "anndata", f"{path}: reading AnnData")
    import anndata

    cells = anndata.read_h5ad(path)
    if cells.X is None:
        raise InputError(f"{path} has no X: the matrix of cells and genes is missing.")
    for option in ("task", "id", "label"):
        column = getattr(how, option)
        if column is not None and column not in cells.obs.columns:
            if option in how.optional:
                how = without(how, option)
                continue
            raise InputError(
                f"{path}: obs has no column {column!r} (--{option}); {columns_of(list(cells.obs.columns))}."
            )
    X = sparse.csr_matrix(cells.X) if sparse.issparse(cells.X) else np.asarray(cells.X)
    X = X.astype(np.result_type(X.dtype, np.float32), copy=False)
    read = {
        option: None
        if getattr(how, option) is None
        else names_of(path, cells.obs, getattr(how, option), None if option == "label" else "every cell needs one")
        for option in ("task", "id", "label")
    }
    ids = np.asarray(cells.obs_names, dtype=object) if read["id"] is None else read["id"]
    values: Any = X.data if sparse.issparse(X) else X.ravel()
    counts = values.size and values.max() > 1 and values.min() >= 0 and bool((values == np.round(values)).all())
    notes = (f"X of {path.name} holds whole numbers: if they are counts, normalise and take logarithms first.",)
    genes = [str(gene) for gene in cells.var_names]
    part = Collection((path,), X, genes, read["task"], ids, read["label"], notes=notes if counts else ())
    return _picked(path, part, how)


def _picked(path: Path, part: Collection, how: Reading) -> Collection:
    """The features that were asked for."""
    if how.text:
        raise InputError(f"{path} holds numbers, no column of texts: leave --text out.")
    if not how.features and not how.drop:
        return part
    index = {name: j for j, name in enumerate(part.names)}
    unknown = [name for name in (*how.features, *how.drop) if name not in index]
    if unknown:
        raise InputError(f"{path} has no feature {unknown[0]!r} (--features, --drop); {columns_of(part.names)}.")
    names = [name for name in (how.features or part.names) if name not in how.drop]
    if not names:
        raise InputError(f"{path} has no feature left to cluster by.")
    return replace(part, values=part.values[:, [index[name] for name in names]], names=names)
