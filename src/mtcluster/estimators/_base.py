"""What the estimators share: validate, delegate to the core, store."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, _fit_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._utils.tasks import positions
from ..consensus.embedding import directional, shared_map, task_frame
from ..consensus.decisions import ConsensusEvidence, Decisions
from ..consensus.vote import Evidence, Vote, decide, locate
from ..core.arrays import Array, host
from ..core.blocks import Rows
from ..core.model import Centers, Settings
from ..core.pacing import Schedule
from ..core.readout import read_out
from ..core.relations import relatedness, support
from ..core.updates import one_hot
from ..engines import is_dask, open_rows
from ..engines.local import row_threads
from ._multistart import Run, best_of, kinds_of_starts
from ._progress import CallbackSupportMixin, FitProgress, tell, warn_user
from ._validation import TaskData, library, read_tasks

MAX_SPAN = 20_000  # order of the dense eigenproblem that the projection coupling may ask for
WITHIN_WEIGHT = 0.7  # λ1 of tasks that are related, where it is left to the data
MAX_ITER = 50  # of a stage, where the start is no vote
SMALL_ARRAYS = (
    "tasks_", "within_weight_", "task_offsets_", "task_scales_", "fractions_", "task_centers_", "shared_centers_",
    "subspace_", "cluster_sizes_", "task_relatedness_", "cluster_support_", "map_", "map_rows_",
)  # fmt: skip
NO_COUPLING = 1e-4  # a shared term of a smaller share of the data's energy moves nothing


class MultiTaskClusterer(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Base of SPMTC, LSSMTC and ASI: everything but their parameters.

    A subclass adds its parameters, its share of the within-task term and its schedule.
    """

    _pools_tasks: ClassVar[bool] = False  # are the rows of all tasks one data set?
    _paced: ClassVar[bool] = False  # may rows count differently?
    _vote: ClassVar[Vote] = Vote()

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "coupling": [StrOptions({"reconstruction", "projection"})],
        "membership": [StrOptions({"auto", "binary", "nonnegative"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"auto", "random", "per-task", "pooled"}), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        coupling: str = "reconstruction",
        membership: str = "auto",
        n_components: int | None = None,
        max_iter: Any = "auto",
        tol: float = 1e-4,
        init: Any = "auto",
        n_init: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.coupling = coupling
        self.membership = membership
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _within_weight(self) -> Any:
        """λ1, or "auto"."""
        return 0.0

    def _task_offset(self) -> str:
        return "none"

    def _schedule(self, voted: bool) -> Schedule:
        """The pace; a fit that starts from a vote is stopped early, so that it does not drift from it."""
        return Schedule(max_iter=self._max_iter(voted), tol=self.tol)

    def _max_iter(self, voted: bool) -> int:
        return (1 if voted else MAX_ITER) if isinstance(self.max_iter, str) else self.max_iter

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, tasks: Any = None, sample_weight: Any = None) -> Any:
        """Cluster all tasks together.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            The rows of all tasks, or one item a task. A list is taken as tasks when its items are two-dimensional.
            Dask arrays and data frames are worked on where their chunks lie, and what is found for every row is a Dask
            array. With scikit-learn's array API dispatch on, so are arrays of PyTorch or CuPy.
        y : ignored
            Present for scikit-learn's conventions.
        tasks : sequence of n hashable labels, optional
            The task of each row of X, in any order. None: one task.
        sample_weight : array of shape (n,), optional
            Weights of the rows. In the model a weight of 2 is two copies of a row; the vote that `within_weight="auto"`
            takes looks at every row of positive weight once.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        arguments = {"X": X, "y": y, "metadata": {"tasks": tasks, "sample_weight": sample_weight}}
        with open_rows(self, X, tasks, sample_weight, pooled=self._pools_tasks, n_jobs=self.n_jobs) as (
            data,
            make_rows,
        ):
            self._check_sizes(data)
            settings = self._make_settings(data.n_features)
            self._fit_rows(data, make_rows(settings, self.n_clusters), settings, arguments)
        return self

    def _fit_rows(self, data: Any, rows: Rows, settings: Settings, arguments: dict[str, Any]) -> None:
        """Decide, start, solve and store, wherever the rows live."""
        random_state = check_random_state(self.random_state)
        if self._within_weight() == "auto":
            tell(self, "decide")
        settings, voted, evidence = self._decide(rows, settings, random_state)
        given, kinds = self._starts(data, settings, voted)
        pace = self._schedule(voted=kinds == ["vote"])
        progress = FitProgress(self, kinds, pace, arguments)
        run = best_of(
            rows,
            settings,
            pace,
            kinds,
            given,
            sizes=data.sizes,
            dtype=data.dtype,
            random_state=random_state,
            n_jobs=self.n_jobs,
            progress=progress,
        )
        self._settings = settings
        self._evidence = replace(evidence, start=" and ".join(dict.fromkeys(kinds)), pace=pace)
        self._store(data, rows, run)
        self.decisions_ = self._record(kinds, pace, settings, self._evidence)
        seed = random_state.randint(np.iinfo(np.int32).max)
        self.map_rows_, self.map_ = shared_map(
            rows, settings, self.shared_centers_, self.subspace_, self.cluster_sizes_, np.random.default_rng(seed)
        )
        progress.end()
        self._warn(run)
        if isinstance(data, TaskData) and data.xp is not np:  # scikit-learn's convention: arrays of the library of X
            for name in SMALL_ARRAYS:
                if getattr(self, name).dtype.kind in "biuf":
                    setattr(self, name, data.place(getattr(self, name)))

    def _record(self, kinds: list[str], pace: Schedule, settings: Settings, evidence: Evidence) -> Decisions:
        """What was decided, for users and reports."""
        decision, how, given = evidence.decision, self._vote, evidence.parameters
        consensus = None if decision is None else ConsensusEvidence(
            decision.agreement, decision.kinship, decision.unanimity, decision.n_votes, decision.n_rows,
            decision.n_dimensions, decision.n_far, how.chance, how.kinship, how.enough,
        )  # fmt: skip
        m = len(self.tasks_)
        shared = "none" if "within_weight" not in given else "set" if decision is None else "one task" if m == 1 else (
            "coupling" if settings.coupling == "projection" else "consensus")  # fmt: skip
        if given.get("task_offset", "auto") != "auto":
            offset = "set"
        elif evidence.gain is not None:
            offset = "gain"
        elif evidence.unit_rows:
            offset = "unit rows"
        elif m == 1:
            offset = "one task"
        else:
            offset = "fixed within_weight" if decision is None else "unsupported"
        soft = pace.weighting == "soft" and pace.soft_rule == "quantile"
        return Decisions(
            start=" and ".join(dict.fromkeys(kinds)).replace("vote", "consensus"),
            n_starts=len(kinds),
            coupling=settings.coupling,
            membership=settings.membership,
            membership_reason="default" if given["membership"] == "auto" else "set",
            within_weight_reason=shared,
            task_offset=evidence.offset,
            task_offset_reason=offset,
            offset_gain=evidence.gain,
            weighting=pace.weighting if self._paced else "none",
            full_weight_share=pace.lower_share if soft and self._paced else 1.0,
            max_iter=pace.max_iter,
            warmup_iter=pace.warmup_iter,
            consensus=consensus,
        )

    def _make_settings(self, d: int) -> Settings:
        """What is known before the data are looked at."""
        n_components = min(self.n_clusters, d) if self.n_components is None else self.n_components
        weight = WITHIN_WEIGHT if self._within_weight() == "auto" else self._within_weight()
        membership = "binary" if self.membership == "auto" else self.membership
        return Settings(weight, n_components, self.coupling, membership)

    def _decide(
        self, rows: Rows, settings: Settings, random_state: np.random.RandomState
    ) -> tuple[Settings, list[Array] | None, Evidence]:
        """Settle what is left open, from the data; a number for within_weight leaves the plain model.

        Returns the settings, the labels that were voted for (None without a vote) and what was seen.
        """
        auto, offset, gain = self._within_weight() == "auto", self._task_offset(), None
        unit_rows = auto and directional(rows.summary)
        if offset == "auto":
            free = auto and settings.membership == "binary" and settings.coupling == "reconstruction"
            offset, gain = locate(rows, self._vote, self.n_clusters, random_state) if free else ("none", None)
        offsets, scales = task_frame(rows, offset)
        settings = replace(settings, offsets=offsets, scales=scales)
        evidence = Evidence(self.get_params(deep=False), offset, unit_rows, gain)
        if not auto:
            return settings, None, evidence
        voted, decision = decide(
            rows,
            settings,
            self._vote,
            n_clusters=self.n_clusters,
            paced=self._paced,
            unit_rows=unit_rows,
            random_state=random_state,
            n_jobs=self.n_jobs,
        )
        if self.coupling == "reconstruction":  # the paper's subspace is that of all tasks alike
            settings = replace(settings, within_weight=decision.within_weight)
        return settings, voted, replace(evidence, decision=decision)

    def _starts(self, data: Any, settings: Settings, voted: list[Array] | None) -> tuple[list[Array] | None, list[str]]:
        """The start if there is one, and the kinds of starts to draw otherwise."""
        if not isinstance(self.init, str):
            binary = settings.membership == "binary"
            given = data.given(self.init, self.n_clusters, binary)
            if not binary and isinstance(data, TaskData) and any(bool((P == 0).any()) for P in given):
                warn_user("init holds zeros, which membership='nonnegative' never leaves: add a small number, 0.2 say.")
            return given, ["given"]
        if voted is not None and self.init == "auto":
            return voted, ["vote"]
        return None, kinds_of_starts(self.init, self.n_init, len(data.labels), self.coupling)

    def _check_sizes(self, data: Any) -> None:
        """What can only be checked with the data at hand."""
        c, d = self.n_clusters, data.n_features
        for label, size in zip(data.labels.tolist(), data.sizes, strict=True):
            if size < c:
                raise ValueError(
                    f"n_samples={size} in task {label!r} should be >= n_clusters={c}: "
                    "take fewer clusters or leave the task out."
                )
        if self.n_components is not None and self.n_components > d:
            raise ValueError(f"n_components={self.n_components} should be at most the number of features of X, {d}.")
        l = self.n_components if self.n_components is not None else d
        room, of = (d, "feature(s)") if self._within_weight() != 0 or l >= d else (l, "component(s)")
        if self.membership == "nonnegative" and room < c:
            warn_user(
                f"membership='nonnegative' with {room} {of} and {c} clusters: with fewer {of} than clusters a row can "
                "be fitted in many ways, and clusters mean little. membership='binary' is right here."
            )
        offset = self._task_offset()
        for name, value in (("membership", "nonnegative"), ("coupling", "projection")):
            if offset not in ("auto", "none") and getattr(self, name) == value:
                raise ValueError(f"task_offset={offset!r} cannot go with {name}={value!r}: take task_offset='none'.")
        if self.coupling == "projection" and isinstance(data, TaskData) and data.xp is not np:
            raise ValueError(
                "coupling='projection' works on arrays in NumPy's memory alone: take coupling='reconstruction', or "
                "bring X there."
            )
        if self.coupling == "projection" and min(data.n, d) > MAX_SPAN:
            raise ValueError(
                f"coupling='projection' needs a dense eigenproblem of order min(rows, features) = {min(data.n, d)}, "
                f"and at most {MAX_SPAN} is allowed; coupling='reconstruction' has no such limit."
            )

    def _store(self, data: Any, rows: Rows, run: Run) -> None:
        m, d = rows.origins.shape
        self.tasks_ = data.labels
        self.membership_, self.task_offset_ = self._settings.membership, self._evidence.offset
        self.within_weight_ = np.array([self._settings.share(k) for k in range(m)])
        self.task_offsets_ = np.zeros((m, d)) if self._settings.offsets is None else self._settings.offsets
        self.task_scales_ = np.ones(m) if self._settings.scales is None else self._settings.scales
        self.task_indices_ = data.indices()
        self.losses_ = data.join(run.losses)
        self.labels_, self.memberships_ = _labels_and_memberships(
            data.join(run.memberships), self.n_clusters, self.losses_, data.xp
        )
        self.weight_trace_ = data.xp.stack([data.join(vs) for vs in run.fit.weight_trace])
        self.weights_ = self.weight_trace_[-1, :]
        self.fractions_ = np.array(run.fit.fractions)
        self.admitted_ = _admitted(self.weight_trace_, self.fractions_, data.xp)
        self.task_centers_ = run.centers.Ms
        self.shared_centers_ = np.asarray(run.centers.M)
        self.subspace_ = np.asarray(run.centers.W)
        sizes = rows.sizes(run.memberships)
        self.cluster_sizes_ = sizes
        self.task_relatedness_ = relatedness(run.centers.Ms.astype(np.float64), sizes)
        self.cluster_support_ = support(run.centers.Ms.astype(np.float64), sizes, self.within_weight_ < 1)
        self.objective_trace_ = run.fit.traces
        self.n_iter_ = sum(len(trace) for trace in run.fit.traces)
        self.converged_ = run.fit.converged
        self._n_features_out = self.subspace_.shape[1]

    def _warn(self, run: Run) -> None:
        """Say what a user should know about a fit that worked."""
        c, used = self.n_clusters, int(np.count_nonzero(self.cluster_sizes_.sum(axis=0)))
        if used < c:
            warn_user(
                f"{c - used} of {c} clusters are no row's label in any task: the data may hold fewer distinct groups "
                "than n_clusters.",
                ConvergenceWarning,
            )
        inside, residual = run.fit.shares or (1.0, 1.0)
        if min(inside, residual) < NO_COUPLING and self.within_weight_.min() < 1:
            fault = "carries no energy" if inside < NO_COUPLING else "leaves no residual"
            warn_user(
                f"coupling='projection': the shared subspace {fault} ({inside:.0e} of the data's energy lies in it, "
                f"{residual:.0e} of that is residual), so it does not couple the tasks. coupling='reconstruction' does."
            )

    def explain(self) -> None:
        """Print what the fit decided by itself, and on what evidence."""
        check_is_fitted(self)
        here = copy(self)
        for name in SMALL_ARRAYS:
            setattr(here, name, host(getattr(self, name)))
        from ..inspection._explanation import describe

        print("\n".join(describe(here)))

    def report(self, *, ids: Any = None, feature_names: Any = None, title: str | None = None) -> Any:
        """What was found, as one HTML page: clusters by task, what makes them, a map, outliers, and what to try next.

        Parameters
        ----------
        ids : sequence of n, optional
            What to call the rows. None: by their numbers.
        feature_names : sequence of d, optional
            What to call the features. None: `feature_names_in_`, or by their numbers.
        title : str, optional
            Title of the page.

        Returns
        -------
        report : Report
            A notebook shows it; `report.save("report.html")` writes it, and `report.summary` is the same as a dict.
            `mtcluster.inspection.make_report` takes more: the user's own cells, stability, what was done with the data.
        """
        check_is_fitted(self)
        from ..inspection import make_report

        return make_report(self, ids=ids, feature_names=feature_names, title=title)

    def to_kmeans(self, task: Any = None) -> KMeans:
        """A fitted `KMeans` that labels the rows of one task as this model does, for use elsewhere.

        It is exact with one cluster a row, unless there are about as many clusters as features or more and tasks share
        only in part; a warning says so. Labels are what is exact: its centres are those of the model but for one shift
        that they have in common, and so distances to them are not the model's losses.

        Parameters
        ----------
        task : label of a task, optional
            Whose rows it shall label. None: as `predict` does without `tasks`, by the shared centres, which know no
            task; after a fit of one task, by that one.

        Returns
        -------
        kmeans : KMeans
            Fitted, in the floating type of this model; its cluster j is cluster j here.
        """
        check_is_fitted(self)
        from ..interop import to_kmeans

        return to_kmeans(self, task)

    def _centers(self) -> Centers:
        """The fitted centres as the core takes them."""
        W, M, Ms = (host(a) for a in (self.subspace_, self.shared_centers_, self.task_centers_))
        Z = M @ W.T
        return Centers(W, M, Ms, Z, Z, np.ones(Ms.shape[:2], dtype=bool))

    def _read(self, X: Any, tasks: Any, method: str) -> tuple[Any, Array, Array]:
        """Rows, seen or new, with their memberships or labels, and their losses, in their order."""
        check_is_fitted(self)
        if is_dask(X):
            from ..engines.dask import DaskChunks

            chunks = DaskChunks(self, X)
            return chunks, *chunks.read_out(tasks, host(self.tasks_), self._settings, self._centers())
        data, known = self._read_rows(X, tasks, method), host(self.tasks_).tolist()
        ks = positions(data.labels.tolist(), known) if data.named else [0 if len(known) == 1 else None]
        centers = self._centers()
        with row_threads(self.n_jobs) as each:
            read = [read_out(X, self._settings, centers, k, data.xp, each) for X, k in zip(data.Xs, ks, strict=True)]
        return data, data.join([P for P, _ in read]), data.join([L for _, L in read])

    def _read_rows(self, X: Any, tasks: Any, method: str) -> TaskData:
        """Rows, seen or new, of the library that the model was fitted with."""
        data = read_tasks(self, X, tasks, reset=False)
        fitted = library(self.subspace_)
        if fitted is not data.xp:
            raise ValueError(
                f"X of {type(self).__name__}.{method}() must use the same namespace as X of fit() did: it is an array "
                f"of {data.xp.__name__}, and {fitted.__name__} is needed."
            )
        return data

    def predict(self, X: Any, *, tasks: Any = None) -> Array:
        """Cluster of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows, seen or new.
        tasks : sequence of n hashable labels, optional
            The task of each row. The shared centres decide for rows of a task that was not there in `fit`, and for
            all rows where `tasks` is None after a fit of several tasks. Where the means of tasks were taken out
            (`task_offset_`), shared centres lie at the middle of the fitted tasks, and so should the new rows.

        Returns
        -------
        labels : array of shape (n,)
            Cluster numbers, the same in every task.
        """
        data, P, L = self._read(X, tasks, "predict")
        return _labels_and_memberships(P, self.n_clusters, L, data.xp)[0]

    def predict_proba(self, X: Any, *, tasks: Any = None) -> Array:
        """Memberships of each row in the clusters.

        Parameters
        ----------
        X, tasks
            As in `predict`.

        Returns
        -------
        memberships : array of shape (n, c)
            Non-negative, rows sum to 1; 0 or 1 with binary memberships.
        """
        data, P, L = self._read(X, tasks, "predict_proba")
        return _labels_and_memberships(P, self.n_clusters, L, data.xp)[1]

    def score_samples(self, X: Any, *, tasks: Any = None) -> Array:
        """Minus the loss of each row: low means outlier.

        Parameters
        ----------
        X, tasks
            As in `predict`.

        Returns
        -------
        scores : array of shape (n,)
            Minus the squared distance to what the model makes of the row.
        """
        return -self._read(X, tasks, "score_samples")[2]

    def score(self, X: Any, y: Any = None, *, tasks: Any = None, sample_weight: Any = None) -> float:
        """Mean of `score_samples`.

        Parameters
        ----------
        X, tasks
            As in `predict`.
        y : ignored
            Present for scikit-learn's conventions.
        sample_weight : array of shape (n,), optional
            Weights of the mean.

        Returns
        -------
        score : float
            Higher is better; comparable between models of the same settings alone.
        """
        data, _, losses = self._read(X, tasks, "score")
        weights = data.weights(sample_weight)
        return -float(data.xp.sum(weights * losses) / data.xp.sum(weights))

    def transform(self, X: Any) -> Array:
        """Coordinates of each row in the shared subspace, X W.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows of any task.

        Returns
        -------
        coordinates : array of shape (n, l)
            The same axes for every task.
        """
        check_is_fitted(self)
        if is_dask(X):
            from ..engines.dask import DaskChunks

            return DaskChunks(self, X).transform(host(self.subspace_))
        data = self._read_rows(X, None, "transform")
        W = data.place(host(self.subspace_).astype(data.dtype))
        return data.join([data.matrix(k) @ W for k in range(len(data.Xs))])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self.coupling == "reconstruction"
        # scikit-learn's sparse checks read this of whatever has predict_proba, and stumble over None.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _labels_and_memberships(P: Array, n_clusters: int, like: Array, xp: Any) -> tuple[Array, Array]:
    """Labels (n,) and memberships (n, c), whichever of them the model has."""
    if P.ndim == 1:
        return xp.astype(P, xp.int32), one_hot(P, n_clusters, like, xp)
    return xp.astype(xp.argmax(P, axis=1), xp.int32), P


def _admitted(trace: Array, fractions: Array, xp: Any) -> Array:
    """The fraction of the stage at which each row first had weight; the last for those that never had."""
    found = xp.full_like(trace[-1, :], 1.0, dtype=xp.float64)
    for v, fraction in zip(range(len(fractions) - 1, -1, -1), fractions[::-1], strict=True):
        found = xp.where(trace[v, :] > 0, xp.full_like(found, float(fraction)), found)
    return found
