"""How stable the clusters of a fitted model are, next to data without clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..certainty import Evidence, View, gather, judge, view_of
from ..certainty.agreement import agreement
from ..certainty.refits import Part, Setting, centered, located, refit
from ..certainty.valleys import ratios
from ..search import Search
from ..search.view import task_offsets
from ..core.arrays import Array, host
from ..core.gaps import empty_rows
from ..core.model import Model
from ..core.projecting import task_indices
from ..core.sampling import label_all
from ..core.sharing import Offsets, Share
from ..engines import Engine
from ..estimators import SPMTC
from ..estimators.baselines import PerTask
from ..estimators.input import open_rows

from ..estimators.progress import bar
from ._stability_result import Stability, table_of

__all__ = ["Stability", "stability"]

REFERENCES = 10  # data sets without clusters
SEEDINGS = 2  # starts of a refit, beside the clusters of the model


def stability(
    model: Any, X: Any, *, tasks: Any = None, n_refits: int = 20, random_state: Any = None, verbose: int = 0
) -> Stability:
    """Measure how sure one can be of the clusters of a fitted model.

    The model is fitted again to halves of the rows of each task, from new k-means++ seeds and from its own clusters, of
    which the better fit counts. All rows are labelled by each refit, and clusters are matched. The same is done with
    data without clusters: one elliptical distribution per task, with its mean and covariance, uniform directions, and
    Mahalanobis radii drawn from the data. Refits see at most 3,000 rows, in at most 50 dimensions, as the consensus of
    a fit does.

    Parameters
    ----------
    model : estimator
        Fitted on X and tasks; it is not changed.
    X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
        The rows that it was fitted on.
    tasks : sequence of n hashable labels or str, optional
        The task of each row of X, in any order, or the name of the column of a data frame X that holds it.
        None: one task.
    n_refits : int, default=20
        Number of refits, at least 2.
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
    >>> stability(model, X, tasks=tasks, n_refits=4, random_state=0).verdict
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
    labels = np.asarray(host(model.labels_)).astype(int)
    if hasattr(model, "decisions_"):
        labels = np.maximum(labels, 0)  # −1: rows without any value, which are left out below
    noise = int(labels.min(initial=0) < 0)  # −1: rows that belong to no cluster are compared as one
    c = max(int(labels.max()) + 1, _n_numbers(model)) + noise
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    reader = SPMTC()
    with (
        open_rows(reader, X, tasks, reset=True, sample_weight=None, centered=True) as engine,
        bar(REFERENCES + 3, "fitting again", verbose) as step,
    ):
        if sum(engine.sizes) != len(labels):
            raise ValueError(
                f"X has {sum(engine.sizes)} rows, but model was fitted on {len(labels)}: X of its fit is needed."
            )
        if engine.n_features != model.n_features_in_:
            raise ValueError(
                f"X has {engine.n_features} features, but model was fitted on {model.n_features_in_}: X of its fit is "
                "needed."
            )
        codes = np.asarray(host(engine.gather(engine.apply(task_indices, outputs=1, lazy=True)[0], np.intp)))
        codes = np.where(rows_without_values(engine), -1, codes)
        names = engine.labels.tolist()
        frame = _frame(model, names, c)
        view = view_of(engine, Search(), frame.offset, frame.measured, (seed, seed))
        own = [labels[codes == k] + noise for k in range(len(names))]
        setting = _setting(view, own, c, frame)
        [found] = gather(view, [setting], n_refits, REFERENCES, SEEDINGS, seed, tell=step)
        confidence = _confidence(model, engine, view, found, own, codes)
        moved = _location_share(view, setting, frame.offset, seed)
        step()
    return _result(found, confidence, moved, names, labels + noise, noise, n_refits)


@dataclass(frozen=True)
class _Frame:
    """What the model decided about the tasks."""

    measured: bool  # is the metric estimated?
    offset: str  # what it does about the location of tasks
    share: Array  # (m,) λ1; 1: left alone
    holds: Array  # (m, c) which clusters a task may hold


def rows_without_values(engine: Engine) -> Array:
    """Find rows (n,) that have no value at all: nothing can be said of them."""
    if not engine.gaps:
        return np.zeros(sum(engine.sizes), dtype=bool)
    return np.asarray(host(engine.gather(engine.apply(empty_rows, outputs=1, lazy=True)[0], bool)))


def _frame(model: Any, names: list[Any], c: int) -> _Frame:
    """Tell what the model decided; `names` of the tasks that came with its rows, and c clusters."""
    made, m, known = getattr(model, "decisions_", None), len(names), host(model.tasks_).tolist()
    pooled = getattr(model, "_pools_tasks", False)  # its tasks are one data set
    if known != names and not pooled:
        raise ValueError(f"tasks holds {names}, but model was fitted on {known}: tasks of its fit are needed.")
    share, holds = np.zeros(m), np.zeros((m, c), dtype=bool)
    if made is None:
        share += isinstance(model, PerTask)
        return _Frame(False, "mean" if getattr(model, "center", False) else "none", share, holds)
    share += 0 if pooled else model.fitted_.within_weight
    holds[:, : _n_numbers(model)] = model.fitted_.holds
    return _Frame(candidates_decide(made.metric, made.metric_reason), made.task_offset, share, holds)


