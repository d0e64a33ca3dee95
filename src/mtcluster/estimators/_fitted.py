"""What a fitted model can do: label rows, score them, project them, and tell about itself."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._sklearn_compat import array_namespace
from ..consensus import Decisions
from ..core.arrays import Array, host
from ..core.centers import Centers
from ..core.couplings import COUPLINGS
from ..core.jobs import weighted_sums
from ..core.memberships import FORMS, one_hot
from ..core.metric import Metric
from ..core.model import Model
from ..core.offsets import Offsets
from ..core.projecting import axes_of, project
from ..core.readout import probabilities, read_out
from ..engines import Engine
from ._placement import place_tasks
from ._progress import warn_user
from ._validation import library, open_rows


class FittedModelMixin(TransformerMixin):
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
    temperature_: float
    own_temperature_: float
    _memberships: Array

    @property
    def memberships_(self) -> Array:
        """Memberships (n, c) of the training rows; rows sum to 1."""
        if "_memberships" in self.__dict__ or not hasattr(self, "labels_"):
            return self._memberships
        return one_hot(self.labels_, self._n_numbers, self.losses_.dtype, array_namespace(self.labels_))

    def explain(self, stability: Any = None) -> None:
        """Print what the fit decided from the data, and on what evidence; `decisions_` holds the same as numbers.

        Parameters
        ----------
        stability : Stability, optional
            Result of `mtcluster.model_selection.stability`: how sure one can be of the clusters.
        """
        check_is_fitted(self)
        from ..inspection import explain

        print(explain(self, stability))

    def relations(self) -> Any:
        """Which task holds which cluster: shared, private, absent or uncertain, with the support and number of rows.

        Returns
        -------
        relations : Relations
            See `mtcluster.inspection.relations`; `print` shows it as a table, `relations.table` has it by columns.
        """
        check_is_fitted(self)
        from ..inspection import relations

        return relations(self)

    def report(
        self, *, ids: Any = None, feature_names: Any = None, title: str | None = None, stability: Any = None
    ) -> Any:
        """The result as one HTML page: clusters by task, their features, a map, outliers, and what to try next.

        Parameters
        ----------
        ids : sequence of n, optional
            Names of the rows. None: their numbers.
        feature_names : sequence of d, optional
            Names of the features. None: `feature_names_in_`, or their numbers.
        title : str, optional
            Title of the page.
        stability : Stability, optional
            Result of `mtcluster.model_selection.stability`: how sure one can be of the clusters.

        Returns
        -------
        report : Report
            Shown by a notebook; `report.save("report.html")` writes it, and `report.summary` is the same as a dict.
            `mtcluster.inspection.make_report` takes more: cells of the user's table, how data were prepared.
        """
        check_is_fitted(self)
        from ..inspection import make_report

        return make_report(self, ids=ids, feature_names=feature_names, title=title, stability=stability)

    def to_kmeans(self, task: Any = None) -> Any:
        """A fitted `KMeans` that labels the rows of one task as this model does, for use elsewhere.

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
            self, X, tasks, reset=False, sample_weight=sample_weight, pooled=self._pools_tasks, n_jobs=self.n_jobs
        )
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

    def _placement(self, engine: Engine) -> tuple[Model, Centers, list[str]]:
        """The fitted model and its centres for the tasks of an engine, and notes about tasks that are new."""
        sizes, sharing = host(self.cluster_sizes_), host(self.within_weight_) < 1
        known = host(self.tasks_).tolist()
        return place_tasks(engine, *self._fitted(), known, sizes[sharing] if sharing.any() else sizes)

    def _placed(self, engine: Engine) -> tuple[Model, Centers]:
        """The same, with the notes as a warning."""
        model, centers, notes = self._placement(engine)
        if notes:
            warn_user(" ".join(notes))
        return model, centers

    def _read(self, engine: Engine) -> tuple[Any, Any]:
        """Memberships or labels, and losses, of the rows of an engine."""
        model, centers = self._placed(engine)
        with engine:
            Ps, Ls, _ = engine.apply(partial(read_out, model=model, centers=centers), outputs=2, lazy=True)
        return Ps, Ls

    def _probabilities(self, engine: Engine) -> Any:
        """Probabilities of the labels of the rows of an engine."""
        model, centers = self._placed(engine)
        alone = model.left_alone(len(centers.Ms))
        Ts = [self.own_temperature_ if own else self.temperature_ for own in alone.tolist()]
        with engine:
            job = partial(probabilities, model=model, centers=centers, temperatures=Ts)
            return engine.apply(job, outputs=1, lazy=True)[0]

    def predict(self, X: Any, *, tasks: Any = None) -> Array:
        """Cluster of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows, seen or new.
        tasks : sequence of n hashable labels, optional
            The task of each row. For rows of a task that was not in `fit` the shared centres decide, and a warning
            names it; where tasks have offsets (`task_offset_`), that of the new task is estimated from its rows, if it
            has at least 5 per cluster. None after a fit of several tasks: the shared centres decide for all rows.

        Returns
        -------
        labels : array of shape (n,)
            Cluster numbers, the same in every task; of clusters that the task holds (`cluster_presence_`). A new task
            may hold all of them.
        """
        engine = self._open(X, tasks, "predict")
        labels_only, xp = FORMS[self.membership_].labels_only, engine.xp
        P = engine.gather(self._read(engine)[0], *((np.int32,) if labels_only else (None, self._n_numbers)))
        return xp.astype(P if labels_only else xp.argmax(P, axis=1), xp.int32)

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
        tasks : sequence of n hashable labels, optional
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
        tasks : sequence of n hashable labels, optional
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
        tasks : sequence of n hashable labels, optional
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

    def transform(self, X: Any) -> Array:
        """Coordinates of each row in the shared subspace: X W, or X S⁻¹ W with a shared metric.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows of any task.

        Returns
        -------
        coordinates : array of shape (n, l)
            The same axes for every task.
        """
        engine, W = self._open(X, None, "transform"), axes_of(*self._fitted())
        return engine.gather(engine.apply(partial(project, W=W), outputs=1, lazy=True)[0], width=W.shape[1])
