"""What a fitted mixture can do beside labels: densities, criteria for the number of clusters, new rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._sklearn_compat import array_namespace
from .._utils.tasks import positions
from ..core.arrays import Array, host
from ..core.centers import Centers
from ..core.covariances import COVARIANCES
from ..core.jobs import weighted_sums
from ..core.metric import Shape
from ..core.model import Model
from ._fitted import FittedModelMixin

MOST_OWN = 0.99  # share of own centres that counts as sharing


class DensityMixin(FittedModelMixin):
    """Methods that read fitted attributes alone."""

    covariance_type: str
    random_state: Any
    means_: Array
    proportions_: Array
    shrinkage_: Array
    n_features_in_: int
    cluster_covariances_: Array

    @property
    def covariances_(self) -> Array:
        """Covariances, in the shapes of `sklearn.mixture.GaussianMixture`."""
        if hasattr(self, "cluster_covariances_"):
            return self.cluster_covariances_
        K, rest = self.metric_covariance_, self.metric_rest_
        if not hasattr(self, "metric_directions_"):
            return K
        V, xp = self.metric_directions_, array_namespace(K)
        inside = V @ (K - rest * xp.eye(K.shape[0], dtype=K.dtype)) @ V.T
        return inside + rest * xp.eye(V.shape[0], dtype=K.dtype)

    def _fitted(self) -> tuple[Model, Centers]:
        model, centers = super()._fitted()
        model = replace(model, shrinkage=host(self.shrinkage_)[None], proportions=True)
        if hasattr(self, "cluster_covariances_"):
            form = COVARIANCES[self.covariance_type](1.0)
            model, centers = replace(model, covariance=form), replace(centers, Ks=host(self.cluster_covariances_))
        return model, centers

    def _set_mixture(self, kappa: Array, centers: Centers, n_old: int) -> None:
        """What a mixture has beside other models, after tasks have joined it."""
        sizes, alone = host(self.cluster_sizes_), host(self.within_weight_) == 1
        total = np.maximum(sizes.sum(axis=1), np.finfo(np.float64).tiny)
        share = np.minimum(np.sum(sizes**2 / (sizes + kappa[:, None]), axis=1) / total, MOST_OWN)
        alone[n_old:] = False
        self.within_weight_ = np.where(alone, 1.0, share)
        self.shrinkage_, self.means_ = np.array(kappa), np.asarray(centers.shared)
        self.proportions_ = np.exp(self.log_proportions_)
        if centers.Ks is not None:
            self.cluster_covariances_ = centers.Ks

    @property
    def _normalizer(self) -> float:
        """What the loss of a row lacks of minus twice its log-density."""
        model, centers = self._fitted()
        return self.n_features_in_ * float(np.log(2 * np.pi)) + float(model.log_volume(centers.runs(None))[0])

    def score_samples(self, X: Any, *, tasks: Any = None) -> Array:
        """Log-density of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows, seen or new.
        tasks : sequence of n hashable labels or str, optional
            The task of each row; see `predict`.

        Returns
        -------
        log_density : array of shape (n,)
            Log of the density of the row in its task: low values indicate outliers.
        """
        engine = self._open(X, tasks, "score_samples")
        return -(engine.gather(self._read(engine)[1]) + self._normalizer) / 2

    def score(self, X: Any, y: Any = None, *, tasks: Any = None, sample_weight: Any = None) -> float:
        """Weighted mean of the log-density.

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
            Higher is better; comparable between all models of the same rows.
        """
        engine = self._open(X, tasks, "score", sample_weight)
        mean = engine.apply(weighted_sums, self._read(engine)[1])[-1].sum() / engine.summary.sizes.sum()
        return -(float(mean) + self._normalizer) / 2

    def bic(self, X: Any, *, tasks: Any = None) -> float:
        """Bayesian information criterion of some rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows, those of `fit` as a rule.
        tasks : sequence of n hashable labels or str, optional
            The task of each row; see `predict`.

        Returns
        -------
        bic : float
            The lower the better. Centres that tasks have of their own count by their effective number,
            Σ n / (n + κ) for clusters of n rows.
        """
        return self._criterion(X, tasks, "bic", np.log)

    def aic(self, X: Any, *, tasks: Any = None) -> float:
        """Akaike information criterion of some rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
            Rows, those of `fit` as a rule.
        tasks : sequence of n hashable labels or str, optional
            The task of each row; see `predict`.

        Returns
        -------
        aic : float
            The lower the better; parameters count as in `bic`.
        """
        return self._criterion(X, tasks, "aic", lambda n: 2.0)

    def _criterion(self, X: Any, tasks: Any, method: str, price: Any) -> float:
        engine = self._open(X, tasks, method)
        total = float(engine.apply(weighted_sums, self._read(engine)[1])[-1].sum())
        n = float(engine.summary.sizes.sum())
        return total + n * self._normalizer + self._n_parameters() * float(price(n))

    def _n_parameters(self) -> float:
        """Free parameters; own centres by their effective number."""
        (m, c, d), sizes, kappa = self.task_centers_.shape, host(self.cluster_sizes_), host(self.shrinkage_)[:, None]
        present = host(self.cluster_presence_)
        own = float(np.sum(np.where(present, sizes / (sizes + kappa), 0))) * d
        offsets = (m - 1) * d if self.decisions_.task_offset in ("matched", "mean") else 0
        form, l = COVARIANCES.get(self.covariance_type), self.metric_covariance_.shape[0]
        shape = l * (l + 1) // 2 + (l < d) if form is None else form.n_parameters(c, d)
        return c * d + own + offsets + float((present.sum(axis=1) - 1).sum()) + shape

    def sample(self, n_samples: int = 1, *, task: Any = None) -> tuple[Array, Array]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        task : label of a task, optional
            The task whose rows are drawn. None: rows of a task that was not in `fit`, around the shared centres and in
            equal proportions, as `predict` takes it; after a fit of one task, rows of that task.

        Returns
        -------
        X : array of shape (n_samples, d)
            Rows, in random order.
        labels : array of shape (n_samples,)
            The cluster that each row was drawn from.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples={n_samples!r} should be at least 1.")
        rng, known = check_random_state(self.random_state), host(self.tasks_).tolist()
        centers, shares = host(self.means_), self._living().astype(float)
        if task is not None or len(known) == 1:
            [k] = [0] if task is None else positions([task], known)
            if k is None:
                raise ValueError(f"task={task!r} was not in fit: there are {known}.")
            centers, shares = host(self.task_centers_)[k], host(self.proportions_)[k]
        labels = rng.choice(len(centers), size=n_samples, p=shares / shares.sum())
        noise = rng.standard_normal((n_samples, centers.shape[1]))
        X = centers[labels].astype(np.float64) + self._shaped(noise, labels)
        xp = array_namespace(self.task_centers_)
        if xp is array_namespace(noise):
            return X.astype(host(self.task_centers_).dtype), labels
        device = {"device": self.task_centers_.device}
        return xp.asarray(X, dtype=self.task_centers_.dtype, **device), xp.asarray(labels, **device)

    def _shaped(self, noise: Array, labels: Array) -> Array:
        """Standard normal noise with the covariances of clusters."""
        if not hasattr(self, "cluster_covariances_"):
            V = host(self.metric_directions_) if hasattr(self, "metric_directions_") else None
            shape = Shape(V, host(self.metric_covariance_)[None], np.array([self.metric_rest_]))
            return shape.power(noise[None], -0.5)[0]
        form, Ks = COVARIANCES[self.covariance_type](1.0), host(self.cluster_covariances_)
        found = np.empty_like(noise)
        for j in np.unique(labels):
            found[labels == j] = form.draw(noise[labels == j], Ks[j])
        return found

    def to_kmeans(self, task: Any = None) -> Any:
        """Refused: clusters of a mixture have shapes, and those of `KMeans` have none."""
        raise TypeError(
            f"{type(self).__name__} cannot become a KMeans, whose distances are Euclidean: use predict, or fit SPMTC "
            "with metric='euclidean'."
        )
