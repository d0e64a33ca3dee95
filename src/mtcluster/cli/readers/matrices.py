"""Matrices with named features: task sets (.npz), Matrix Market and AnnData files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError, need
from .base import ROLES, ColumnRoles, Dataset, Reader, numbered, row_numbers
from .limits import default_limit
from .probing import probe


class TaskSetReader(Reader):
    """Reads task sets, which name the tasks and classes of their rows themselves."""

    has_columns = False

    def read(self, path: Path, roles: ColumnRoles) -> Dataset:
        """Read the rows of all tasks."""
        from ...datasets import load_task_set

        _refuse_columns(path, roles, "a task set names the tasks and classes of its rows itself")
        tasks = load_task_set(path)
        n, d = tasks.X.shape
        names = list(tasks.feature_names) if len(tasks.feature_names) == d else numbered(d)
        classes = None
        if np.any(tasks.y != -1):
            known = len(tasks.class_names) > int(tasks.y.max()) and tasks.y.min() >= 0
            classes = np.array(tasks.class_names)[tasks.y] if known else tasks.y.astype(str)
        labels = np.asarray(tasks.tasks, dtype=str).astype(object)
        return _selected(Dataset((path,), tasks.X, names, labels, row_numbers(n), classes), roles)


class MatrixMarketReader(Reader):
    """Reads Matrix Market files, each of which is one task."""

    has_columns = False
    one_task = "give several Matrix Market files, one per task"

    def read(self, path: Path, roles: ColumnRoles) -> Dataset:
        """Read a matrix, dense or sparse."""
        from scipy.io import mmread

        _refuse_columns(path, roles, "a Matrix Market file is one task, and its columns have no names")
        probe(path, roles.max_bytes or default_limit())
        X = mmread(path)
        if np.iscomplexobj(X):
            raise InputError(f"{path} holds complex numbers: real numbers are needed.")
        X = (sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)).astype(np.float64)
        return _selected(Dataset((path,), X, numbered(X.shape[1]), None, row_numbers(X.shape[0])), roles)


class AnnDataReader(Reader):
    """Reads AnnData files: rows are cells, and columns of obs have the roles of tasks, ids and classes."""

    names_rows = True
    one_task = "name a column of obs with --task, or give several files, one per task"

    def read(self, path: Path, roles: ColumnRoles) -> Dataset:
        """Read X, obs_names and var_names."""
        need("anndata", "anndata", f"{path}: reading AnnData")
        probe(path, roles.max_bytes or default_limit())
        import anndata

        cells = anndata.read_h5ad(path)
        if cells.X is None:
            raise InputError(f"{path} has no X, the matrix of cells and genes.")
        X = sparse.csr_matrix(cells.X) if sparse.issparse(cells.X) else np.asarray(cells.X)
        X = X.astype(np.result_type(X.dtype, np.float32), copy=False)
        source = f"{path}: obs"
        labels = roles.found_in(source, list(cells.obs.columns)).labels_of(cells.obs)
        ids = np.asarray(cells.obs_names, dtype=object) if labels["id"] is None else labels["id"]
        note = f"X of {path.name} holds whole numbers: if these are counts, normalise them and take logarithms first."
        genes = [str(gene) for gene in cells.var_names]
        data = Dataset((path,), X, genes, labels["task"], ids, labels["label"], notes=(note,) if _counts(X) else ())
        return _selected(data, roles)


def _refuse_columns(path: Path, roles: ColumnRoles, why: str) -> None:
    given = [role for role in ROLES if getattr(roles, role) is not None]
    if given:
        raise InputError(f"{path}: {why}; leave --{given[0]} out.")


def _counts(X: Any) -> bool:
    values = X.data if sparse.issparse(X) else X
    return bool(values.size and values.max() > 1 and values.min() >= 0 and (values % 1 == 0).all())


def _selected(data: Dataset, roles: ColumnRoles) -> Dataset:
    """Take the features that were asked for."""
    path = data.files[0]
    if roles.text:
        raise InputError(f"{path} holds numbers and no column of texts: leave --text out.")
    if not roles.features and not roles.drop:
        return data
    lacking = roles.lacking_in(str(path), data.names)
    index = {name: j for j, name in enumerate(data.names)}
    names = [name for name in (roles.features or data.names) if name in index and name not in roles.drop]
    if not names:
        raise InputError(f"{path} has no feature left to cluster by.")
    return replace(data, X=data.X[:, [index[name] for name in names]], names=names, lacking=lacking)
