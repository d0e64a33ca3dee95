"""Task sets in `.npz` files."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ._task_set import Array, TaskSet

LAST_CHARACTER = 0x10FFFF  # of Unicode


def load_task_set(name_or_path: str | os.PathLike[str], data_home: str | os.PathLike[str] | None = None) -> TaskSet:
    """Read a task set from an `.npz` file.

    Its arrays are either `taskK_X` (dense) or the CSR parts `taskK_data`, `taskK_indices`, `taskK_indptr`,
    `taskK_shape`, for K = 1, 2, …; optionally `taskK_y`, `task_names`, `class_names`, `vocabulary`. Nothing is
    unpickled.

    Parameters
    ----------
    name_or_path : str or path
        A path that ends in `.npz`, or the name of a file in the data folder, without its extension.
    data_home : str or path, optional
        The data folder. None: the folder named by the environment variable `MTCLUSTER_DATA`.

    Returns
    -------
    task_set : TaskSet
        Rows task by task; `tasks` holds the names of the tasks.
    """
    path = Path(name_or_path)
    if path.suffix != ".npz" or (data_home is not None and not path.is_file()):
        folder = data_home if data_home is not None else os.environ.get("MTCLUSTER_DATA")
        if not folder:
            raise FileNotFoundError(
                f"There is no file {str(name_or_path)!r}, and no data folder is named: give its path, or the folder as "
                "data_home or in the environment variable MTCLUSTER_DATA."
            )
        home = Path(folder)
        path = home / path.with_suffix(".npz")
        if not path.is_file():
            there = ", ".join(sorted(p.stem for p in home.glob("*.npz"))) or "no task set at all"
            raise FileNotFoundError(
                f"There is no task set {str(name_or_path)!r} in {home}, which holds {there}. "
                "Another folder can be given as data_home or in MTCLUSTER_DATA."
            )
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as an .npz file without pickled objects: {error}") from error
    _check_texts(arrays, path)
    return _assemble(arrays, path)


def _check_texts(arrays: dict[str, Array], path: Path) -> None:
    """NumPy takes any numbers for characters, and other libraries may crash on those that do not exist."""
    for key, array in arrays.items():
        if array.dtype.kind == "U" and array.size:
            codes = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("=")).view(np.uint32)
            if codes.max(initial=0) > LAST_CHARACTER:
                raise ValueError(f"{path} is damaged: {key} holds characters that do not exist.")


def _assemble(arrays: dict[str, Array], path: Path) -> TaskSet:
    m = len({key.split("_")[0] for key in arrays if re.fullmatch(r"task\d+_(X|data|y)", key)})
    if m == 0:
        raise ValueError(
            f"{path} is not a task set: it needs arrays task1_X, task2_X, … or the parts of sparse ones; "
            f"its arrays are {', '.join(sorted(arrays)) or 'none'}."
        )
    Xs = [_matrix(arrays, k, path) for k in range(1, m + 1)]
    ys = [arrays.get(f"task{k}_y", np.full(X.shape[0], -1)) for k, X in enumerate(Xs, start=1)]
    for k, (X, y) in enumerate(zip(Xs, ys, strict=True), start=1):
        if y.shape != (X.shape[0],) or X.shape[1] != Xs[0].shape[1]:
            raise ValueError(
                f"{path} is damaged: task {k} has rows of shape {X.shape} and classes of shape {y.shape}, "
                f"and task 1 has {Xs[0].shape[1]} features."
            )
        if sparse.issparse(X) and np.isnan(X.data).any():
            raise ValueError(f"{path} is damaged: task {k} is sparse and holds NaN; only dense rows can have gaps.")
        if np.isinf(X.data if sparse.issparse(X) else X).any():
            raise ValueError(f"{path} is damaged: task {k} holds infinity.")
    names = (
        [str(name) for name in arrays["task_names"]] if "task_names" in arrays else [str(k) for k in range(1, m + 1)]
    )
    if len(set(names)) != m:
        raise ValueError(f"{path} is damaged: it has {m} tasks and the task_names {names}.")
    return TaskSet(
        sparse.vstack(Xs, format="csr") if sparse.issparse(Xs[0]) else np.concatenate(Xs),
        np.concatenate(ys),
        np.repeat(names, [len(y) for y in ys]),
        path.stem,
        [str(name) for name in arrays.get("class_names", ())],
        [str(name) for name in arrays.get("vocabulary", ())],
    )


def _matrix(arrays: dict[str, Array], k: int, path: Path) -> Any:
    parts = [f"task{k}_{part}" for part in ("data", "indices", "indptr", "shape")]
    if f"task{k}_X" in arrays:
        X = np.asarray(arrays[f"task{k}_X"])
        if X.ndim != 2:
            raise ValueError(f"{path} is damaged: task{k}_X has shape {X.shape}, two dimensions are needed.")
        return X.astype(np.result_type(X, np.float32), copy=False)
    missing = [part for part in parts if part not in arrays]
    if missing:
        raise ValueError(f"{path} is not a task set: it has neither task{k}_X nor {', '.join(missing)}.")
    data, indices, indptr, shape = (arrays[part] for part in parts)
    try:
        X = sparse.csr_matrix((data.astype(np.result_type(data, np.float32)), indices, indptr), shape=tuple(shape))
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path} is damaged: the CSR parts of task {k} do not fit together ({error}).") from error
    return X
