"""Streams: a fitted model that follows batches of rows, from sums that stand for all rows so far."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from .._sklearn_compat import available_if
from .._utils.restoring import restores
from .._utils.tasks import label_array
from ..core.arrays import host
from ..core.blocks import Place
from ..core.offsets import Offsets
from ..core.projecting import shared_map, task_indices
from ..core.relations import relatedness_by_common, support
from ._base import SMALL_ARRAYS
from ._batch import Batch, Learned
from ._fitted import with_unknown
from ._ignored import warn_ignored
from ._novelty import LATER
from ._validation import check_counting, check_range


def _streams(estimator: Any) -> bool:
    """Sums stand for rows where each has one cluster, and the subspace is made from centres."""
    for name, able in (("coupling", "reconstruction"), ("membership", "binary")):
        value = getattr(estimator, name)
        if value not in ("auto", able):
            raise AttributeError(
                f"partial_fit cannot go with {name}={value!r}, which needs all rows at once: take {name}={able!r}."
            )
    return True


class StreamingMixin:
    """`partial_fit`, for estimators whose rows have one cluster each."""

    @available_if(_streams)
    @restores
    def partial_fit(self, X: Any, y: Any = None, *, tasks: Any = None, sample_weight: Any = None) -> Self:
        """Follow a stream: update the model by a batch of rows, without any of the earlier ones.

        The first call is `fit`. Later ones label the rows of the batch with the centres so far, and centres, offsets
        and metric follow sums over all rows, of which those of earlier calls count `forgetting` times as much with
        every call. Numbers of clusters never change: a group of rows that no cluster explains opens a new one after
        the last, and a cluster whose weight is forgotten stays in the arrays, held by no task. New tasks may join; they
        are placed as `predict` places them. Attributes with a value per row are those of the batch; `drift_` tells what
        moved, came and went. `temperature_` and what the first fit decided stay.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            The rows of the batch.
        y : ignored
            Present for API consistency.
        tasks : sequence of n hashable labels or str, optional
            The task of each row. None: one task, if the model has one.
        sample_weight : array of shape (n,), optional
            Weights of the rows.

        Returns
        -------
        self : object
            The updated estimator.
        """
        me: Any = self
        me._validate_params()
        if not hasattr(self, "task_centers_"):
            return me.fit(X, y, tasks=tasks, sample_weight=sample_weight)
        warn_ignored(X, y, tasks)
        engine = me._open(X, tasks, "partial_fit", sample_weight)
        if not engine.named and len(me.tasks_) > 1:
            raise ValueError(
                f"tasks is None, but the model has the tasks {host(me.tasks_).tolist()}: pass the task of each row."
            )
        with engine:
            check_counting(engine.labels, engine.sizes, engine.summary.counting)
            check_range(engine)
            batch = Batch(me, engine)
            _store(me, batch, batch.learn())
        return self


def _store(me: Any, batch: Batch, learned: Learned) -> None:
    """The fitted attributes: those of rows are of the batch, all others of the whole stream."""
    flow, engine = learned.flow, batch.engine
    model, centers, kept, held = flow.model, flow.centers.astype(engine.dtype), flow.kept, flow.held
    m, d = kept.origins.shape
    me.statistics_, me.drift_ = kept, learned.drift
    me.tasks_ = label_array(batch.names)
    me.within_weight_ = np.broadcast_to(model.shares[0], (m,)).copy()
    offsets = model.offsets or Offsets(np.zeros((m, d)), np.ones(m))
    me.task_offsets_, me.task_scales_ = offsets.b, offsets.s
    if centers.K is not None and centers.rest is not None:
        me.metric_covariance_, me.metric_rest_ = centers.K, float(centers.rest)
    if centers.log_shares is not None:
        me.log_proportions_ = np.array(centers.log_shares)
    me.task_centers_, me.subspace_ = centers.Ms, np.asarray(centers.W)
    me.shared_centers_ = np.asarray(centers.M)
    me.cluster_sizes_, me.cluster_presence_ = np.where(held, kept.S, 0.0), held
    me.n_clusters_ = int(held.any(axis=0).sum())
    Ms = centers.Ms.astype(np.float64)
    me.task_relatedness_ = relatedness_by_common(Ms, me.cluster_sizes_, held)
    me.cluster_support_ = support(Ms, me.cluster_sizes_, me.within_weight_ < 1)
    me._n_features_out = me.subspace_.shape[1]
    has, missing = np.zeros((m, d), dtype=bool), np.zeros((m, d))
    has[: len(me.feature_presence_)], missing[: len(me.missing_)] = host(me.feature_presence_), host(me.missing_)
    has[batch.ks] |= np.broadcast_to(engine.summary.observed > 0, (len(batch.ks), d))
    missing[batch.ks] = engine.summary.missing
    me.feature_presence_, me.missing_ = has, missing
    for name in LATER:
        me.__dict__.pop(name, None)
    _store_rows(me, batch, learned)
    own, there = flow.of_tasks(batch.ks)
    rng = np.random.default_rng(0)
    me.map_rows_, me.map_ = shared_map(engine, own, there, me.cluster_sizes_.sum(axis=0), rng)
    for name in SMALL_ARRAYS:
        if name in me.__dict__:
            setattr(me, name, engine.small(host(getattr(me, name))))


def _store_rows(me: Any, batch: Batch, learned: Learned) -> None:
    """Values per row, and the course of the batch."""
    engine, xp = batch.engine, batch.engine.xp
    me.task_indices_ = engine.gather(engine.apply(partial(_numbered, ks=batch.ks), outputs=1)[0], np.intp)
    me.losses_ = engine.gather(learned.losses)
    me.labels_ = xp.astype(engine.gather(learned.labels, np.int32), xp.int32)
    if engine.gaps:
        me.labels_ = with_unknown(engine, me.labels_)
    me.weight_trace_ = xp.stack([engine.gather(learned.weights)])
    me.weights_, me.fractions_ = me.weight_trace_[-1, :], np.array([1.0])
    me.admitted_ = xp.ones_like(me.weights_)
    me.objective_trace_, me.converged_ = [np.array(learned.values)], True
    me.n_iter_ += len(learned.values)
    for name in ("changes_", "n_samples_fit_"):
        me.__dict__.pop(name, None)


def _numbered(place: Place, *, ks: list[int]) -> tuple[Any, ...]:
    """The index of each row's task among all tasks of the stream."""
    found, _ = task_indices(place)
    return [own + (ks[k] - k) for k, own in enumerate(found)], None