def _setting(view: View, own: list[Array], c: int, frame: _Frame) -> Setting:
    """Gather the labels of the sample, and what is known about the tasks; clusters without rows are left out."""
    labels = [all_[at] for all_, at in zip(own, view.positions, strict=True)]
    held = np.stack([np.bincount(one, minlength=c) > 0 for one in own])
    holds = (frame.holds | held) & np.any([np.isin(range(c), one) for one in labels], axis=0)
    b = located(view.rows, labels, c) if frame.offset == "matched" else np.zeros(view.rows.origins.shape)
    return Setting(labels, c, b, frame.share, holds)


def _confidence(model: Any, engine: Engine, view: View, found: Evidence, own: list[Array], codes: Array) -> Array:
    """Compute the share (n,) of the refits to halves that keep a row with its cluster."""
    confidence, halves = np.zeros(len(codes)), np.flatnonzero(found.halves)
    kept = np.split(found.agreement.kept[halves].mean(axis=0), np.cumsum([len(at) for at in view.positions])[:-1])
    sampled = [len(at) == len(one) for at, one in zip(view.positions, own, strict=True)]
    others = None if all(sampled) else _others(model, engine, view, found, halves, own, codes)
    for k, one in enumerate(own):
        values = np.zeros(len(one)) if others is None else others[k]
        values[view.positions[k]] = kept[k]
        confidence[codes == k] = values
    return confidence


def _others(
    model: Any, engine: Engine, view: View, found: Evidence, halves: Array, own: list[Array], codes: Array
) -> list[Array]:
    """For all rows of each task, the share of the refits that keep them; rows go to the nearest centre of a refit."""
    shape, total = _shape(model, engine, found.fits.setting), [np.zeros(len(one)) for one in own]
    ends = np.cumsum([len(at) for at in view.positions])[:-1]
    for r in halves:
        orders, labels = found.agreement.orders[r][view.codes], found.fits.labels[r]
        renamed = np.take_along_axis(orders, labels[:, None], axis=1)[:, 0]
        everywhere = label_all(engine, view.sample, view.positions, np.split(renamed, ends), shape)
        got = np.asarray(host(engine.gather(everywhere, np.int32)))
        for k, one in enumerate(own):
            total[k] += got[codes == k] == one
    return [one / len(halves) for one in total]


def _shape(model: Any, engine: Engine, setting: Setting) -> Model:
    """Take the model as it labels rows, whatever its centres are."""
    if not hasattr(model, "decisions_"):
        offsets = task_offsets(engine, "mean") if getattr(model, "center", False) else Offsets.none()
        return Model(setting.n_clusters, Share.of(setting.within_weight), setting.n_clusters, offsets=offsets)
    fitted, logs = model.fitted_, model.fitted_.centers.log_shares
    return replace(fitted.model, log_shares=None if logs is None else logs[None])


def _location_share(view: View, setting: Setting, offset: str, seed: int) -> float | None:
    """Share of the rows that change their cluster if the location of tasks is treated the other way."""
    if np.sum(~setting.alone) < 2 or view.embedding.kept is not None or offset not in ("none", "matched"):
        return None
    b = np.zeros_like(setting.offsets) if setting.offsets.any() else centered(view.rows)
    other = replace(setting, offsets=b, holds=setting.anywhere, labelled=False)
    whole = [Part([np.ones(len(own)) for own in setting.labels])]
    fit = refit(view.rows, other, whole, view.measured, SEEDINGS, np.random.default_rng([seed, 9]))
    kept = agreement(fit, view.codes, view.weights).kept[0]
    return float(view.weights @ ~kept / view.weights.sum())


def _result(
    found: Evidence,
    confidence: Array,
    moved: float | None,
    tasks: list[Any],
    labels: Array,
    noise: int,
    n_refits: int,
) -> Stability:
    """Gather the numbers without the rows that belong to no cluster, the verdict, and the table."""
    clusters, cells = found.cluster_stability[noise:], found.cell_stability[:, noise:]
    between = ratios(found.counts)[noise:, noise:]
    verdict = judge(found.overall, found.reference, between)
    sizes = np.bincount(labels, minlength=len(clusters) + noise)[noise:]
    return Stability(
        verdict=verdict.word,
        overall=found.overall,
        reference=found.reference,
        beats=verdict.beats,
        cluster_stability=clusters,
        cluster_task_stability=cells,
        row_confidence=confidence,
        between=between,
        across=found.across,
        location_share=moved,
        tasks=tasks,
        n_refits=n_refits,
        n_rows=len(found.weights),
        table=table_of(clusters, cells, between, sizes, tasks),
    )


def _n_numbers(model: Any) -> int:
    """Clusters of a model, and numbers of those that are no more; 0 where it does not tell."""
    return int(model.fitted_.model.n_clusters) if hasattr(model, "fitted_") else 0
