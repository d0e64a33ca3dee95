"""What the estimators share: validate, delegate to the consensus and the core, store."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, check_random_state

from .._sklearn_compat import CallbackSupportMixin, Interval, Registered, StrOptions, fit_context
from ..consensus import Consensus, Decisions
from ..consensus.embedding import task_offsets
from ..core.arrays import Array, host
from ..core.couplings import COUPLINGS
from ..core.memberships import MEMBERSHIPS
from ..core.model import Model
from ..core.offsets import Offsets
from ..core.pacing import Schedule
from ..core.projecting import shared_map, task_indices
from ..core.relations import support
from ..core.starts import STARTS, Start, tried
from ..engines import Engine, engine_of
from ._capabilities import check_capabilities, check_sizes
from ._fitted import FittedModelMixin
from ._metric import candidates_decide, clusters_per_task, metric_of, unused_clusters_per_task
from ._multistart import Maker, Run, best_of
from ._presence import cluster_presence, task_relatedness
from ._progress import FitProgress, tell, warn_user
from ._validation import check_counting, check_start, open_rows

SMALL_ARRAYS = (
    "tasks_", "within_weight_", "task_offsets_", "task_scales_", "fractions_", "task_centers_", "shared_centers_",
    "subspace_", "cluster_sizes_", "task_relatedness_", "cluster_support_", "cluster_presence_", "map_", "map_rows_",
    "metric_directions_", "metric_covariance_", "log_proportions_", "means_", "proportions_", "shrinkage_",
    "cluster_covariances_",
)  # fmt: skip


class MultiTaskClusterer(
    FittedModelMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Base of SPMTC, LSSMTC and ASI: everything but their parameters.

    A subclass adds its parameters and its schedule.
    """

    _pools_tasks: ClassVar[bool] = False  # are the rows of all tasks one data set?
    _paced: ClassVar[bool] = False  # may rows count differently?
    _draws_map: bool = True  # refits whose picture nobody draws need none

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
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

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, tasks: Any = None, sample_weight: Any = None) -> Any:
        """Cluster all tasks together.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            The rows of all tasks, or one item per task. A list is taken as tasks if its items are two-dimensional.
            Dask arrays and data frames are worked on where their chunks lie, and results with one value per row are
            Dask arrays. With scikit-learn's array API dispatch enabled, arrays of PyTorch or CuPy are treated likewise.
        y : ignored
            Present for API consistency.
        tasks : sequence of n hashable labels, optional
            The task of each row of X, in any order. None: one task.
        sample_weight : array of shape (n,), optional
            Weights of the rows. In the model a weight of 2 is two copies of a row; a consensus looks at every row of
            positive weight once.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        arguments = {"X": X, "y": y, "metadata": {"tasks": tasks, "sample_weight": sample_weight}}
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
        check_sizes(self, engine)
        check_capabilities(self, engine, coupling, membership, **self._other_parts())
        with engine:
            check_counting(engine.labels, engine.sizes, engine.summary.counting)
            self._fit_engine(engine, arguments)
        return self

    def _parts(self) -> tuple[Any, Any]:
        """The coupling and the form of memberships."""
        return COUPLINGS[self.coupling], MEMBERSHIPS["binary" if self.membership == "auto" else self.membership]

    def _other_parts(self) -> dict[str, Any]:
        """Exchangeable parts beside these, by the parameter that names them."""
        return {}

    def _fit_engine(self, engine: Engine, arguments: dict[str, Any]) -> None:
        """Decide, start, solve and store, wherever the rows live."""
        random_state = check_random_state(self.random_state)
        if self._within_weight() == "auto":
            tell(self, "decide")
        model, decisions, makers, lead = self._prepare(engine, random_state)
        pace = self._schedule(lead)
        decisions = replace(
            decisions,
            n_starts=len(makers),
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
        self._store(engine, model, run, decisions)
        rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
        if self._draws_map:
            self.map_rows_, self.map_ = shared_map(engine, model, run.centers, self.cluster_sizes_.sum(axis=0), rng)
        progress.end()
        self._warn(run)
        for name in SMALL_ARRAYS:  # scikit-learn's convention: arrays of the library of X
            if hasattr(self, name):
                setattr(self, name, engine.small(getattr(self, name)))

    def _prepare(
        self, engine: Engine, random_state: np.random.RandomState
    ) -> tuple[Model, Decisions, list[tuple[str, Maker]], Any]:
        """Settle what is left open, from the data: the model, what was decided, the starts and the kind of them."""
        coupling, membership = self._parts()
        auto, init, m, d = self._within_weight() == "auto", self.init, len(engine.labels), engine.n_features
        how, named = self._consensus(), init if isinstance(init, str) else ""
        voted = isinstance(init, Consensus) or named == "consensus" or (auto and named == "auto")
        n_components = getattr(self, "n_components", None) or min(self.n_clusters, d)
        share = how.within_weight if auto else self._within_weight()
        model = Model(self.n_clusters, share, n_components, coupling, membership)
        metric, metric_reason = metric_of(self, engine, coupling, membership, model, how.dimensions)
        framed, plain = candidates_decide(metric, metric_reason), model
        per_task = clusters_per_task(self._n_clusters_per_task(), self.n_clusters, engine.labels)
        if per_task is not None and not (framed and voted):
            raise ValueError(unused_clusters_per_task(metric_reason if voted else "start"))
        if framed:
            model, offset, reason, gain, form = self._decide_frame(
                engine, model, how, per_task, metric == "shared", random_state
            )
        else:
            model, offset, reason, gain, form = self._decide_offset(engine, model, how, random_state)
        result = form() if auto or voted else None
        if result is not None and result.labels is None:
            metric, metric_reason, framed, weak = "euclidean", "no clear clusters", False, result.evidence.gain
            if per_task is not None:
                warn_user(unused_clusters_per_task(metric_reason))
            model, offset, reason, gain, form = self._decide_offset(engine, plain, how, random_state)
            result = form()
            result = replace(result, evidence=replace(result.evidence, gain=weak))
        if result is not None and (auto or framed):
            decided = result.model
            if not voted:  # clusters of other starts have other numbers
                decided = replace(decided, present=None, log_shares=None)
            if not (auto and coupling.supports.task_shares):
                decided = replace(decided, within_weight=model.within_weight)
            model = decided
        if reason == "criterion":
            offset = "matched" if model.matched else "none"
        self._support = result.support if result is not None and voted else None
        makers, lead = self._starts(engine, model, how, result if voted else None, form)
        reason_of_share = "none" if not hasattr(self, "within_weight") else "set" if not auto else (
            "one task" if m == 1 else "consensus" if coupling.supports.task_shares else "coupling")  # fmt: skip
        decisions = Decisions(
            start=" and ".join(dict.fromkeys(name for name, _ in makers)),
            coupling=coupling.name,
            membership=membership.name,
            membership_reason="default" if self.membership == "auto" else "set",
            within_weight_reason=reason_of_share,
            task_offset=offset,
            task_offset_reason=reason,
            offset_gain=gain,
            metric=metric,
            metric_reason=metric_reason,
            consensus=None if result is None else result.evidence,
        )
        return model, decisions, makers, lead

    def _consensus(self) -> Consensus:
        """How a consensus is formed."""
        return self.init if isinstance(self.init, Consensus) else Consensus()

    def _decide_offset(
        self, engine: Engine, model: Model, how: Consensus, random_state: np.random.RandomState
    ) -> tuple[Model, str, str, float | None, Any]:
        """With the Euclidean metric: the model with offsets, which and why, and what forms a consensus."""
        offset, reason, gain, embedder = self._locate(engine, model, how, random_state)
        matched = offset == "matched"
        model = replace(model, matched=matched, offsets=None if matched else task_offsets(engine, offset))
        seen = {"embedder": embedder}  # by the first consensus; others draw a sample of their own

        def form() -> Any:
            return how.form(
                engine, model, offset=offset, embedder=seen.pop("embedder", None), downweight=self._paced,
                random_state=random_state,
            )  # fmt: skip

        return model, offset, reason, gain, form

    def _decide_frame(
        self,
        engine: Engine,
        model: Model,
        how: Consensus,
        per_task: Array | None,
        measured: bool,
        random_state: np.random.RandomState,
    ) -> tuple[Model, str, str, float | None, Any]:
        """Where candidates decide: the model with offsets that are known, which and why, and what forms a consensus."""
        asked, auto = self._task_offset(), self._within_weight() == "auto"
        offset, reason = asked, "set"
        if asked == "auto":
            able = model.coupling.supports.offsets and model.membership.supports.offsets
            reason = "criterion" if able else "unsupported"
            reason = "one task" if len(engine.labels) == 1 else reason if auto else "fixed within_weight"
            offset = "auto" if reason == "criterion" else "none"
        if offset == "mean":
            model = replace(model, offsets=task_offsets(engine, offset))
        if not auto and measured:
            model = replace(how.metric(engine, model, random_state), matched=offset == "matched")
        form = partial(
            how.frame, engine, model, offset=offset, measured=measured, per_task=per_task, downweight=True,
            random_state=random_state,
        )  # fmt: skip
        return model, offset, reason, None, form

    def _locate(
        self, engine: Engine, model: Model, how: Consensus, random_state: np.random.RandomState
    ) -> tuple[str, str, float | None, Any]:
        """How the location of tasks is treated, why, by what share that tightens clusters, and embeddings so far."""
        asked, auto = self._task_offset(), self._within_weight() == "auto"
        if asked != "auto":
            return asked, "set", None, None
        if len(engine.labels) == 1:
            return "none", "one task", None, None
        if not auto:
            return "none", "fixed within_weight", None, None
        if not (model.coupling.supports.offsets and model.membership.supports.offsets):
            return "none", "unsupported", None, None
        offset, gain, embedder = how.locate(engine, model.n_clusters, random_state)
        return offset, "gain" if gain is not None else "unit rows", gain, embedder

    def _starts(
        self, engine: Engine, model: Model, how: Consensus, result: Any, form: Any
    ) -> tuple[list[tuple[str, Maker]], Any]:
        """Names of the starts and what draws them, and the kind of start that the fit follows where left open."""
        if result is not None:
            seen = result.evidence
            how = replace(how, full_weight_share=how.full_weight_share * (1 - seen.n_distant_rows / seen.n_rows))
            others = [form().labels for _ in range(self._or(self.n_init, how.n_init) - 1)]
            return [("consensus", partial(_given, labels)) for labels in (result.labels, *others)], how
        if not isinstance(self.init, str):
            given = self._given(engine, model)
            return [("given", partial(_given, given))], Start
        kinds = tried(len(engine.labels)) if self.init == "auto" else [self.init]
        lead = STARTS[kinds[0]]
        n_init = (model.coupling.n_init or lead.n_init) if isinstance(self.n_init, str) else self.n_init
        return [(kind, partial(STARTS[kind], engine, model)) for kind in kinds * n_init], lead

    def _given(self, engine: Engine, model: Model) -> Any:
        """The memberships that were passed as `init`."""
        wanted, shape = (sum(engine.sizes), self.n_clusters), getattr(self.init, "shape", np.shape(self.init))
        if tuple(shape) != wanted:
            raise ValueError(f"init has shape {tuple(shape)}, but memberships of shape {wanted} are needed.")
        check = partial(check_start, dtype=engine.dtype, labels_only=model.membership.labels_only)
        if not model.membership.diagonal and engine_of(self.init) is None and bool(np.any(host(self.init) == 0)):
            warn_user("init holds zeros, which membership='nonnegative' never leaves: add a small number such as 0.2.")
        return engine.split(self.init, check)

    def _within_weight(self) -> Any:
        """λ1, or "auto"."""
        return 0.0

    def _task_offset(self) -> str:
        return "none"

    def _metric(self) -> str:
        return "euclidean"

    def _n_clusters_per_task(self) -> Any:
        return None

    def _schedule(self, start: Any) -> Schedule:
        """The pace; "auto" is what the kind of start recommends."""
        return Schedule(max_iter=self._or(self.max_iter, start.max_iter), tol=self.tol)

    @staticmethod
    def _or(value: Any, recommended: Any) -> Any:
        return recommended if isinstance(value, str) else value

    def _store(self, engine: Engine, model: Model, run: Run, decisions: Decisions) -> None:
        m, d = engine.origins.shape
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
        self.weights_ = self.weight_trace_[-1, :]
        self.fractions_ = np.array(run.fit.fractions)
        self.admitted_ = _admitted(self.weight_trace_, self.fractions_, xp)
        self.task_centers_ = run.centers.Ms
        self.shared_centers_, self.subspace_ = np.asarray(run.centers.M), np.asarray(run.centers.W)
        self.cluster_sizes_ = model.sizes(engine, run.memberships)
        Ms = run.centers.Ms.astype(np.float64)
        self.cluster_presence_ = cluster_presence(engine, model, run.memberships, self.cluster_sizes_)
        self.task_relatedness_ = task_relatedness(Ms, self.cluster_sizes_, self.cluster_presence_)
        if self._support is None:
            self.cluster_support_ = support(Ms, self.cluster_sizes_, self.within_weight_ < 1)
        else:
            self.cluster_support_ = self._support
        del self._support
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
            assert centers.K is not None
            assert centers.rest is not None
            self.metric_covariance_, self.metric_rest_ = centers.K, float(centers.rest)
        if centers.log_shares is not None:
            self.log_proportions_ = np.array(centers.log_shares)

    def _set_memberships(self, engine: Engine, Ps: Any, model: Model) -> None:
        """Labels; memberships too, where they are more than labels."""
        self.__dict__.pop("_memberships", None)
        if model.membership.labels_only:
            self.labels_ = engine.xp.astype(engine.gather(Ps, np.int32), engine.xp.int32)
            return
        self._memberships = engine.gather(Ps, width=self.n_clusters)
        self.labels_ = engine.xp.astype(engine.xp.argmax(self._memberships, axis=1), engine.xp.int32)

    def _warn(self, run: Run) -> None:
        """Say what a user should know about a fit that worked."""
        c, used = self.n_clusters, int(np.count_nonzero(self.cluster_sizes_.sum(axis=0)))
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
        tags.array_api_support = COUPLINGS[self.coupling].supports.gpu if self.coupling in COUPLINGS else True
        # scikit-learn's sparse checks read this of whatever has predict_proba, and stumble over None.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _given(Ps: Any, rng: np.random.Generator) -> Any:
    """A start that is there already."""
    return Ps


def _admitted(trace: Array, fractions: Array, xp: Any) -> Array:
    """The fraction of the stage at which each row first had weight; the last for those that never had."""
    found = xp.full_like(trace[-1, :], 1.0, dtype=xp.float64)
    for v, fraction in zip(range(len(fractions) - 1, -1, -1), fractions[::-1], strict=True):
        found = xp.where(trace[v, :] > 0, xp.full_like(found, float(fraction)), found)
    return found
