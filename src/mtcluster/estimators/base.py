"""The estimators' one class: everything but their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, Tags, check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from .._sklearn_compat import (
    CallbackSupportMixin,
    Interval,
    Registered,
    StrOptions,
    array_namespace,
    available_if,
    fit_context,
)
from .._utils.restoring import restores
from .._utils.tasks import as_parts
from ..core.arrays import Array, host
from ..core.blocks import PerRow
from ..core.calibration import temperatures as calibrate
from ..core.centers import TINY
from ..core.couplings import COUPLINGS
from ..core.fitted import Fitted
from ..core.memberships import MEMBERSHIPS, one_hot
from ..core.model import total_loss
from ..core.novelty import label_rows
from ..core.ordinary import learn_ordinary
from ..core.pacing import Stages
from ..core.projecting import axes_of, project
from ..core.readout import probabilities, read_out
from ..core.sharing import OFFSETS
from ..core.starts import STARTS
from ..engines import Engine
from ..search import Decisions, Search
from .changes import Changes, Drift
from .input import (
    Given,
    check_counting,
    check_gaps,
    check_range,
    check_values,
    fit_predict,
    open_rows,
    warn_ignored,
    warn_small,
    within_range,
)
from .living import RATE, Continued, Placement, adapted, check_novelty, place_tasks, rate_of, verdict_of
from .matrices import library
from .merging import as_told, labels_told, numbers_told, shares_told, with_merged
from .numbers import asked_numbers, choose_number, chosen_number, few_enough
from .plan import (
    METRICS,
    Asked,
    Earlier,
    Plan,
    Recommends,
    Run,
    best_of,
    check_capabilities,
    check_missing,
    check_sizes,
    make_plan,
)
from .progress import FitProgress, tell, warn_user
from .publish import check_finite_centers, fitted_model, named_labels, published, with_map, with_unknown
from .stream import followed_stream

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

    from ..inspection import Explanation, Relations, Report

OPTIONAL = ("selection_", "changes_", "drift_", "matching_")  # attributes that not every fit has
MOST_SHOWN = 80  # letters of what came instead of a model


def _streams(estimator: object) -> bool:
    """Tell whether sums stand for rows: each has one cluster, and the subspace is made from centres."""
    own = estimator.__dict__
    if "forgetting" not in own:
        raise AttributeError(f"{type(estimator).__name__} has no partial_fit: take SPMTC or LSSMTC.")
    for name, able in (("coupling", "reconstruction"), ("membership", "binary")):
        if own[name] not in ("auto", able):
            raise AttributeError(
                f"partial_fit cannot go with {name}={own[name]!r}, which needs all rows at once: take {name}={able!r}."
            )
    return True


class MultiTaskClusterer(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Base of SPMTC, LSSMTC, ASI and the mixture: everything but their parameters.

    A subclass adds its parameters, and says what it asks for and its stages.
    """

    _pools_tasks: ClassVar[bool] = False  # are the rows of all tasks one data set?
    # Tasks make no difference to the axes, so metadata routing need not pass them on.
    __metadata_request__transform: ClassVar[dict[str, Any]] = {"tasks": UNUSED}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), tuple, list],
        "coupling": [Registered(COUPLINGS)],
        "membership": [Registered(MEMBERSHIPS, "auto")],
        "within_weight": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "task_offset": [Registered(OFFSETS, "auto")],
        "metric": [StrOptions(set(METRICS))],
        "n_clusters_per_task": [Mapping, "array-like", None],
        "forgetting": [Interval(Real, 0, 1, closed="right")],
        "match": [StrOptions({"columns", "geometry"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [Registered(STARTS, "auto", "search"), Search, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    n_clusters: Any
    n_jobs: int | None
    verbose: int
    random_state: Any
    fitted_: Fitted
    decisions_: Decisions
    labels_: Array  # this and what follows is made from `fitted_`
    losses_: Array
    weights_: Array
    tasks_: Array
    cluster_centers_: Array
    task_centers_: Array
    cluster_sizes_: Array
    cluster_presence_: Array
    task_relatedness_: Array
    objective_trace_: list[Array]
    n_clusters_: int
    n_iter_: int

    # -------------------------------------------------------------------------------------------- what subclasses say
    def _asked(self, n_clusters: int) -> Asked:
        """Tell what the parameters ask for."""
        return Asked.of(self, n_clusters)

    def _stages(self, start: Recommends) -> Stages:
        """Return the stages of the fit; "auto" is what the kind of start recommends."""
        own = self.__dict__
        max_iter = start.max_iter if isinstance(own["max_iter"], str) else own["max_iter"]
        return Stages(max_iter=max_iter, tol=own["tol"])

    def _completed(self, plan: Plan, asked: Asked, engine: Engine) -> Plan:
        """Return the plan with what the estimator adds to it."""
        return plan

    def _published(self, fitted: Fitted, small: Callable[[Array], Array]) -> dict[str, object]:
        """Return the public attributes."""
        return published(fitted, small)

    # -------------------------------------------------------------------------------------------- fit
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
            Weights of the rows. In the model a weight of 2 is two copies of a row; the search looks at every row of
            positive weight once.
        previous : fitted SPMTC, LSSMTC, ASI or MultiTaskGaussianMixture, optional
            An earlier model of the same columns, which this fit continues: it is one more start of the
            search, and clusters that are found again keep its numbers. Those that are not stay in all arrays with
            size 0, held by no task, and new ones come after the last number. See `changes_`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        warn_ignored(X, y, tasks)
        arguments = {"X": X, "y": y, "metadata": {"tasks": tasks, "sample_weight": sample_weight}}
        previous = None if previous is None else check_previous(previous)
        numbers = asked_numbers(self.n_clusters)
        asked = self._asked(1 if numbers else int(self.n_clusters))
        coupling, diagonal = asked.coupling, asked.membership.diagonal
        engine = open_rows(
            self,
            X,
            tasks,
            reset=True,
            sample_weight=sample_weight,
            pooled=self._pools_tasks,
            centered=coupling.free_origin and diagonal,
            n_jobs=self.n_jobs,
            threads=coupling.own_threads,
        )
        check_capabilities(asked, engine)
        if previous is not None:
            check_same_columns(self, previous)
        if numbers is None:
            check_sizes(asked, engine)
        for name in OPTIONAL:
            self.__dict__.pop(name, None)
        with engine:
            check_gaps(self, engine)
            check_counting(engine.labels, engine.sizes, engine.summary.counting)
            check_range(engine)
            warn_small(engine)
            from .apart import fit_apart, linked

            groups = linked(self.__dict__.get("match", "columns"), engine, X)
            if len(groups) > 1:
                if previous is not None:
                    raise ValueError(
                        "previous cannot go with match='geometry' where no column links the data sets: leave it out."
                    )
                (found, others), fault = fit_apart(self, engine, X, sample_weight, groups), None
            else:
                before = None if previous is None else Continued.of(previous.fitted_, engine)
                with within_range():
                    found, others, fault = self._fit_engine(engine, asked, arguments, numbers, before)
                if self.__dict__.get("match") == "geometry":
                    others["matching_"] = []
            self.__dict__.update(others)
            self._publish(check_finite_centers(found), engine)
        self._warn(fault)
        return self

    def _fit_engine(
        self,
        engine: Engine,
        asked: Asked,
        arguments: dict[str, object],
        numbers: list[int] | None,
        before: Continued | None,
    ) -> tuple[Fitted, dict[str, object], str | None]:
        """Decide, start and solve, wherever the rows live; `numbers` of clusters are compared, if any."""
        random_state = check_random_state(self.random_state)
        others: dict[str, object] = {}
        if numbers is not None:
            tell(self, "select")
            if isinstance(self.n_clusters, str):  # nobody asked for so many
                numbers = few_enough(engine, numbers)
            selection = others["selection_"] = choose_number(engine, asked.search, numbers, random_state)
            asked = replace(asked, n_clusters=chosen_number(selection))
            check_sizes(asked, engine)
        if asked.within_weight == "auto":
            tell(self, "decide")
        earlier = None if before is None else Earlier(before.voice, before.start)
        plan = self._completed(make_plan(asked, engine, random_state, earlier), asked, engine)
        pace, paced = self._stages(plan.lead), asked.weighting is not None
        decisions = replace(
            plan.decisions,
            weighting=asked.weighting or "none",
            full_weight_share=pace.weighting.full_weight_share if paced else 1.0,
            max_iter=pace.max_iter,
            warmup_iter=pace.warmup_iter,
        )
        progress = FitProgress(self, [name for name, _ in plan.makers], pace, arguments)
        makers = [make for _, make in plan.makers]
        run = best_of(engine, plan.model, pace, makers, random_state=random_state, progress=progress)
        plan = replace(plan, decisions=decisions)
        found, changes = finished(engine, plan, run, pace, random_state, before, pools=self._pools_tasks)
        progress.end()
        others |= {"decisions_": decisions} | ({} if changes is None else {"changes_": changes})
        return found, others, run.fit.fault

    def _publish(self, fitted: Fitted, engine: Engine | None = None) -> Self:
        """Set the public attributes; without an engine they are NumPy's."""
        self.__dict__.update(self._published(fitted, (lambda values: values) if engine is None else engine.small))
        return self

    def _warn(self, fault: str | None) -> None:
        """Say what a user should know about a fit that worked."""
        c, used = self.n_clusters_, int(np.count_nonzero(self.fitted_.sizes.sum(axis=0)))
        if used < c:
            warn_user(
                f"{c - used} of {c} clusters have no rows in any task: the data may hold fewer distinct groups "
                "than n_clusters.",
                ConvergenceWarning,
            )
        if fault is not None:
            warn_user(fault)

    fit_predict = fit_predict

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit, and return the coordinates of each row in the shared subspace.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            The rows of all tasks, or one item per task.
        y : ignored
            Present for API consistency.
        **fit_params : dict
            Further arguments of `fit`, such as `tasks`.

        Returns
        -------
        coordinates : array of shape (n, l)
            See `transform`.
        """
        return self.fit(X, y, **fit_params).transform(X, tasks=fit_params.get("tasks"))

    @property
    def memberships_(self) -> Array:
        """Memberships (n, c) of the training rows; rows sum to 1."""
        rows = as_told(self.fitted_).rows
        if rows.memberships is not None:
            return rows.memberships
        return one_hot(rows.labels, self.fitted_.model.n_clusters, rows.losses.dtype, array_namespace(rows.labels))

    @property
    def cluster_names_(self) -> dict[int, str]:
        """Names of clusters, by their number; those that `rename` gave."""
        return dict(self.fitted_.names)

    def rename(self, names: dict[int, str]) -> Self:
        """Give names to clusters, which models that continue this one keep, as cluster numbers never change meaning.

        Parameters
        ----------
        names : dict of int to str
            Names by the number of the cluster. An empty name takes one away; other clusters keep theirs.

        Returns
        -------
        self : object
            The fitted estimator. `labels_` stays numbers; `predict(..., names=True)` gives names.
        """
        check_is_fitted(self)
        known, found = self.fitted_.model.n_clusters, self.cluster_names_
        for number, name in names.items():
            if isinstance(number, bool) or not isinstance(number, Integral) or not 0 <= number < known:
                raise ValueError(
                    f"names has a name for {number!r}: the numbers of clusters are those from 0 to {known - 1}."
                )
            found[int(number)] = str(name).strip()
        self.fitted_ = replace(self.fitted_, names=tuple(sorted((j, name) for j, name in found.items() if name)))
        return self

    def merge(self, clusters: Sequence[int]) -> Self:
        """Tell clusters that a person found to be one as one, under the smallest of their numbers.

        Numbers of the others are used no more. As with names, models that continue this one keep it. Rows are compared
        with the clusters as before, so that what is new stays new: labels, sizes and probabilities are those of the
        clusters together, and centres lie in the middle of their rows.

        Parameters
        ----------
        clusters : sequence of int
            Numbers of at least two clusters.

        Returns
        -------
        self : object
            The fitted estimator.

        Examples
        --------
        >>> from mtcluster import SPMTC
        >>> from mtcluster.datasets import make_multitask_blobs
        >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, random_state=0)
        >>> model = SPMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks).merge([0, 2])
        >>> sorted({int(j) for j in model.labels_})
        [0, 1]
        """
        check_is_fitted(self)
        known, numbers = self.fitted_.model.n_clusters, list(clusters)
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, Integral) or not 0 <= number < known:
                raise ValueError(f"clusters holds {number!r}: the numbers of clusters are those from 0 to {known - 1}.")
        if len(set(numbers_told(self.fitted_)[numbers].tolist())) < 2:
            raise ValueError(f"clusters is {numbers}: at least two clusters that are not merged yet are needed.")
        fitted, like = with_merged(self.fitted_, [int(j) for j in numbers]), self.__dict__["task_centers_"]
        xp, where = library(like), getattr(like, "device", None)
        told = self._published(fitted, lambda values: xp.asarray(values, device=where))
        self.__dict__.update(told | {"tasks_": self.__dict__["tasks_"]})
        return self

    # -------------------------------------------------------------------------------------------- rows, seen or new
    def _open(self, X: Given, tasks: Given, method: str, sample_weight: Given = None) -> Engine:
        """Bring rows, seen or new, of the library that the model was fitted with."""
        check_is_fitted(self)
        model = self.fitted_.model
        engine = open_rows(
            self,
            X,
            tasks,
            reset=False,
            sample_weight=sample_weight,
            pooled=self._pools_tasks,
            centered=model.free_origin,
            n_jobs=self.n_jobs,
        )
        covariance = type(self.fitted_.centers.geometry)
        check_missing(
            engine, {"coupling": model.coupling, "membership": model.membership, "covariance_type": covariance}
        )
        known = library(self.__dict__["task_centers_"])
        if engine.one_library and known is not engine.xp:
            raise ValueError(
                f"X of {type(self).__name__}.{method}() must use the same namespace as X of fit() did: it is an array "
                f"of {engine.xp.__name__}, and {known.__name__} is needed."
            )
        return engine

    def _place(self, engine: Engine, rate: float | None = None, *, expected: bool = False) -> Placement:
        """Place the tasks of an engine; warn about new tasks, or about unusual ones if new ones are expected."""
        names = self.__dict__.get("feature_names_in_")
        columns = None if names is None else [repr(str(name)) for name in names]
        placed = place_tasks(engine, self.fitted_, rate_of(self.fitted_) if rate is None else rate, columns)
        told = placed.notes if expected else (*placed.named, *placed.notes)
        if told:
            warn_user(" ".join(told))
        return placed

    def _read(self, engine: Engine) -> tuple[PerRow, PerRow]:
        """Return memberships or labels, and losses, of the rows of an engine."""
        placed = self._place(engine)
        with engine:
            job = partial(read_out, model=placed.model, centers=placed.centers)
            Ps, Ls, _ = engine.apply(job, outputs=2, lazy=True)
        return Ps, Ls

    def predict(
        self,
        X: Any,
        *,
        tasks: Any = None,
        novelty: str | None = None,
        novelty_rate: float | None = None,
        names: bool = False,
    ) -> Array:
        """Cluster of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows, seen or new.
        tasks : sequence of n hashable labels or str, optional
            The task of each row, or the name of the column of a data frame X that holds it. A task that was not in
            `fit` is placed as `adapt` does, if it has at least 5 rows per cluster; else the shared centres decide about
            its rows. A warning names it. None after a fit of several tasks: the shared centres decide for all rows.
        novelty : {"flag", "none"}, optional
            "flag": rows of tasks that were not in `fit` get the label -1 if no cluster explains them, alone or as a
            group; see `adapt`. "none": each row gets a cluster. None: as in `adapt`, or "flag".
        novelty_rate : float in (0, 1), optional
            Share of ordinary rows of a new task that get -1. None: as in `adapt`, or 0.01.
        names : bool, default=False
            Whether labels are texts: the name that `rename` gave the cluster, or its number.

        Returns
        -------
        labels : array of shape (n,)
            Cluster numbers, the same in every task; of clusters that the task holds (`cluster_presence_`). Rows of the
            tasks of `fit`, and rows without `tasks`, always have one. With `names` an array of texts in NumPy's memory.
        """
        check_novelty(novelty, novelty_rate, choices=("flag", "none", None))
        engine = self._open(X, tasks, "predict")
        placed, xp = self._place(engine, novelty_rate), engine.xp
        verdict = verdict_of(self.fitted_, placed, novelty, novelty_rate)
        job = partial(label_rows, model=placed.model, centers=placed.centers, verdict=verdict)
        with engine:
            labels = engine.apply(job, outputs=3, lazy=True)[0]
        found = xp.astype(engine.gather(labels, np.int32), xp.int32)
        found = with_unknown(engine, found) if engine.one_library and bool(xp.any(found < 0)) else found
        found = labels_told(self.fitted_, found)
        return named_labels(host(found), self.fitted_.names) if names else found

    def predict_proba(self, X: Any, *, tasks: Any = None) -> Array:
        """Return the probability of each cluster, for each row.

        With binary memberships p_j ∝ exp(−D_j / T) over the clusters that the task of the row holds, where D_j is half
        the loss of the row with label j, as `predict` compares it, and T is `fitted_.temperature`. The largest is that
        of the label. T is calibrated in `fit` on rows that are held out: among rows with a largest probability of 0.8,
        about 80 % should lie in the cluster that they are given, if clusters are about as wide as each other and round
        in the metric of the model. `memberships_` remain 0 or 1.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows, seen or new.
        tasks : sequence of n hashable labels or str, optional
            The task of each row; see `predict`.

        Returns
        -------
        probabilities : array of shape (n, c)
            Non-negative, rows sum to 1. With `membership="nonnegative"` these are the memberships themselves: shares
            of the clusters in a row.
        """
        engine, fitted = self._open(X, tasks, "predict_proba"), self.fitted_
        if fitted.model.membership.labels_only:
            placed = self._place(engine)
            Ts = [fitted.temperature if k is None else float(fitted.temperatures[k]) for k in placed.at]
            job = partial(probabilities, model=placed.model, centers=placed.centers, temperatures=Ts)
            with engine:
                found = engine.apply(job, outputs=1, lazy=True)[0]
        else:
            found = self._read(engine)[0]
        return shares_told(fitted, engine.gather(found, width=fitted.model.n_clusters))

    def score_samples(self, X: Any, *, tasks: Any = None) -> Array:
        """Return minus the loss of each row: low values indicate outliers.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows, seen or new.
        tasks : sequence of n hashable labels or str, optional
            The task of each row; see `predict`.

        Returns
        -------
        scores : array of shape (n,)
            Minus the squared distance between a row and its reconstruction, in the metric of the model.
        """
        engine = self._open(X, tasks, "score_samples")
        return -engine.gather(self._read(engine)[1])

    def score(self, X: Any, y: Any = None, *, tasks: Any = None, sample_weight: Any = None) -> float:
        """Return the weighted mean of `score_samples`, minus log|S| with a shared metric, as tight ones must not win.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows, seen or new.
        y : ignored
            Present for API consistency.
        tasks : sequence of n hashable labels or str, optional
            The task of each row; see `predict`.
        sample_weight : array of shape (n,), optional
            Weights of the mean.

        Returns
        -------
        score : float
            Higher is better; comparable only between models with the same settings.
        """
        engine = self._open(X, tasks, "score", sample_weight)
        loss = total_loss(engine, self._read(engine)[1]) / float(engine.summary.sizes.sum())
        fitted = self.fitted_
        return -loss - float(fitted.model.log_volume(fitted.centers.take("R", None))[0])

    def transform(self, X: Any, *, tasks: Any = None) -> Array:
        """Return coordinates of each row in the shared subspace: X W, or X S⁻¹ W with a shared metric.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows of any task.
        tasks : sequence of n hashable labels or str, optional
            The task of each row, which makes no difference, or the column of a data frame that is to be left out.

        Returns
        -------
        coordinates : array of shape (n, l)
            The same axes for every task.
        """
        engine, fitted = self._open(X, tasks, "transform"), self.fitted_
        W, sizes = axes_of(fitted.centers), fitted.sizes.sum(axis=0)
        middle = sizes @ fitted.centers.shared / max(float(sizes.sum()), TINY)
        job = partial(project, W=W, middle=middle)
        return engine.gather(engine.apply(job, outputs=1, lazy=True)[0], width=W.shape[1])

    # -------------------------------------------------------------------------------------------- models that live on
    def adapt(
        self,
        X: Any,
        *,
        tasks: Any = None,
        novelty: str = "flag",
        novelty_rate: float = RATE,
        update: bool = False,
    ) -> Self:
        """Make a new model that serves further tasks too; this one does not change.

        A task that joins is placed by its clusters: where it lies, which of the known clusters it holds, and its own
        centres are found from its rows, as in a fit, while the other tasks stay as they are. Nothing of the rows of
        `fit` is needed. A task of fewer than 5 rows per cluster lies where the shared centres do.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict of them
            Rows of new tasks.
        tasks : sequence of n hashable labels or str, optional
            The task of each row. None: X is a dict of tasks.
        novelty : {"flag", "none", "new"}, default="flag"
            What to do with rows that no cluster explains: those with a larger loss than ordinary rows have, and groups
            of rows that lie apart from all known clusters, farther than tasks differ. "flag": their label is -1. "new":
            groups become clusters, after the last number; other rows get -1. "none": each row gets a known cluster.
            If most rows of a task are like that, a warning says so, with the factor if they look like other units.
        novelty_rate : float in (0, 1), default=0.01
            Share of ordinary rows that get -1 by their loss.
        update : bool, default=False
            Whether the shared centres follow the new rows, as if these had been in the fit with the same labels. Rows
            of known tasks are then allowed too: they add to their task.

        Returns
        -------
        model : object
            A fitted model of the same class. Attributes with a value per task hold the new tasks after the old ones;
            those with a value per row are those of X. Cluster numbers are the same. `fitted_.groups` tells which tasks
            joined after the fit, and where groups lie that no cluster explains.
        """
        check_is_fitted(self)
        check_novelty(novelty, novelty_rate, ("flag", "none", "new"))
        self._check_adaptable(X, tasks, novelty)
        engine = self._open(X, tasks, "adapt")
        check_values(engine)
        check_counting(engine.labels, engine.sizes, engine.summary.counting)
        check_range(engine)
        known = set(self.fitted_.tasks.tolist())
        again = [label for label in engine.labels.tolist() if label in known]
        if again and not update:
            raise ValueError(
                f"tasks holds {again[0]!r}, which the model knows: update=True lets its rows add to it, predict labels "
                "them, and a task of its own needs another name."
            )
        with engine:
            placed = self._place(engine, novelty_rate, expected=True)
            return copy(self)._publish(adapted(engine, self.fitted_, placed, novelty, novelty_rate, update), engine)

    def _check_adaptable(self, X: Given, tasks: Given, novelty: str) -> None:
        name, model = type(self).__name__, self.fitted_.model
        if self._pools_tasks:
            raise TypeError(f"{name} pools the rows of all tasks, so no task can join it: use predict, or SPMTC.")
        if tasks is None and as_parts(X, "X") is None:
            raise ValueError("tasks=None needs X to be a dict of tasks: give the task of each row.")
        if novelty == "new" and not (model.coupling.name == "reconstruction" and model.membership.diagonal):
            raise ValueError(
                f"novelty='new' needs clusters that are centres of rows: coupling={model.coupling.name!r} with "
                f"membership={model.membership.name!r} has none; use novelty='flag'."
            )

    @available_if(_streams)
    @restores
    def partial_fit(self, X: Any, y: Any = None, *, tasks: Any = None, sample_weight: Any = None) -> Self:
        """Follow a stream: update the model by a batch of rows, without any of the earlier ones.

        The first call is `fit`. Later ones label the rows of the batch with the centres so far, and centres, offsets
        and metric follow sums over all rows, of which those of earlier calls count `forgetting` times as much with
        every call. Numbers of clusters never change: a group of rows that no cluster explains opens a new one after
        the last, and a cluster whose weight is forgotten stays in the arrays, held by no task. New tasks may join; they
        are placed as `predict` places them. Attributes with a value per row are those of the batch; `drift_` tells what
        moved, came and went. Probabilities stay calibrated as they were, and what the first fit decided stays.

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
        self._validate_params()
        if not hasattr(self, "fitted_"):
            return self.fit(X, y, tasks=tasks, sample_weight=sample_weight)
        warn_ignored(X, y, tasks)
        engine, fitted, own = self._open(X, tasks, "partial_fit", sample_weight), self.fitted_, self.__dict__
        if not engine.named and len(fitted.tasks) > 1:
            raise ValueError(
                f"tasks is None, but the model has the tasks {fitted.tasks.tolist()}: pass the task of each row."
            )
        with engine:
            check_counting(engine.labels, engine.sizes, engine.summary.counting)
            check_range(engine)
            pace = self._stages(replace(Search(), full_weight_share=self.decisions_.full_weight_share))
            found, drift = followed_stream(
                fitted, engine, pace, float(own["forgetting"]), own["n_components"], own.get("drift_", Drift())
            )
            own.pop("changes_", None)
            own["drift_"] = drift
            return self._publish(found, engine)

    # -------------------------------------------------------------------------------------------- what it tells
    def explain(self, stability: Any = None) -> Explanation:
        """Tell what the fit decided from the data, and on what evidence; `decisions_` holds the same as numbers.

        Parameters
        ----------
        stability : Stability, optional
            Result of `mtcluster.model_selection.stability`: how sure one can be of the clusters.

        Returns
        -------
        explanation : Explanation
            Shows itself at the prompt and in a notebook; `to_frame()` has one row per decision.
        """
        check_is_fitted(self)
        from ..inspection import explain

        return explain(self, stability)

    def relations(self) -> Relations:
        """Which task holds which cluster: shared, private, absent or uncertain, with the support and number of rows.

        Returns
        -------
        relations : Relations
            See `mtcluster.inspection.relations`; `to_frame()` has one row per cluster and task.
        """
        check_is_fitted(self)
        from ..inspection import relations

        return relations(self)

    def report(
        self,
        *,
        X: Any = None,
        ids: Any = None,
        feature_names: Any = None,
        title: str | None = None,
        stability: Any = None,
        classes: Any = None,
        cluster_names: Any = None,
        anonymous: bool = False,
    ) -> Report:
        """Return the result as one HTML page: clusters by task, their features, a map, outliers, and what to try next.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n, d), optional
            The rows of the fit: adds distributions, effect sizes, features on the map, and why a row is an outlier.
        ids : sequence of n, optional
            Names of the rows. None: their numbers.
        feature_names : sequence of d, optional
            Names of the features. None: `feature_names_in_`, or their numbers.
        title : str, optional
            Title of the page.
        stability : Stability, optional
            Result of `mtcluster.model_selection.stability`: how sure one can be of the clusters.
        classes : sequence of n, optional
            Known classes, None where not known, for a table of classes and clusters.
        cluster_names : dict of int to str, optional
            Names of clusters.
        anonymous : bool, default=False
            Whether everything is left out that shows single rows.

        Returns
        -------
        report : Report
            Shown by a notebook; `report.save("report.html")` writes it, and `report.summary` is the same as a dict.
            `mtcluster.inspection.make_report` takes more: the user's units, cells of a table, how data were prepared.
        """
        check_is_fitted(self)
        from ..inspection import make_report

        names = {"feature_names": feature_names, "cluster_names": cluster_names}
        told = {"title": title, "stability": stability, "classes": classes, "anonymous": anonymous}
        return make_report(self, X=X, ids=ids, **names, **told)

    def to_kmeans(self, task: Any = None) -> KMeans:
        """Make a fitted `KMeans` that labels the rows of one task as this model does, for use elsewhere.

        Labels are exact for binary memberships, unless there are about as many clusters as features or more and tasks
        share only in part, in which case a warning says so. Centres are those of the model up to a common shift, so
        distances to them are not the model's losses.

        Parameters
        ----------
        task : label of a task, optional
            The task whose rows it labels. None: as `predict` does without `tasks`, by the shared centres; after a fit
            of one task, by that one.

        Returns
        -------
        kmeans : KMeans
            Fitted, in the floating type of this model; cluster numbers are the same.
        """
        check_is_fitted(self)
        from ..interop import to_kmeans

        return to_kmeans(self, task)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        own = self.__dict__
        coupling, membership = COUPLINGS.get(own.get("coupling", "")), MEMBERSHIPS.get(own.get("membership", ""))
        tags.input_tags.allow_nan = all(part is None or part.supports.missing for part in (coupling, membership))
        tags.array_api_support = coupling is None or coupling.supports.gpu
        # scikit-learn's sparse checks read this of whatever has predict_proba, and stumble over None.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def finished(
    engine: Engine, plan: Plan, run: Run, pace: Stages | None, random_state: np.random.RandomState,
    before: Continued | None = None, *, pools: bool = False,
    temperatures: tuple[Array, float] | None = None,
) -> tuple[Fitted, Changes | None]:  # fmt: skip
    """Make the fitted model of a run, in the numbers of an earlier one if there is one, and what changed.

    It learns what new rows will be compared with; no pace: probabilities are calibrated already.
    """
    found, changes = fitted_model(engine, plan, run), None
    seed, sizes = random_state.randint(np.iinfo(np.int32).max), found.sizes.sum(axis=0)
    found = with_map(engine, found, run.centers, sizes, np.random.default_rng(seed))
    if temperatures is not None:
        found = replace(found, temperatures=temperatures[0], temperature=temperatures[1])
    if pace is not None and plan.model.membership.labels_only:
        model = replace(plan.model, holds=found.model.holds)
        found = calibrated(found, calibrate(engine, model, pace, run.centers, np.random.default_rng([seed, 1])))
    if before is not None:
        numbering, changes = before.numbering(engine, found, run.memberships, run.losses)
        found = before.renumbered(engine, found, numbering, found.rows.weights)
    if not pools:  # then no task is new
        rng = np.random.default_rng([seed, 2])
        ordinary = learn_ordinary(engine, found.model, found.centers, found.sizes, found.prior, rng)
        found = replace(found, ordinary=ordinary)
    return found, changes


def calibrated(fitted: Fitted, found: Array) -> Fitted:
    """Set the temperatures (m,) of the tasks; one that joins has that of the tasks that share."""
    alone = fitted.left_alone
    shared = 1.0 if alone.all() else float(found[np.argmin(alone)])  # 1: what the metric means
    return replace(fitted, temperatures=np.asarray(found, dtype=np.float64), temperature=shared)


def check_previous(previous: object) -> MultiTaskClusterer:
    """Make a copy of the earlier model, which the fit may overwrite if it is the same object."""
    if not isinstance(previous, MultiTaskClusterer):
        hint, shown = "", repr(previous)
        if isinstance(previous, str | PathLike):
            hint = ": mtcluster.interop.load reads a model file"
        elif isinstance(previous, dict) and "model" in previous:
            hint = ': its entry "model" is the model'
        shown = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}…"
        raise TypeError(
            "previous must be a fitted SPMTC, LSSMTC, ASI or MultiTaskGaussianMixture, or None; got "
            f"{shown} of type {type(previous).__name__}{hint}."
        )
    if not hasattr(previous, "fitted_"):
        raise ValueError(f"previous is a {type(previous).__name__} that is not fitted: call its fit first.")
    return copy(previous)


def check_same_columns(estimator: BaseEstimator, previous: BaseEstimator) -> None:
    """Refuse rows that do not have the columns of the earlier fit."""
    new_one, old_one = estimator.__dict__, previous.__dict__
    d, names = new_one["n_features_in_"], new_one.get("feature_names_in_")
    before, known = old_one["n_features_in_"], old_one.get("feature_names_in_")
    if d != before:
        raise ValueError(f"X has {d} features, but previous was fitted with {before}: the same columns are needed.")
    if names is None or known is None or np.array_equal(names, known):
        return
    new, gone = ([repr(str(n)) for n in a if n not in set(b)] for a, b in ((names, known), (known, names)))
    what = f"X has {', '.join(new[:5])} instead of {', '.join(gone[:5])}" if new else "X has them in another order"
    raise ValueError(f"X and previous have other columns: {what}. The same columns in the same order are needed.")
