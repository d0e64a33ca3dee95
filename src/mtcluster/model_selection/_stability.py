"""How stable the clusters of a fitted model are, next to data without clusters."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..certainty import Cold, fitted_cold, judge, reference_value
from ..certainty.agreement import agreement
from ..certainty.cold import Refit
from ..certainty.counting import spread_out
from ..certainty.gaps import gaps
from ..certainty.reference import elliptical
from ..core.arrays import Array, host, rows_at
from ..core.blocks import Block
from ..core.gaps import empty_rows
from ..core.projecting import task_indices
from ..core.sampling import Sampling, take_sample
from ..engines import Engine
from ..estimators import SPMTC
from ..estimators.input import open_rows
from ..estimators.plan import Asked, metric_of
from ..estimators.progress import bar
from ..search.mixtures import FRAMES, place
from ..search.view import View, view_of
from ._stability_result import Stability, table_of

__all__ = ["Stability", "stability"]

REFERENCES = 3  # data sets without clusters
SAMPLED, TASK_SAMPLED = 10_000, 100  # rows that are fitted again, where there are more


def stability(
    model: Any, X: Any, *, tasks: Any = None, n_refits: int = 4, random_state: Any = None, verbose: int = 0
) -> Stability:
    """Measure how sure one can be of the clusters of a fitted model.

    The model is fitted again as a user would: from nothing, to halves of the rows of each task, and to all rows with
    other seeds. Each refit labels all rows by `predict`, and clusters are matched. The same is done with data without
    clusters: one elliptical distribution per task, with its mean and covariance, uniform directions, and Mahalanobis
    radii drawn from the data. Of more than 10,000 rows a sample is taken.

    Parameters
    ----------
    model : estimator
        Fitted on X and tasks; it is not changed.
    X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
        The rows that it was fitted on.
    tasks : sequence of n hashable labels or str, optional
        The task of each row of X, in any order, or the name of the column of a data frame X that holds it.
        None: one task.
    n_refits : int, default=4
        Number of refits to halves, at least 2; half as many are made with other seeds.
    random_state : int, RandomState or None, default=None
        Determines random number generation. Pass an int for reproducible results.
    verbose : int, default=0
        1: a progress bar on standard error.

    Returns
    -------
    stability : Stability
        The verdict, and the numbers behind it; `print` shows it, `stability.plot()` draws it.

    See Also
    --------
    select_n_clusters : The number of clusters.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.model_selection import stability
    >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, separation=20, random_state=0)
    >>> model = SPMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks)
    >>> stability(model, X, tasks=tasks, random_state=0).verdict
    'clear'
    """
    check_is_fitted(model)
    if not has_fit_parameter(model, "tasks"):
        raise TypeError(
            f"model is {type(model).__name__}, which takes no tasks: use an estimator of mtcluster, such as "
            f"Pooled({type(model).__name__}(...))."
        )
    if not isinstance(n_refits, Integral) or n_refits < 2:
        raise ValueError(f"n_refits={n_refits!r} should be a whole number of at least 2: halves come in pairs.")
    if getattr(model, "matching_", None):
        raise ValueError(
            "model was fitted to data sets without a common column (match='geometry'), whose rows cannot be compared: "
            "fit and measure those that common columns link on their own; `matching_` tells how sure the matching is."
        )
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    labels = np.asarray(host(model.labels_)).astype(int)
    reader = SPMTC()
    with (
        open_rows(reader, X, tasks, reset=True, sample_weight=None, centered=True) as engine,
        bar(n_refits + REFERENCES + 1, "fitting again", verbose) as step,
    ):
        sample = _Sample.of(model, engine, labels, seed)
        c = n_numbers(model, labels)
        view = _view(engine, sample, c, seed)
        refit = _refit_of(model, sample.Xs, sample.names)
        reference = []
        for b in range(REFERENCES if c > 1 else 0):
            reference.append(_reference(model, view, sample, seed + b))
            step()
        cold = fitted_cold(
            sample.labels, sample.codes, refit, n_refits, max(n_refits // 2, 1), seed,
            lambda z, seen, c: _gaps(view, model, z, seen, c, seed), np.array(reference), step,
        )  # fmt: skip
        moved = _location_share(model, sample, seed)
        step()
    return _result(model, cold, sample, labels, moved, n_refits)


@dataclass(frozen=True)
class _Sample:
    """Rows that are fitted again, task by task."""

    names: list[Any]  # of the tasks
    blocks: list[Block]
    positions: list[Array]  # among the rows that count, of each task
    labels: Array  # (n,) by the model
    codes: Array  # (n,) the index of the task
    rows: Array  # (n,) their numbers in the user's order

    @classmethod
    def of(cls, model: Any, engine: Engine, labels: Array, seed: int) -> _Sample:
        """Take them; of a few rows all."""
        if sum(engine.sizes) != len(labels):
            raise ValueError(
                f"X has {sum(engine.sizes)} rows, but model was fitted on {len(labels)}: X of its fit is needed."
            )
        if engine.n_features != model.n_features_in_:
            raise ValueError(
                f"X has {engine.n_features} features, but model was fitted on {model.n_features_in_}: X of its fit is "
                "needed."
            )
        names, known = engine.labels.tolist(), host(model.tasks_).tolist()
        if known != names and not getattr(model, "_pools_tasks", False):
            raise ValueError(f"tasks holds {names}, but model was fitted on {known}: tasks of its fit are needed.")
        codes = np.asarray(host(engine.gather(engine.apply(task_indices, outputs=1, lazy=True)[0], np.intp)))
        codes = np.where(rows_without_values(engine), -1, codes)
        blocks, positions = take_sample(engine, Sampling(SAMPLED, TASK_SAMPLED), np.random.default_rng(seed))
        rows = [np.flatnonzero(codes == k)[at] for k, at in enumerate(positions)]
        whole = np.concatenate(rows)
        return cls(names, blocks, positions, labels[whole], codes[whole], whole)

    @property
    def Xs(self) -> list[Any]:  # noqa: N802
        """The rows of each task, with NaN where values are missing."""
        return [rows_at(block.X, slice(0, len(block))) for block in self.blocks]


def rows_without_values(engine: Engine) -> Array:
    """Find rows (n,) that have no value at all: nothing can be said of them."""
    if not engine.gaps:
        return np.zeros(sum(engine.sizes), dtype=bool)
    return np.asarray(host(engine.gather(engine.apply(empty_rows, outputs=1, lazy=True)[0], bool)))


def _seeded(model: Any, seed: int, **others: Any) -> Any:
    """Return an unfitted copy of a model with another seed, for as many clusters."""
    found = clone(model)
    names = found.get_params()
    found.set_params(**{name: seed for name in names if name.split("__")[-1] == "random_state"})
    if "n_clusters" in names and hasattr(model, "n_clusters_"):
        others["n_clusters"] = int(model.n_clusters_)
    return found.set_params(**{name: value for name, value in others.items() if name in names})


def _refit_of(model: Any, Xs: list[Any], names: list[Any], **others: Any) -> Refit:
    """Return what fits the model again to rows at some positions of each task, and labels all rows."""
    whole, codes = _stacked(Xs), np.repeat(np.arange(len(Xs)), [X.shape[0] for X in Xs])
    every = np.array(names, dtype=object)[codes]
    starts = np.cumsum([0, *(X.shape[0] for X in Xs[:-1])])

    def refit(at: list[Array] | None, seed: int) -> Array:
        again = _seeded(model, seed, **others)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if at is None:
                return np.asarray(again.fit(whole, tasks=every).labels_).astype(int)
            rows = np.concatenate([start + own for start, own in zip(starts, at, strict=True)])
            if "n_clusters" in again.get_params():
                again.set_params(n_clusters=max(min(again.n_clusters, len(rows)), 1))
            again.fit(whole[rows], tasks=every[rows])
            rest = np.setdiff1d(np.arange(len(every)), rows)
            found = np.empty(len(every), dtype=int)
            found[rows] = again.labels_
            if hasattr(again, "predict"):
                found[rest] = again.predict(whole[rest], tasks=every[rest])
            else:  # the nearest row that was fitted tells
                near = NearestNeighbors(n_neighbors=1).fit(whole[rows])
                found[rest] = found[rows][near.kneighbors(whole[rest], return_distance=False)[:, 0]]
            return found

    return refit


def _stacked(Xs: list[Any]) -> Any:
    return sparse.vstack(Xs).tocsr() if sparse.issparse(Xs[0]) else np.concatenate([np.asarray(X) for X in Xs])


def _view(engine: Engine, sample: _Sample, c: int, seed: int) -> View:
    """Return the sample as a search sees it."""
    asked = Asked("SPMTC", max(c, 1), within_weight="auto", task_offset="auto", metric="auto")
    round_ = metric_of(asked, engine)[0] == "euclidean"
    return view_of(engine, sample.blocks, sample.positions, max(c, 1), "none", round_, seed)


def _reference(model: Any, view: View, sample: _Sample, seed: int) -> float:
    """Fit the model to data of the same shape without clusters, and tell how stable that is."""
    rng, seen = np.random.default_rng([seed, 3]), view.seen
    drawn = [elliptical(seen.Y[part], seen.u[part], rng)[0] for part in seen.parts]
    if view.directional:
        drawn = [Y / np.maximum(np.linalg.norm(Y, axis=1, keepdims=True), np.finfo(float).tiny) for Y in drawn]
    others = {"metric": "euclidean"} if view.round and not view.directional else {}
    return reference_value(sample.codes, _refit_of(model, drawn, sample.names, **others), seed)


def _gaps(view: View, model: Any, labels: Array, seen: Array, c: int, seed: int) -> Array:
    """Measure the gaps between clusters where tasks lie as the model has it; rounded values are spread out."""
    made = getattr(model, "decisions_", None)
    rows = view.seen.scaled if made is not None and made.search is not None and made.search.scaled else view.seen
    Y = spread_out(view, rows, c, seed)
    if len(rows.sizes) > 1 and (made is None or made.task_offset != "none"):
        N, T = rows.sums(np.maximum(labels, 0), c)
        Y = Y - place(N[None], T[None], FRAMES["offsets"])[1][0][rows.ids]
    return gaps(Y[seen], labels[seen], Y[~seen], labels[~seen], c)


def _location_share(model: Any, sample: _Sample, seed: int) -> float | None:
    """Share of the rows that change their cluster if the location of tasks is treated the other way."""
    made = getattr(model, "decisions_", None)
    if (
        made is None
        or made.task_offset not in ("none", "matched")
        or made.task_offset_reason not in ("evidence", "set")
    ):
        return None
    other = "matched" if made.task_offset == "none" else "none"
    found = _refit_of(model, sample.Xs, sample.names, task_offset=other)(None, seed)
    return float(1 - agreement(sample.labels, found[None], sample.codes).kept.mean())


def _result(model: Any, cold: Cold, sample: _Sample, labels: Array, moved: float | None, n_refits: int) -> Stability:
    """Gather the numbers, the verdict, and the table; clusters without rows and −1 are left out."""
    c = n_numbers(model, labels)
    fitted = getattr(model, "fitted_", None)
    alone = fitted is not None and not getattr(model, "_pools_tasks", False) and not bool(np.all(fitted.shares))
    between = np.full((c, c), np.nan)
    some = len(cold.between)
    between[:some, :some] = cold.between
    verdict = judge(cold.overall, cold.within, cold.reference, between, moved, alone)
    shift = int(sample.labels.min(initial=0) < 0)  # −1 was compared as a label of its own
    clusters, cells = (_padded(values[..., shift:], c) for values in (cold.clusters, cold.cells))
    confidence = np.full(len(labels), np.nan)
    confidence[sample.rows] = cold.confidence
    if np.isnan(confidence).any():  # rows outside the sample: as the rows of their cluster in it are, on average
        usual = np.array([cold.confidence[sample.labels == j].mean() if np.any(sample.labels == j) else 0.0
                          for j in range(c)])  # fmt: skip
        confidence = np.where(np.isnan(confidence), usual[np.maximum(labels, 0)], confidence)
    return Stability(
        verdict=verdict.word,
        overall=cold.overall,
        halves=float(cold.halves.kept.mean()),
        seeds=1.0 if cold.seeds is None else float(cold.seeds.kept.mean()),
        within=cold.within,
        reference=cold.reference,
        beats=verdict.beats,
        cluster_stability=clusters,
        cluster_task_stability=cells,
        row_confidence=confidence,
        between=between,
        location_share=moved,
        tasks=sample.names,
        n_refits=n_refits,
        n_rows=len(sample.rows),
        table=table_of(clusters, cells, between, np.bincount(np.maximum(labels, 0), minlength=c), sample.names),
    )


def n_numbers(model: Any, labels: Array) -> int:
    """Return the number of clusters of a model, and of numbers of those that are no more."""
    asked = model.fitted_.model.n_clusters if hasattr(model, "fitted_") else 0
    return max(int(labels.max(initial=0)) + 1, int(asked))


def _padded(values: Array, c: int) -> Array:
    """Return values of c clusters; NaN for those that are not in the sample."""
    found = np.full((*values.shape[:-1], c), np.nan)
    some = min(c, values.shape[-1])
    found[..., :some] = values[..., :some]
    return found
