"""Labels judged by the rows alone: how well one set of clusters, shared by all tasks, describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.utils.validation import column_or_1d

from ..core.arrays import Array, has_gaps, host
from ..estimators.input import read_tasks

SHIFT_PRICE = 0.5  # of the share of the spread that shifts take, on the scale of a log-likelihood
MANY_FEATURES, JUDGED_DIRECTIONS = 50, 20  # above the first, rows are judged in that many principal directions
FLOOR = 1e-3  # of the spread of a direction: a smaller rest does not count


@dataclass(frozen=True)
class Judgement:
    """How well shared clusters describe the rows of several tasks.

    The description of a row is b_k + z_j: the centre of its cluster, shared by all tasks, and a shift of its task as a
    whole. Tasks may hold different clusters: only where their rows lie counts. Where shifts and clusters cannot be told
    apart, the smallest shifts are taken.

    Attributes
    ----------
    explained : float
        Share of the spread within tasks that the description explains. It is low if clusters are merely the tasks, or
        if clusters with the same number do not correspond.
    correspondence : float
        What the description explains, relative to what the means of the clusters in each task explain: 1 if each
        cluster is the same in all tasks that hold it, up to the shifts.
    shift : float
        Share of the spread of all rows that the shifts take.
    cost : float
        log|T⁻¹R| / d + 0.5 · tr(T⁻¹E) / d, for the scatter T of all rows, R of what the description leaves and E of the
        shifts, in d dimensions. Of several clusterings of the same rows with the same number of clusters, the one of
        lowest cost describes them best. It does not depend on the scale of features, and takes account of clusters that
        are long in some directions. Shifts have a price, since tasks that hold different clusters can always be moved
        onto each other.
    """

    explained: float
    correspondence: float
    shift: float
    cost: float


def judge_labels(X: Any, labels: Any, *, tasks: Any = None) -> Judgement:
    """Judge a clustering of several tasks by the rows alone.

    Rows of more than 50 features are judged in their 20 leading principal directions. Missing values take the mean of
    their task, and rows with the label -1 are left out.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
        Rows of all tasks, or one item per task.
    labels : array of shape (n,)
        Cluster of each row.
    tasks : sequence of n hashable labels or str, optional
        Task of each row of X, in any order, or the name of the column of a data frame X that holds it.
        None: one task.

    Returns
    -------
    judgement : Judgement
        How well shared clusters describe the rows.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from mtcluster import Pooled
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.inspection import judge_labels
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, offset=2, random_state=0)  # tasks lie apart
    >>> kmeans = KMeans(4, n_init=10, random_state=0)
    >>> pooled = judge_labels(X, Pooled(kmeans).fit(X, tasks=tasks).labels_, tasks=tasks)
    >>> centered = judge_labels(X, Pooled(kmeans, center=True).fit(X, tasks=tasks).labels_, tasks=tasks)
    >>> bool(centered.cost < pooled.cost)
    True
    """
    data = read_tasks(BaseEstimator(), X, tasks, reset=True, missing=True)
    values = column_or_1d(host(labels))
    if len(values) != data.n:
        raise ValueError(f"labels has {len(values)} entries, but X has {data.n} rows: one label per row is needed.")
    of_task = data.join([np.full(size, k) for k, size in enumerate(data.sizes)])
    rows, some = data.stack(), values != -1
    if not some.any():
        raise ValueError("labels are all -1: there is no cluster to judge.")
    if not some.all():
        rows, values, (_, of_task) = rows[some], values[some], np.unique(of_task[some], return_inverse=True)
    _, codes = np.unique(values, return_inverse=True)
    return _judged(_coordinates(_filled(rows, of_task)), codes, of_task)


def _filled(X: Any, tasks: Array) -> Any:
    """Fill missing values of rows with the mean of their task, or of all tasks where it has none."""
    if sparse.issparse(X) or not has_gaps(host(X)):
        return X
    X = np.array(host(X), dtype=np.float64)
    gaps = np.isnan(X)
    means = [np.where(gaps, 0, X).sum(axis=0) / np.maximum((~gaps).sum(axis=0), 1)]
    for k in range(int(tasks.max()) + 1):
        seen, own = (~gaps & (tasks == k)[:, None]).sum(axis=0), np.where(gaps, 0, X)[tasks == k].sum(axis=0)
        means.append(np.where(seen > 0, own / np.maximum(seen, 1), means[0]))
    return np.where(gaps, np.stack(means[1:])[tasks], X)


def _coordinates(X: Any) -> Array:
    """Make of rows a dense array around 0, in few dimensions."""
    if sparse.issparse(X):
        wide = min(X.shape) > JUDGED_DIRECTIONS
        Z = TruncatedSVD(JUDGED_DIRECTIONS, random_state=0).fit_transform(X) if wide else X.toarray()
    else:
        Z = host(X)
        if Z.shape[1] > MANY_FEATURES and len(Z) > JUDGED_DIRECTIONS:
            Z = PCA(JUDGED_DIRECTIONS, random_state=0).fit_transform(Z)
    Z = Z.astype(np.float64)
    return Z - Z.mean(axis=0)


def _judged(Z: Array, labels: Array, tasks: Array) -> Judgement:
    m, c, n = int(tasks.max()) + 1, int(labels.max()) + 1, len(Z)
    pairs = sparse.csr_matrix((np.ones(n), (tasks * c + labels, np.arange(n))), shape=(m * c, n))
    S, N = (pairs @ Z).reshape(m, c, -1), np.asarray(pairs.sum(axis=1)).reshape(m, c)
    b, z = _additive(S, N)
    shifts, rest = b[tasks], Z - b[tasks] - z[labels]
    own = (S / np.maximum(N, 1)[:, :, None])[tasks, labels]
    means = (S.sum(axis=1) / N.sum(axis=1)[:, None])[tasks]
    total, within, left, least = (float(np.sum(part**2)) for part in (Z, Z - means, rest, Z - own))
    tiny = np.finfo(np.float64).eps * max(total, 1.0)
    return Judgement(
        explained=1 - left / within if within > tiny else 1.0,
        correspondence=(within - left) / (within - least) if within - least > tiny else 1.0,
        shift=float(np.sum(shifts**2)) / total if total > tiny else 0.0,
        cost=_cost(Z, rest, shifts),
    )


def _cost(Z: Array, rest: Array, shifts: Array) -> float:
    """Tell what is left of the spread in each direction, as a mean of logarithms, and the price of the shifts."""
    widths = Z.std(axis=0)
    moving = widths > np.finfo(np.float64).eps * np.abs(Z).max(initial=1)
    U = Z[:, moving] / widths[moving]
    values, vectors = np.linalg.eigh(U.T @ U / len(U))
    kept = values > 1e-9 * values.max(initial=1)
    d = int(kept.sum())
    if not d:
        return 0.0
    whiten = vectors[:, kept] / np.sqrt(values[kept]) / widths[moving][:, None]
    R, E = (part[:, moving] @ whiten for part in (rest, shifts))
    logs = np.linalg.slogdet(R.T @ R / len(Z) + FLOOR * np.eye(d))[1] / d - np.log1p(FLOOR)
    return float(logs + SHIFT_PRICE * np.sum(E**2) / len(Z) / d)


def _additive(S: Array, N: Array) -> tuple[Array, Array]:
    """Least squares for x ≈ b_k + z_j, with the smallest Σ n_k ‖b_k‖² where that leaves a choice."""
    n_tasks, n_clusters = N.sum(axis=1), N.sum(axis=0)
    shares = N / np.maximum(n_clusters, 1)
    A = np.diag(n_tasks) - shares @ N.T  # z_j eliminated
    right = S.sum(axis=1) - shares @ S.sum(axis=0)
    root = np.sqrt(n_tasks)
    b = np.linalg.pinv(A / np.outer(root, root), rcond=1e-9, hermitian=True) @ (right / root[:, None]) / root[:, None]
    z = (S.sum(axis=0) - N.T @ b) / np.maximum(n_clusters, 1)[:, None]
    return b, z
