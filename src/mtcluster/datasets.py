"""Task sets: generated, embedded in scikit-learn, or read from a data folder."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse
from sklearn.datasets import load_digits
from sklearn.utils import check_random_state

Array = NDArray[Any]

__all__ = ["TaskSet", "load_digits_tasks", "load_task_set", "make_multitask_blobs"]


@dataclass(frozen=True)
class TaskSet:
    """Rows of several tasks; `X, y, tasks = task_set` unpacks it.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
        All rows.
    y : array of shape (n,)
        Known classes, for scoring only; −1 for outliers and where they are not known.
    tasks : array of shape (n,)
        The task of each row.
    name : str
        Name of the set.
    class_names, feature_names : list of str
        Names, where they are known.
    """

    X: Any
    y: Array
    tasks: Array
    name: str = ""
    class_names: list[str] = field(default_factory=list)
    feature_names: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.tasks))

    @property
    def n_classes(self) -> int:
        """Number of classes, outliers excluded."""
        return len(np.unique(self.y[self.y >= 0]))


def make_multitask_blobs(
    n_samples: int | Sequence[int] = 100,
    n_features: int = 10,
    *,
    n_tasks: int = 3,
    n_clusters: int = 4,
    cluster_std: float = 1.0,
    separation: float = 6.0,
    task_shift: float = 1.0,
    balance: float = 1.0,
    outliers: float = 0.0,
    random_state: Any = None,
) -> TaskSet:
    """Gaussian clusters that several tasks share.

    Parameters
    ----------
    n_samples : int or sequence of n_tasks ints, default=100
        Number of rows of each task.
    n_features : int, default=10
        Number of features.
    n_tasks, n_clusters : int, default=3 and 4
        Numbers of tasks and of clusters.
    cluster_std : float, default=1.0
        Standard deviation of a cluster in each feature: the overlap, together with `separation`.
    separation : float, default=6.0
        Typical distance between two shared centres.
    task_shift : float, default=1.0
        Typical distance of a task's centre from the shared one, drawn independently for each cluster.
    balance : float in (0, 1], default=1.0
        Size of each cluster relative to the previous one; the order differs between tasks. 1: equal sizes.
    outliers : float in [0, 1), default=0.0
        Share of rows that are replaced by rows far from all clusters; their y is −1.
    random_state : int, RandomState or None, default=None
        Determines random number generation. Pass an int for reproducible results.

    Returns
    -------
    task_set : TaskSet
        Rows in random order, tasks interleaved.

    Examples
    --------
    >>> X, y, tasks = make_multitask_blobs(n_samples=[50, 80], n_tasks=2, random_state=0)
    >>> X.shape
    (130, 10)
    """
    if n_features < 1 or n_tasks < 1 or min(cluster_std, separation, task_shift) < 0:
        raise ValueError(
            f"n_features={n_features} and n_tasks={n_tasks} should be at least 1, and cluster_std={cluster_std}, "
            f"separation={separation}, task_shift={task_shift} not negative."
        )
    sizes: list[Any] = [n_samples] * n_tasks if isinstance(n_samples, Real) else list(n_samples)  # type: ignore[arg-type]
    if len(sizes) != n_tasks:
        raise ValueError(f"n_samples has {len(sizes)} entries, but n_tasks={n_tasks}: one per task is needed.")
    if any(size != int(size) for size in sizes) or min(sizes, default=0) < n_clusters or n_clusters < 1:
        raise ValueError(
            f"n_samples={sizes} should be whole and at least n_clusters={n_clusters}, and that at least 1."
        )
    if not 0 < balance <= 1 or not 0 <= outliers < 1:
        raise ValueError(f"balance={balance} should be in (0, 1] and outliers={outliers} in [0, 1).")
    rng = check_random_state(random_state)
    shared = rng.normal(scale=separation / np.sqrt(2 * n_features), size=(n_clusters, n_features))
    Xs, ys = [], []
    for size in sizes:
        centers = shared + rng.normal(scale=task_shift / np.sqrt(n_features), size=shared.shape)
        shares = rng.permutation(balance ** np.arange(n_clusters))
        y = np.concatenate(
            [np.arange(n_clusters), rng.choice(n_clusters, size=size - n_clusters, p=shares / shares.sum())]
        )
        X = centers[y] + rng.normal(scale=cluster_std, size=(size, n_features))
        strange = rng.permutation(size)[: int(outliers * size)]
        direction = rng.normal(size=(len(strange), n_features))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        X[strange] = centers.mean(axis=0) + direction * (3 * separation + 3 * cluster_std * np.sqrt(n_features))
        y[strange] = -1
        Xs.append(X)
        ys.append(y)
    order = rng.permutation(sum(sizes))
    tasks = np.repeat(np.arange(n_tasks), sizes)
    return TaskSet(np.concatenate(Xs)[order], np.concatenate(ys)[order], tasks[order], "blobs")


def load_digits_tasks(slant: float = 0.15) -> TaskSet:
    """scikit-learn's handwritten digits as three related tasks, each with its own rows.

    The images are distributed over three "scanners": one leaves them as they are, one blurs and one slants them. The
    digits are the same, the pixels differ.

    Parameters
    ----------
    slant : float, default=0.15
        Columns by which the third scanner moves a line of pixels for each line from the centre. The larger, the less
        the tasks have in common.

    Returns
    -------
    task_set : TaskSet
        1797 rows, 64 pixels between 0 and 1, 10 classes, tasks "plain", "blurred" and "slanted".

    Examples
    --------
    >>> X, y, tasks = load_digits_tasks()
    >>> X.shape, sorted(set(tasks.tolist()))
    ((1797, 64), ['blurred', 'plain', 'slanted'])
    """
    digits = load_digits()
    images = digits.images / 16
    scanner = np.arange(len(images)) % 3
    names = np.array(["plain", "blurred", "slanted"])
    shear = np.array([[1.0, 0.0], [slant, 1.0]])  # columns move with the row, about the centre of the image
    offset = np.array([3.5, 3.5]) - shear @ np.array([3.5, 3.5])
    changes = {
        1: lambda image: ndimage.gaussian_filter(image, 0.8),
        2: lambda image: ndimage.affine_transform(image, shear, offset=offset, order=1),
    }
    X = np.stack(
        [changes[s](image) if s in changes else image for s, image in zip(scanner.tolist(), images, strict=True)]
    )
    return TaskSet(
        X.reshape(len(X), -1), digits.target, names[scanner], "digits",
        [str(name) for name in digits.target_names], [str(name) for name in digits.feature_names],
    )  # fmt: skip


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
    return _assemble(arrays, path)


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
        if not np.isfinite(X.data if sparse.issparse(X) else X).all():
            raise ValueError(f"{path} is damaged: task {k} holds NaN or infinity.")
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
