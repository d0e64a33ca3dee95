"""What a fitted model can do: label rows, score them, project them, and tell about itself."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._sklearn_compat import array_namespace
from ..consensus import Decisions
from ..core.arrays import Array, host
from ..core.centers import Centers
from ..core.completing import empty_rows
from ..core.couplings import COUPLINGS
from ..core.jobs import weighted_sums
from ..core.memberships import FORMS, one_hot
from ..core.metric import Metric
from ..core.model import Model
from ..core.novelty import label_rows
from ..core.offsets import Offsets
from ..core.readout import probabilities, read_out
from ..engines import Engine
from ._capabilities import check_missing
from ._matrices import library
from ._novelty import RATE, check_novelty, fitted_tasks, verdict_of
from ._placement import Placement, place_tasks
from ._progress import warn_user
from ._projecting import ProjectingMixin
from ._telling import TellingMixin
from ._validation import open_rows

NO_VALUE = "have no value at all"


class FittedModelMixin(TellingMixin, ProjectingMixin):
    """Methods that read fitted attributes alone."""

    _pools_tasks: ClassVar[bool]
    n_clusters_: int
    n_jobs: int | None
    labels_: Array
    losses_: Array
    tasks_: Array
    membership_: str
    decisions_: Decisions
    subspace_: Array
    shared_centers_: Array
    task_centers_: Array
    task_offsets_: Array
    task_scales_: Array
    cluster_presence_: Array
    metric_directions_: Array
    metric_covariance_: Array
    metric_rest_: float
    log_proportions_: Array
    within_weight_: Array
    cluster_sizes_: Array
    cluster_support_: Array
    task_relatedness_: Array
    task_indices_: Array
    weights_: Array
    weight_trace_: Array
    admitted_: Array
    fractions_: Array
    feature_presence_: Array
    missing_: Array
    objective_trace_: list[Array]
    n_iter_: int
    converged_: bool
    temperature_: float
    own_temperature_: float
    _memberships: Array

    @property
    def memberships_(self) -> Array:
        """Memberships (n, c) of the training rows; rows sum to 1."""
        if "_memberships" in self.__dict__ or not hasattr(self, "labels_"):
            return self._memberships
        return one_hot(self.labels_, self._n_numbers, self.losses_.dtype, array_namespace(self.labels_))

    def _other_parts(self) -> dict[str, Any]:
        """Exchangeable parts beside coupling and memberships, by the parameter that names them."""
        return {}

    def _fitted(self) -> tuple[Model, Centers]:
        """The fitted model and its centres, as the core takes them."""
        W, M, Ms = (host(a) for a in (self.subspace_, self.shared_centers_, self.task_centers_))
        Z, decided = M @ W.T, self.decisions_
        moved = decided.task_offset != "none"
        offsets = Offsets(host(self.task_offsets_), host(self.task_scales_)) if moved else None
        presence = host(self.cluster_presence_)
        model = Model(
            len(M), host(self.within_weight_), W.shape[1], COUPLINGS[decided.coupling], FORMS[decided.membership],
            offsets, None if presence.all() else presence[None],
        )  # fmt: skip
        centers = Centers(W, M, Ms, Z, Z, np.ones(Ms.shape[:2], dtype=bool))
        if hasattr(self, "log_proportions_"):
            centers = replace(centers, log_shares=host(self.log_proportions_))
        if self.metric_ == "shared":
            V = host(self.metric_directions_) if hasattr(self, "metric_directions_") else None
            model = replace(model, metric=Metric(V))
            centers = replace(centers, K=host(self.metric_covariance_), rest=np.asarray(self.metric_rest_))
        return model, centers

    def _open(self, X: Any, tasks: Any, method: str, sample_weight: Any = None) -> Engine:
        """Rows, seen or new, of the library that the model was fitted with."""
        check_is_fitted(self)
        engine = open_rows(
            self,
            X,
            tasks,
            reset=False,
            sample_weight=sample_weight,
            pooled=self._pools_tasks,
            centered=COUPLINGS[self.decisions_.coupling].free_origin and FORMS[self.membership_].diagonal,
            n_jobs=self.n_jobs,
        )
        parts = {"coupling": COUPLINGS[self.decisions_.coupling], "membership": FORMS[self.membership_]}
        check_missing(engine, parts | self._other_parts())
        fitted = library(self.subspace_)
        if engine.one_library and fitted is not engine.xp:
            raise ValueError(
                f"X of {type(self).__name__}.{method}() must use the same namespace as X of fit() did: it is an array "
                f"of {engine.xp.__name__}, and {fitted.__name__} is needed."
            )
        return engine

    def _living(self) -> Array:
        """(c,) which of the numbers are clusters that some task holds; others are no more."""
        return np.asarray(host(self.cluster_presence_).any(axis=0))

    @property
    def _n_numbers(self) -> int:
        """Rows of the arrays: clusters that are there, and numbers of those that are no more."""
        return int(self.task_centers_.shape[1])

    def _placed(self, engine: Engine) -> tuple[Model, Centers]:
        """The fitted model and its centres for the tasks of an engine."""
        placed = self._place(engine)
        return placed.model, placed.centers

    def _placement(self, engine: Engine, rate: float | None = None) -> Placement:
        """Where the tasks of an engine lie."""
        rate = getattr(self, "novelty_rate_", RATE) if rate is None else rate
        return place_tasks(engine, fitted_tasks(self, *self._fitted()), rate)

    def _place(self, engine: Engine, rate: float | None = None, *, expected: bool = False) -> Placement:
        """The same, with a warning about tasks that are new, or unusual if new ones are expected."""
        placed = self._placement(engine, rate)
        told = placed.notes if expected else [*placed.named, *placed.notes]
        if told:
            warn_user(" ".join(told))
        return placed

    def _read(self, engine: Engine) -> tuple[Any, Any]:
        """Memberships or labels, and losses, of the rows of an engine."""
        model, centers = self._placed(engine)
        with engine:
            Ps, Ls, _ = engine.apply(partial(read_out, model=model, centers=centers), outputs=2, lazy=True)
        return Ps, Ls

    def _probabilities(self, engine: Engine) -> Any:
        """Probabilities of the labels of the rows of an engine."""
        placed = self._place(engine)
        model, centers = placed.model, placed.centers
        alone = model.left_alone(len(centers.Ms)).tolist()
        known = dict(enumerate(getattr(self, "task_temperatures_", ())))  # of tasks that were fitted apart
        common = [self.own_temperature_ if own else self.temperature_ for own in alone]
        Ts = [T if at is None else float(known.get(at, T)) for T, at in zip(common, placed.at, strict=True)]
        with engine:
            job = partial(probabilities, model=model, centers=centers, temperatures=Ts)
            return engine.apply(job, outputs=1, lazy=True)[0]

    def predict(
        self, X: Any, *, tasks: Any = None, novelty: str | None = None, novelty_rate: float | None = None
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

        Returns
        -------
        labels : array of shape (n,)
            Cluster numbers, the same in every task; of clusters that the task holds (`cluster_presence_`). Rows of the
            tasks of `fit`, and rows without `tasks`, always have one.
        """
        check_novelty(novelty, novelty_rate, choices=("flag", "none", None))
        engine = self._open(X, tasks, "predict")
        placed, xp = self._place(engine, novelty_rate), engine.xp
        verdict = verdict_of(self, placed, novelty, novelty_rate)
        job = partial(label_rows, model=placed.model, centers=placed.centers, verdict=verdict)
        with engine:
            labels = engine.apply(job, outputs=3, lazy=True)[0]
        found = xp.astype(engine.gather(labels, np.int32), xp.int32)
        return with_unknown(engine, found) if engine.one_library and bool(xp.any(found < 0)) else found

    def predict_proba(self, X: Any, *, tasks: Any = None) -> Array:
        """Probability of each cluster, for each row.

        With binary memberships p_j ∝ exp(−D_j / T) over the clusters that the task of the row holds, where D_j is half
        the loss of the row with label j, as `predict` compares it, and T is `temperature_`. The largest is that of the
        label. T is calibrated in `fit` on rows that are held out: among rows with a largest probability of 0.8, about
        80 % should lie in the cluster that they are given, if clusters are about as wide as each other and round in
        the metric of the model. `memberships_` remain 0 or 1.

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
        engine = self._open(X, tasks, "predict_proba")
        labels_only = FORMS[self.membership_].labels_only
        found = self._probabilities(engine) if labels_only else self._read(engine)[0]
        return engine.gather(found, width=self._n_numbers)

    def score_samples(self, X: Any, *, tasks: Any = None) -> Array:
        """Minus the loss of each row: low values indicate outliers.

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
        """Weighted mean of `score_samples`; with a shared metric minus log|S|, so that tight metrics do not win.

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
        Ls = self._read(engine)[1]
        loss = float(engine.apply(weighted_sums, Ls)[-1].sum() / engine.summary.sizes.sum())
        model, centers = self._fitted()
        shape = model.shape(centers.runs(None))
        return -loss if shape is None else -loss - float(shape.log_determinant(engine.n_features)[0])


def with_unknown(engine: Engine, labels: Array) -> Array:
    """Labels with -1 for rows that have no value at all; a warning counts them."""
    xp = engine.xp
    empty = engine.gather(engine.apply(empty_rows, outputs=1, lazy=True)[0], bool)
    n = int(xp.sum(xp.astype(empty, xp.int64)))
    if not n:
        return labels
    warn_user(f"{n} row(s) of X {NO_VALUE}: they get the label -1.")
    return xp.where(empty, xp.asarray(-1, dtype=labels.dtype, device=getattr(labels, "device", None)), labels)
