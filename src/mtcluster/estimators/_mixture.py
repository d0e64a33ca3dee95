"""MultiTaskGaussianMixture: its parameters and its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from .._sklearn_compat import Interval, Registered, StrOptions
from ..consensus import Consensus
from ..core.arrays import Array
from ..core.couplings import COUPLINGS
from ..core.covariances import COVARIANCES, Full
from ..core.jobs import weighted_sums
from ..core.memberships import FORMS
from ..core.pacing import Schedule, fractions_of
from ..core.starts import STARTS
from ..core.weightings import WEIGHTINGS
from ..engines import Engine
from ._base import MultiTaskClusterer
from ._deciding import Settled
from ._density import MOST_OWN, DensityMixin
from ._multistart import Run
from ._numbers import NumberOfClusters
from ._previous import Previous

UNRELATED = 1e-3  # κ of a task that is left alone: its centres are its own
VARIANCES = 2.0  # ν where a cluster has variances alone


class MultiTaskGaussianMixture(DensityMixin, MultiTaskClusterer):
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
        centres of their own. "auto": chosen by the criterion of the candidates, see `Consensus`.
    task_offset : {"auto", "none", "matched", "mean"}, default="auto"
        Location of tasks. "matched": offsets are estimated with the clusters; "mean": they are the means of tasks.
        "auto": "matched" if the criterion of the candidates is lower with offsets than without.
    n_clusters_per_task : dict or sequence of int, optional
        Number of clusters that each task holds, by its label or in the order of `tasks_`. None: decided from the data.
        Needs the consensus as start.
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
    init : {"auto", "consensus", "random", "per-task", "pooled"}, Consensus or array of shape (n, c), default="auto"
        Starting memberships. "auto" is the consensus; see `SPMTC`. With others the tasks hold all clusters.
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
    changes_ : Changes
        After a fit with `previous`: how many rows moved from which cluster to which, and what was born, split, merged
        or died.
    selection_ : Selection
        How the number was chosen: the reason, and a table of all numbers that were compared. Only where `n_clusters` is
        "auto" or a pair.
    memberships_ : array of shape (n, c)
        Probability of each cluster, given the row.
    means_ : array of shape (c, d)
        Shared centres z_j.
    task_centers_ : array of shape (m, c, d)
        Centres M_kj of each task.
    covariances_ : array
        Covariances, of shape (d, d) for "tied", (c, d, d) for "full", (c, d) for "diag" and (c,) for "spherical".
    proportions_ : array of shape (m, c)
        Proportions π_kj of the clusters in each task; rows sum to 1.
    shrinkage_ : array of shape (m,)
        κ of each task; nearly 0 for a task that was left alone.
    cluster_presence_ : bool array of shape (m, c)
        Which clusters each task holds.
    feature_presence_ : array of shape (m, d)
        Whether a task has any value of a feature.
    missing_ : array of shape (m, d)
        Share of missing values of each feature in each task, in the rows that have any value.
    cluster_support_ : array of shape (m, c)
        Evidence for it, from 0 to 1; with another start than the consensus, how present each cluster is.
    lower_bound_ : float
        Penalised log-likelihood in the end, per row.
    lower_bounds_ : list of arrays
        The same after each iteration of each stage, within which it never falls.
    converged_ : bool
        Whether the last stage ended by `tol`.
    n_iter_ : int
        Total number of iterations.
    losses_ : array of shape (n,)
        Minus twice the log-density of each row, up to a constant; 0 is the least possible.
    weights_ : array of shape (n,)
        Weights v of the rows in the last stage; `weight_trace_` has those of all, and `fractions_` their fractions.
    tasks_ : array of shape (m,)
        Labels of the tasks.
    task_indices_ : array of shape (n,)
        Task of each row, as its index in `tasks_`.
    task_offset_, task_offsets_ : str, array of shape (m, d)
        Treatment of the location of tasks that was used, and the offset b_k of each task.
    within_weight_ : array of shape (m,)
        Usual share of a task's own centres, n / (n + κ); 1 for a task that was left alone.
    task_relatedness_ : array of shape (m, m)
        How similarly the clusters of two tasks lie, from 0 to 1.
    cluster_sizes_ : array of shape (m, c)
        Weighted number of rows of each cluster in each task, by their probabilities.
    subspace_ : array of shape (d, l)
        Directions W in which shared centres differ, Wᵀ S⁻¹ W = I, with S the covariance around all centres.
    shared_centers_ : array of shape (c, l)
        Coordinates of the shared centres in them: `means_` is `shared_centers_ @ subspace_.T`.
    decisions_ : Decisions
        What the fit decided from the data, and on what evidence.
    map_, map_rows_ : array
        What `mtcluster.plotting.plot_tasks` draws: coordinates of some rows, and which rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (d,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    SPMTC : One cluster per row, from easy examples to hard ones.
    Consensus : The start of default fits.
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

    coupling = "reconstruction"
    membership = "auto"
    n_init = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MultiTaskClusterer._parameter_constraints,
        "covariance_type": [Registered(COVARIANCES, "tied")],
        "covariance_prior": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, np.inf, closed="right")],
        "task_offset": [StrOptions({"auto", "none", "matched", "mean"})],
        "n_clusters_per_task": [Mapping, "array-like", None],
        "weighting": [Registered(WEIGHTINGS), None],
        "initial_fraction": [Interval(Real, 0, 1, closed="right")],
        "fraction_step": [Interval(Real, 0, 1, closed="right")],
        "final_fraction": [Interval(Real, 0, 1, closed="right")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "init": [Registered(STARTS, "auto", "consensus"), Consensus, "array-like"],
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

    @property
    def _paced(self) -> bool:  # type: ignore[override]
        return self.weighting is not None

    def _parts(self) -> tuple[Any, Any]:
        return COUPLINGS[self.coupling], FORMS["responsibilities"]

    def _other_parts(self) -> dict[str, Any]:
        form = COVARIANCES.get(self.covariance_type)
        return {} if form is None else {"covariance_type": form}

    def _consensus(self) -> Consensus:
        return replace(super()._consensus(), min_gain=-np.inf)  # a mixture of whatever there is

    def _within_weight(self) -> Any:
        return "auto"

    def _task_offset(self) -> str:
        return self.task_offset

    def _metric(self) -> str:
        return "shared"

    def _n_clusters_per_task(self) -> Any:
        return self.n_clusters_per_task

    def _schedule(self, start: Any) -> Schedule:
        if self.weighting is None:
            return Schedule(max_iter=self.max_iter, tol=self.tol)
        before = [f for f in fractions_of(self.initial_fraction, self.fraction_step) if f < self.final_fraction]
        rule = WEIGHTINGS[self.weighting].make(soft_rule="quantile", full_weight_share=start.full_weight_share)
        return Schedule((*before, float(self.final_fraction)), rule, 0, self.max_iter, self.tol)

    def _prepare(
        self, engine: Engine, random_state: np.random.RandomState, previous: Previous | None = None
    ) -> Settled:
        """What the consensus decided, as a mixture."""
        settled = super()._prepare(engine, random_state, previous)
        model, decisions = settled.model, settled.decisions
        assert model.metric is not None
        assert decisions.consensus is not None
        kappa = decisions.consensus.shrinkage if self.shrinkage == "auto" else float(self.shrinkage)
        alone = np.broadcast_to(model.shares[0] == 1, (len(engine.labels),)) & (self.shrinkage == "auto")
        form, auto, d = COVARIANCES.get(self.covariance_type), self.covariance_prior == "auto", engine.n_features
        metric = model.metric
        if not auto and form is None:
            metric = replace(metric, strength=self.covariance_prior / float(engine.summary.sizes.sum()))
        rows = (d + 1.0 if form is Full else VARIANCES) if auto else float(self.covariance_prior)
        model = replace(
            model, metric=metric, shrinkage=np.where(alone, UNRELATED, kappa)[None], proportions=True, log_shares=None,
            covariance=None if form is None else form(rows),
        )  # fmt: skip
        reason = "one task" if len(engine.labels) == 1 else "consensus" if self.shrinkage == "auto" else "set"
        return replace(settled, model=model, decisions=replace(decisions, within_weight_reason=reason))

    def _store(self, engine: Engine, settled: Settled, run: Run) -> None:
        super()._store(engine, settled, run)
        model = settled.model
        self.__dict__.pop("cluster_covariances_", None)
        assert model.shrinkage is not None
        self.shrinkage_ = model.shrinkage[0]
        sizes = self.cluster_sizes_
        share = np.sum(sizes**2 / (sizes + self.shrinkage_[:, None]), axis=1) / sizes.sum(axis=1)
        self.within_weight_ = np.where(self.shrinkage_ == UNRELATED, 1.0, np.minimum(share, MOST_OWN))
        self.means_ = run.centers.Z
        self.proportions_ = np.exp(self.log_proportions_)
        if run.centers.Ks is not None:
            self.cluster_covariances_ = run.centers.Ks
        totals = [float(engine.apply(weighted_sums, vs)[-1].sum()) for vs in run.fit.weight_trace]
        full = self.n_features_in_ * np.log(2 * np.pi)
        self.lower_bounds_: list[Array] = [
            -(trace / total + full) / 2 for trace, total in zip(run.fit.traces, totals, strict=True)
        ]
        self.lower_bound_ = float(self.lower_bounds_[-1][-1])
