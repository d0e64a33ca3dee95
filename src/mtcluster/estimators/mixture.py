"""MultiTaskGaussianMixture: its parameters and its model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from .._sklearn_compat import Interval, Registered, StrOptions, array_namespace
from .._utils.tasks import positions
from ..core.arrays import Array
from ..core.covariances import COVARIANCES, Full, OfClusters
from ..core.fitted import Fitted
from ..core.geometry import Geometry, Tied
from ..core.memberships import FORMS
from ..core.model import total_loss
from ..core.pacing import Stages, fractions_of
from ..core.sharing import UNRELATED_ROWS, Shrink
from ..core.weightings import WEIGHTINGS
from ..engines import Engine
from .base import MultiTaskClusterer
from .input import Given
from .merging import as_told
from .numbers import NumberOfClusters
from .plan import Asked, Plan, Recommends

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

VARIANCES = 2.0  # ν where a cluster has variances alone


class MultiTaskGaussianMixture(MultiTaskClusterer):
    """Gaussian mixture of several related data sets, with clusters that correspond across them.

    Maximises, over shared centres z_j, offsets b_k of the tasks, their own centres M_kj, proportions π_kj and
    covariances S_j that all tasks share, the penalised log-likelihood

        Σ_k Σ_i v_i log Σ_j π_kj N(x_i; M_kj, S_j) − κ/2 Σ_kj ‖M_kj − b_k − z_j‖²_{S_j⁻¹} + log p(S) + log p(π),

    so that the centre of a cluster with n rows in a task lies n / (n + κ) of the way from the shared centre to the
    mean of these rows. Cluster j is the same cluster in every task that holds it; others have the proportion 0. The
    priors p(S) and p(π) are worth a few rows; no covariance is singular.

    Read more in the :doc:`user guide </guide/index>`.

    Parameters
    ----------
    n_clusters : int, "auto" or (int, int), default=8
        Number of clusters c of all tasks together. "auto": chosen from the data, at most 10; a pair such as (2, 6):
        between these, or 1 where nothing is clear (`selection_`).
    covariance_type : {"tied", "full", "diag", "spherical"}, default="tied"
        Covariances, shared by the tasks: one for all clusters, or for each cluster any covariance, variances of the
        features, or one variance. "tied" and "full" do not depend on the units of the columns, nor does "diag".
        "full" works on at most 500 features.
    covariance_prior : "auto" or float, default="auto"
        Weight of the prior of the covariances, in rows. The one of "tied" is drawn to the covariance within tasks;
        "auto": by a hundredth of the rows. Others are drawn to the covariance that clusters have in common where the
        fit starts; "auto": by d + 1 rows each for "full", by 2 rows for "diag" and "spherical".
    shrinkage : "auto" or float, default="auto"
        κ, the number of rows by which the centres of a task are drawn to the shared ones; infinite: tasks have no
        centres of their own. "auto": chosen by the criterion of the candidates, see `Search`.
    task_offset : {"auto", "none", "matched", "mean"}, default="auto"
        Location of tasks. "matched": offsets are estimated with the clusters; "mean": they are the means of tasks.
        "auto": "matched" if the criterion of the candidates is lower with offsets than without.
    n_clusters_per_task : dict or sequence of int, optional
        Number of clusters that each task holds, by its label or in the order of `tasks_`. None: decided from the data.
        Needs the search as start.
    weighting : {None, "hard", "soft"}, default=None
        Weights v of the rows. None: 1. "hard" and "soft": from easy rows to hard ones, as in `SPMTC`. Where rows
        belong to no cluster, they keep these from drawing centres and covariances away.
    initial_fraction : float in (0, 1], default=0.5
        With weights, the fraction of each task's rows that is selected in the first stage.
    fraction_step : float in (0, 1], default=0.1
        What each further stage adds to the fraction.
    final_fraction : float in (0, 1], default=0.9
        Fraction of the last stage. The other rows, those of lowest density in each task, never count: a trimmed
        mixture. It should be at most the share of rows that belong to clusters; covariances are those of the rows
        that count.
    max_iter : int, default=100
        Largest number of iterations per stage.
    tol : float, default=1e-4
        A stage ends when an iteration raises the lower bound by no more than half of this, per row.
    init : {"auto", "search", "random", "per-task", "pooled"}, Search or array of shape (n, c), default="auto"
        Starting memberships. "auto" is the search; see `SPMTC`. With others the tasks hold all clusters.
    random_state : int, RandomState or None, default=None
        Determines random number generation. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads that work on parts of the rows; None: one per core. It does not change the result.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The most probable cluster of each row.
    n_clusters_ : int
        Number of clusters, given or chosen.
    memberships_ : array of shape (n, c)
        Probability of each cluster, given the row.
    means_ : array of shape (c, d)
        Shared centres z_j; the same as `cluster_centers_`.
    task_centers_ : array of shape (m, c, d)
        Centres M_kj of each task.
    covariances_ : array
        Covariances, of shape (d, d) for "tied", (c, d, d) for "full", (c, d) for "diag" and (c,) for "spherical".
    proportions_ : array of shape (m, c)
        Proportions π_kj of the clusters in each task; rows sum to 1.
    lower_bound_ : float
        Penalised log-likelihood in the end, per row.
    lower_bounds_ : list of arrays
        The same after each iteration of each stage, within which it never falls.
    tasks_ : array of shape (m,)
        Labels of the tasks.
    cluster_sizes_ : array of shape (m, c)
        Weighted number of rows of each cluster in each task, by their probabilities.
    cluster_presence_ : bool array of shape (m, c)
        Which clusters each task holds.
    task_relatedness_ : array of shape (m, m)
        How similarly the clusters of two tasks lie, from 0 to 1.
    losses_ : array of shape (n,)
        Minus twice the log-density of each row, up to a constant; 0 is the least possible.
    weights_ : array of shape (n,)
        Weights v of the rows in the last stage.
    n_iter_ : int
        Total number of iterations.
    decisions_ : Decisions
        What the fit decided from the data, and on what evidence.
    fitted_ : Fitted
        The whole model as one record; see `SPMTC`.
    changes_ : Changes
        After a fit with `previous`: how many rows moved from which cluster to which, and what was born, split, merged
        or died.
    selection_ : Selection
        How the number was chosen: the reason, and a table of all numbers that were compared. Only where `n_clusters` is
        "auto" or a pair.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (d,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    SPMTC : One cluster per row, from easy examples to hard ones.
    Search : The start of default fits.
    sklearn.mixture.GaussianMixture : The mixture of one data set.

    Examples
    --------
    >>> from mtcluster import MultiTaskGaussianMixture
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    >>> model = MultiTaskGaussianMixture(n_clusters=4, random_state=0).fit(X, tasks=tasks)
    >>> model.predict_proba(X[:1], tasks=tasks[:1]).shape
    (1, 4)
    >>> model.covariances_.shape
    (10, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MultiTaskClusterer._parameter_constraints,
        "covariance_type": [Registered(COVARIANCES, "tied")],
        "covariance_prior": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, np.inf, closed="right")],
        "task_offset": [StrOptions({"auto", "none", "matched", "mean"})],
        "weighting": [Registered(WEIGHTINGS), None],
        "initial_fraction": [Interval(Real, 0, 1, closed="right")],
        "fraction_step": [Interval(Real, 0, 1, closed="right")],
        "final_fraction": [Interval(Real, 0, 1, closed="right")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: NumberOfClusters = 8,
        *,
        covariance_type: str = "tied",
        covariance_prior: Any = "auto",
        shrinkage: Any = "auto",
        task_offset: str = "auto",
        n_clusters_per_task: Any = None,
        weighting: str | None = None,
        initial_fraction: float = 0.5,
        fraction_step: float = 0.1,
        final_fraction: float = 0.9,
        max_iter: int = 100,
        tol: float = 1e-4,
        init: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance_type = covariance_type
        self.covariance_prior = covariance_prior
        self.shrinkage = shrinkage
        self.task_offset = task_offset
        self.n_clusters_per_task = n_clusters_per_task
        self.weighting = weighting
        self.initial_fraction = initial_fraction
        self.fraction_step = fraction_step
        self.final_fraction = final_fraction
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _asked(self, n_clusters: int) -> Asked:
        return Asked.of(
            self, n_clusters, membership=FORMS["responsibilities"], membership_set=False, within_weight="auto",
            metric="shared", shares=True, always_metric=True, covariance=COVARIANCES.get(self.covariance_type, Tied),
        )  # fmt: skip

    def _stages(self, start: Recommends) -> Stages:
        if self.weighting is None:
            return Stages(max_iter=self.max_iter, tol=self.tol)
        before = [f for f in fractions_of(self.initial_fraction, self.fraction_step) if f < self.final_fraction]
        rule = WEIGHTINGS[self.weighting].make(soft_rule="quantile", full_weight_share=start.full_weight_share)
        return Stages((*before, float(self.final_fraction)), rule, 0, self.max_iter, self.tol)

    def _completed(self, plan: Plan, asked: Asked, engine: Engine) -> Plan:
        """Tell what the search decided, as a mixture."""
        model, decisions, own = plan.model, plan.decisions, self.shrinkage != "auto"
        assert isinstance(model.geometry, Tied)
        assert decisions.search is not None
        kappa = float(self.shrinkage) if own else decisions.search.shrinkage
        alone = np.broadcast_to(model.sharing.within[0] == 1, (len(engine.labels),)) & (not own)
        form, auto, d = COVARIANCES.get(self.covariance_type), self.covariance_prior == "auto", engine.n_features
        geometry: Geometry = model.geometry
        if not auto and form is None:
            strength = self.covariance_prior / float(engine.summary.sizes.sum())
            geometry = replace(model.geometry, strength=strength)
        if form is not None:
            rows = (d + 1.0 if form is Full else VARIANCES) if auto else float(self.covariance_prior)
            geometry = form.of(model.geometry, rows)
        sharing = Shrink.of(np.where(alone, UNRELATED_ROWS, kappa)[None], model.sharing.within)
        model = replace(model, geometry=geometry, sharing=sharing, proportions=True, log_shares=None)
        reason = "one task" if len(engine.labels) == 1 else "set" if own else "search"
        return replace(plan, model=model, decisions=replace(decisions, within_weight_reason=reason))

    def _published(self, fitted: Fitted, small: Callable[[Array], Array]) -> dict[str, object]:
        """Return the public attributes, with those of a mixture."""
        full, centers = self.n_features_in_ * np.log(2 * np.pi), as_told(fitted).centers
        logs = centers.log_shares
        assert logs is not None
        bounds = [-(trace / n + full) / 2 for trace, n in zip(fitted.traces, fitted.stage_sizes, strict=True)]
        return super()._published(fitted, small) | {
            "means_": small(centers.shared.astype(centers.Ms.dtype)),
            "proportions_": small(np.exp(logs)),
            "lower_bounds_": bounds,
            "lower_bound_": float(bounds[-1][-1]),
        }

    @property
    def covariances_(self) -> Array:
        """Covariances, in the shapes of `sklearn.mixture.GaussianMixture`."""
        geometry = self.fitted_.centers.geometry.take("R", None)
        found = geometry.dense()[0] if isinstance(geometry, Tied) else vars(geometry)["K"][0]
        return self._with_rows(found)

    def _with_rows(self, values: Array) -> Array:
        """Bring a NumPy array to the library and the place of the rows of the fit."""
        mine = self.__dict__["task_centers_"]
        xp = array_namespace(mine)
        return values if xp is array_namespace(values) else xp.asarray(values, device=mine.device)

    @property
    def _normalizer(self) -> float:
        """What the loss of a row lacks of minus twice its log-density."""
        model, centers = self.fitted_.model, self.fitted_.centers.take("R", None)
        return self.n_features_in_ * float(np.log(2 * np.pi)) + float(model.log_volume(centers)[0])

    def score_samples(self, X: Any, *, tasks: Any = None) -> Array:
        """Return the log-density of each row.

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
        """Return the weighted mean of the log-density.

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
        mean = total_loss(engine, self._read(engine)[1]) / float(engine.summary.sizes.sum())
        return -(mean + self._normalizer) / 2

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

    def _criterion(self, X: Given, tasks: Given, method: str, price: Callable[[float], float]) -> float:
        engine = self._open(X, tasks, method)
        total, n = total_loss(engine, self._read(engine)[1]), float(engine.summary.sizes.sum())
        return total + n * self._normalizer + self._n_parameters() * float(price(n))

    def _n_parameters(self) -> float:
        """Return free parameters; own centres by their effective number."""
        fitted, form = self.fitted_, COVARIANCES.get(self.covariance_type)
        (m, c, d), holds = fitted.centers.Ms.shape, fitted.holds
        sizes, kappa = fitted.sizes, vars(fitted.model.sharing)["rows"][0][:, None]
        own = float(np.sum(np.where(holds, sizes / (sizes + kappa), 0))) * d
        offsets = (m - 1) * d if fitted.task_offset in ("matched", "mean") else 0
        tied = fitted.centers.geometry.tied
        q = vars(tied)["K"].shape[0]
        shape = q * (q + 1) // 2 + (q < d) if form is None else form.n_parameters(c, d)
        return c * d + own + offsets + float((holds.sum(axis=1) - 1).sum()) + shape

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
        fitted, rng = self.fitted_, check_random_state(self.random_state)
        known, Ms, logs = fitted.tasks.tolist(), fitted.centers.Ms, fitted.centers.log_shares
        assert logs is not None
        centers, shares = fitted.centers.shared.astype(Ms.dtype), fitted.exists.astype(float)
        if task is not None or len(known) == 1:
            [k] = [0] if task is None else positions([task], known)
            if k is None:
                raise ValueError(f"task={task!r} was not in fit: there are {known}.")
            centers, shares = Ms[k], np.exp(logs[k])
        labels = rng.choice(len(centers), size=n_samples, p=shares / shares.sum())
        noise = rng.standard_normal((n_samples, centers.shape[1]))
        X = centers[labels].astype(np.float64) + self._shaped(noise, labels)
        return self._with_rows(X.astype(Ms.dtype)), self._with_rows(labels)

    def _shaped(self, noise: Array, labels: Array) -> Array:
        """Return standard normal noise with the covariances of clusters."""
        geometry = self.fitted_.centers.geometry
        if not isinstance(geometry, OfClusters):
            return geometry.whiten(noise, -0.5)
        found = np.empty_like(noise)
        for j in np.unique(labels).tolist():
            found[labels == j] = geometry.draw(noise[labels == j], j)
        return found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.covariance_type not in COVARIANCES
        return tags

    def to_kmeans(self, task: Any = None) -> KMeans:
        """Refused: clusters of a mixture have shapes, and those of `KMeans` have none."""
        raise TypeError(
            f"{type(self).__name__} cannot become a KMeans, whose distances are Euclidean: use predict, or fit SPMTC "
            "with metric='euclidean'."
        )
