"""What the estimators share: validate, delegate to the consensus and the core, store."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, check_random_state

from .._sklearn_compat import CallbackSupportMixin, Interval, Registered, StrOptions, fit_context
from .._utils.restoring import restores
from ..core.arrays import Array, host
from ..core.calibration import temperatures
from ..core.couplings import COUPLINGS
from ..core.memberships import MEMBERSHIPS
from ..core.model import Model
from ..core.offsets import Offsets
from ..core.pacing import Schedule
from ..core.projecting import shared_map, task_indices
from ..core.readout import read_out
from ..core.relations import relatedness_by_common, support
from ..core.starts import STARTS
from ..engines import Engine
from ._adapting import AdaptingMixin
from ._apart import apart, fit_apart
from ._capabilities import check_capabilities, check_sizes
from ._deciding import DecidingMixin, Settled
from ._fitted import with_unknown
from ._ignored import TaskClusterMixin, warn_ignored
from ._multistart import Run, best_of
from ._novelty import set_usual
from ._numbers import asked_numbers, choose_number, chosen_number, few_enough
from ._presence import cluster_presence
from ._previous import Previous, check_columns, check_previous
from ._progress import FitProgress, tell, warn_user
from ._validation import check_counting, check_gaps, check_range, check_result, open_rows, within_range

SMALL_ARRAYS = (
    "tasks_", "within_weight_", "task_offsets_", "task_scales_", "fractions_", "task_centers_", "shared_centers_",
    "subspace_", "cluster_sizes_", "task_relatedness_", "cluster_support_", "cluster_presence_", "map_", "map_rows_",
    "metric_directions_", "metric_covariance_", "log_proportions_", "means_", "proportions_", "shrinkage_",
    "cluster_covariances_", "feature_presence_", "missing_", "novelty_losses_", "novelty_ratios_", "novelty_scores_",
)  # fmt: skip


class MultiTaskClusterer(
    DecidingMixin,
    AdaptingMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TaskClusterMixin,
    BaseEstimator,
):
    """Base of SPMTC, LSSMTC, ASI and the mixture: everything but their parameters.

    A subclass adds its parameters and its schedule.
    """

    _pools_tasks: ClassVar[bool] = False  # are the rows of all tasks one data set?
    _paced: ClassVar[bool] = False  # may rows count differently?

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), tuple, list],
        "coupling": [Registered(COUPLINGS)],
        "membership": [Registered(MEMBERSHIPS, "auto")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [Registered(STARTS, "auto"), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    @restores
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, tasks: Any = None, sample_weight: Any = None, previous: Any = None) -> Self:
        """Cluster all tasks together.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            The rows of all tasks, or one item per task. A list is taken as tasks if its items are two-dimensional.
            Dask arrays and data frames are worked on where their chunks lie, and results with one value per row are
            Dask arrays. With scikit-learn's array API dispatch enabled, arrays of PyTorch or CuPy are treated likewise.
        y : ignored
            Present for API consistency.
        tasks : sequence of n hashable labels or str, optional
            The task of each row of X, in any order, or the name of the column of a data frame X that holds it.
            None: one task.
        sample_weight : array of shape (n,), optional
            Weights of the rows. In the model a weight of 2 is two copies of a row; a consensus looks at every row of
            positive weight once.
        previous : fitted SPMTC, LSSMTC, ASI or MultiTaskGaussianMixture, optional
            An earlier model of the same columns, which this fit continues: it is one more start and one voice in the
            consensus, and clusters that are found again keep its numbers. Those that are not stay in all arrays with
            size 0, held by no task, and new ones come after the last number. See `changes_`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        warn_ignored(X, y, tasks)
        arguments = {"X": X, "y": y, "metadata": {"tasks": tasks, "sample_weight": sample_weight}}
        previous = None if previous is None else check_previous(previous)
        coupling, membership = self._parts()
        engine = open_rows(
            self,
            X,
            tasks,
            reset=True,
            sample_weight=sample_weight,
            pooled=self._pools_tasks,
            centered=coupling.free_origin and membership.diagonal,
            n_jobs=self.n_jobs,
            threads=coupling.own_threads,
        )
        check_capabilities(self, engine, coupling, membership, **self._other_parts())
        if previous is not None:
            check_columns(self, previous)
        numbers = asked_numbers(self.n_clusters)
        if numbers is None:
            check_sizes(self, engine, self.n_clusters)
        with engine:
            check_gaps(self, engine)
            check_counting(engine.labels, engine.sizes, engine.summary.counting)
            check_range(engine)
            groups = apart(self, engine, X)
            if len(groups) > 1:
                if previous is not None:
                    raise ValueError(
                        "previous cannot go with match='geometry' where no column links the data sets: leave it out."
                    )
                fit_apart(self, engine, X, sample_weight, groups)
            else:
                known = None if previous is None else Previous.of(previous, engine)
                with within_range():
                    self._fit_engine(engine, arguments, numbers, known)
                    check_result(self)
        return self

    def _fit_engine(
        self, engine: Engine, arguments: dict[str, Any], numbers: list[int] | None, previous: Previous | None = None
    ) -> None:
        """Decide, start, solve and store, wherever the rows live; `numbers` of clusters are compared, if any."""
        random_state = check_random_state(self.random_state)
        self._set_number(engine, numbers, random_state)
        if self._within_weight() == "auto":
            tell(self, "decide")
        settled = self._prepare(engine, random_state, previous)
        model, makers, pace = settled.model, settled.makers, self._schedule(settled.lead)
        decisions = replace(
            settled.decisions,
            weighting=self.weighting if self._paced else "none",
            full_weight_share=pace.weighting.full_weight_share if self._paced else 1.0,
            max_iter=pace.max_iter,
            warmup_iter=pace.warmup_iter,
        )
        progress = FitProgress(self, [name for name, _ in makers], pace, arguments)
        run = best_of(
            engine,
            model,
            pace,
            [make for _, make in makers],
            random_state=random_state,
            progress=progress,
        )
        self._finish(engine, replace(settled, decisions=decisions), run, pace, random_state, previous)
        progress.end()
        self._warn(run)

    def _finish(
        self,
        engine: Engine,
        settled: Settled,
        run: Run,
        pace: Schedule | None,
        random_state: np.random.RandomState,
        previous: Previous | None = None,
    ) -> None:
        """Store a fit, and learn from it what new rows will be compared with; no pace: it is calibrated already."""
        at = self._store_numbered(engine, settled, run, previous)
        seed, model = random_state.randint(np.iinfo(np.int32).max), settled.model
        rng, held = np.random.default_rng(seed), self.cluster_presence_[:, at]
        self.map_rows_, self.map_ = shared_map(engine, model, run.centers, self.cluster_sizes_.sum(axis=0)[at], rng)
        if pace is not None:
            self._calibrate(engine, model, pace, run, np.random.default_rng([seed, 1]), held)
        set_usual(self, engine, np.random.default_rng([seed, 2]))
        for name in SMALL_ARRAYS:  # scikit-learn's convention: arrays of the library of X
            if hasattr(self, name):
                setattr(self, name, engine.small(getattr(self, name)))

    def _set_number(self, engine: Engine, numbers: list[int] | None, random_state: np.random.RandomState) -> None:
        """The number of clusters, given or chosen."""
        self.__dict__.pop("selection_", None)
        if numbers is None:
            self.n_clusters_ = int(self.n_clusters)
            return
        tell(self, "select")
        if isinstance(self.n_clusters, str):  # nobody asked for so many
            numbers = few_enough(engine, numbers)
        self.selection_ = choose_number(self, engine, numbers, random_state)
        self.n_clusters_ = chosen_number(self.selection_)
        check_sizes(self, engine, self.n_clusters_)

    def _schedule(self, start: Any) -> Schedule:
        """The pace; "auto" is what the kind of start recommends."""
        return Schedule(max_iter=self._or(self.max_iter, start.max_iter), tol=self.tol)

    def _store_numbered(self, engine: Engine, settled: Settled, run: Run, previous: Previous | None) -> Array:
        """Store the fit, in the numbers of an earlier model if there is one; the numbers of the clusters."""
        for name in ("changes_", "drift_", "statistics_", "n_samples_fit_"):
            self.__dict__.pop(name, None)
        if previous is None:
            self._store(engine, settled, run)
            return np.arange(settled.model.n_clusters)
        numbering, self.changes_ = previous.numbering(engine, settled.model, run)
        model, run = previous.renumbered(engine, settled.model, run, numbering)
        support = None if settled.support is None else numbering.spread(settled.support, 1, 0.0)
        self._store(engine, replace(settled, model=model, support=support), run)
        job = partial(read_out, model=self._fitted()[0], centers=self._fitted()[1])
        Ps, Ls, _ = engine.apply(job, outputs=2)  # as `predict` reads them: numbers may have changed how ties end
        self._set_memberships(engine, Ps, model)
        self.losses_ = engine.gather(Ls)
        return numbering.numbers

    def _store(self, engine: Engine, settled: Settled, run: Run) -> None:
        (m, d), model, decisions = engine.origins.shape, settled.model, settled.decisions
        self.feature_presence_ = np.broadcast_to(engine.summary.observed > 0, (m, d)).copy()
        self.missing_ = engine.summary.missing
        self.tasks_, self.decisions_ = engine.labels, decisions
        self.membership_, self.task_offset_ = decisions.membership, decisions.task_offset
        self.within_weight_ = np.broadcast_to(model.shares[0], (m,)).copy()
        offsets = model.offsets or Offsets(np.zeros((m, d)), np.ones(m))
        self.task_offsets_, self.task_scales_ = offsets.b if run.centers.b is None else run.centers.b, offsets.s
        self._store_metric(model, run)
        xp = engine.xp
        self.task_indices_ = engine.gather(engine.apply(task_indices, outputs=1, lazy=True)[0], np.intp)
        self.losses_ = engine.gather(run.losses)
        self._set_memberships(engine, run.memberships, model)
        self.weight_trace_ = xp.stack([engine.gather(vs) for vs in run.fit.weight_trace])
        if engine.gaps:  # rows without any value
            self.weight_trace_ = xp.where(self.labels_ < 0, xp.zeros_like(self.weight_trace_), self.weight_trace_)
        self.weights_ = self.weight_trace_[-1, :]
        self.fractions_ = np.array(run.fit.fractions)
        self.admitted_ = _admitted(self.weight_trace_, self.fractions_, xp)
        self.task_centers_ = run.centers.Ms
        self.shared_centers_, self.subspace_ = np.asarray(run.centers.M), np.asarray(run.centers.W)
        self.cluster_sizes_ = model.sizes(engine, run.memberships)
        Ms = run.centers.Ms.astype(np.float64)
        self.cluster_presence_ = cluster_presence(engine, model, run.memberships, self.cluster_sizes_)
        self.task_relatedness_ = relatedness_by_common(Ms, self.cluster_sizes_, self.cluster_presence_)
        counted = settled.support
        if counted is None:
            counted = support(Ms, self.cluster_sizes_, self.within_weight_ < 1)
        self.cluster_support_ = counted
        self.objective_trace_ = run.fit.traces
        self.n_iter_ = sum(len(trace) for trace in run.fit.traces)
        self.converged_ = run.fit.converged
        self._n_features_out = self.subspace_.shape[1]

    def _store_metric(self, model: Model, run: Run) -> None:
        """How distances are measured."""
        centers = run.centers
        self.metric_ = "euclidean" if model.metric is None else "shared"
        for name in ("metric_directions_", "metric_covariance_", "metric_rest_", "log_proportions_"):
            self.__dict__.pop(name, None)
        if model.metric is not None and centers.K is not None and centers.rest is not None:
            if model.metric.V is not None:
                self.metric_directions_ = model.metric.V
            self.metric_covariance_, self.metric_rest_ = centers.K, float(centers.rest)
        if centers.log_shares is not None:
            self.log_proportions_ = np.array(centers.log_shares)

    def _calibrate(
        self, engine: Engine, model: Model, pace: Schedule, run: Run, rng: np.random.Generator, held: Array
    ) -> None:
        """How sure labels are; `held` (m, c) says which task holds which cluster."""
        for name in ("temperature_", "own_temperature_", "task_temperatures_"):
            self.__dict__.pop(name, None)
        if not model.membership.labels_only:
            return
        model = replace(model, present=None if held.all() else held[None])
        found = temperatures(engine, model, pace, run.centers, rng)
        alone = model.left_alone(len(found))
        self.temperature_ = 1.0 if alone.all() else float(found[np.argmin(alone)])  # 1: what the metric means
        if alone.any():
            self.own_temperature_ = float(found[np.argmax(alone)])

    def _set_memberships(self, engine: Engine, Ps: Any, model: Model) -> None:
        """Labels; memberships too, where they are more than labels."""
        self.__dict__.pop("_memberships", None)
        if model.membership.labels_only:
            labels = engine.gather(Ps, np.int32)
        else:
            self._memberships = engine.gather(Ps, width=model.n_clusters)
            labels = engine.xp.argmax(self._memberships, axis=1)
        self.labels_ = engine.xp.astype(labels, engine.xp.int32)
        if engine.gaps:
            self.labels_ = with_unknown(engine, self.labels_)

    def _warn(self, run: Run) -> None:
        """Say what a user should know about a fit that worked."""
        c, used = self.n_clusters_, int(np.count_nonzero(host(self.cluster_sizes_).sum(axis=0)))
        if used < c:
            warn_user(
                f"{c - used} of {c} clusters have no rows in any task: the data may hold fewer distinct groups "
                "than n_clusters.",
                ConvergenceWarning,
            )
        if run.fit.fault is not None:
            warn_user(run.fit.fault)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        named = ("coupling", COUPLINGS), ("membership", MEMBERSHIPS)
        parts = [table[getattr(self, name)] for name, table in named if getattr(self, name) in table]
        tags.input_tags.allow_nan = all(part.supports.missing for part in [*parts, *self._other_parts().values()])
        tags.array_api_support = COUPLINGS[self.coupling].supports.gpu if self.coupling in COUPLINGS else True
        # scikit-learn's sparse checks read this of whatever has predict_proba, and stumble over None.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _admitted(trace: Array, fractions: Array, xp: Any) -> Array:
    """The fraction of the stage at which each row first had weight; the last for those that never had."""
    found = xp.full_like(trace[-1, :], 1.0, dtype=xp.float64)
    for v, fraction in zip(range(len(fractions) - 1, -1, -1), fractions[::-1], strict=True):
        found = xp.where(trace[v, :] > 0, xp.full_like(found, float(fraction)), found)
    return found
