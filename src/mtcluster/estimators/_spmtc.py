"""SPMTC: its parameters and its schedule."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..core.pacing import LOWER_SHARE, Schedule, schedule
from ._base import MultiTaskClusterer

VOTED_LOWER_SHARE = 0.95  # of the soft rule: after a vote there is less to protect against
WARMUP_ITER = 20  # where the start is no vote


class SPMTC(MultiTaskClusterer):
    """Self-paced multi-task clustering: several related data sets, clustered together from easy examples to hard ones.

    Minimises, over centres M_k of each task, centres M in a subspace W that all tasks share, memberships P_k and
    weights v,

        Σ_k Σ_i v_i [ λ1 ‖x_i − p_i M_k‖² + (1 − λ1) ‖x_i − p_i M Wᵀ‖² ] − f(λ2, v),    WᵀW = I,  0 ≤ v ≤ 1,

    while λ2 grows from admitting half of each task's examples to all of them. Cluster j is the same cluster in every
    task.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters c, the same in every task.
    weighting : {"soft", "hard"}, default="soft"
        Weights of the examples. Hard: 1 for the easiest fraction of a task, else 0. Soft: falling from 1 to 0 between
        two thresholds, so that the hardest examples keep little influence to the end.
    soft_rule : {"quantile", "paper"}, default="quantile"
        Thresholds of the soft weights. "quantile": both are quantiles of the task's losses, so no task can starve; the
        easiest 80 % of the selected examples have weight 1, after a vote 95 %.
        "paper": the lower is a third of the upper one (γ = λ2/2).
    coupling : {"reconstruction", "projection"}, default="reconstruction"
        The shared term: ‖x − p M Wᵀ‖², or the paper's ‖x W − p M‖². The latter can be made 0 by a subspace in which
        the data do not vary, which a warning then says.
    membership : {"auto", "binary", "nonnegative"}, default="auto"
        One cluster a row, or non-negative mixtures of centres (semi-NMF), for data with a meaningful zero such as
        counts. "auto" is binary: no set was found on which mixtures gave better clusters from the same start.
    within_weight : "auto" or float in [0, 1], default="auto"
        λ1, the share of the term within each task. 1: tasks are clustered apart; 0: all follow the shared centres.
        "auto": many quick fits that differ in λ1, in the start and in how much rows follow their neighbours vote on
        the cluster of each row, and the fit starts from their vote with λ1 = 0.7. A task is left alone (λ1 = 1) if its
        own best clustering has nothing in common with the vote, or if its clusters lie in other directions than those
        of all other tasks. A number: the plain model, fitted from `init`, with binary memberships and no task offset
        unless these are set.
    task_offset : {"auto", "none", "mean", "scale"}, default="auto"
        What the shared term makes of tasks that lie apart. "mean": the mean of each task is taken out of it; "scale":
        its spread too. "auto": "mean", but "none" where all rows have the same length, as TF-IDF rows do, and where
        `within_weight` is a number. Needs binary memberships and the reconstruction coupling.
    n_components : int, default=None
        Dimension l of the shared subspace, at most the number of features. None: the smaller of n_clusters and that
        number, where the subspace restricts nothing under the reconstruction coupling.
    initial_fraction : float in (0, 1], default=0.5
        The fraction of each task's examples in the first stage.
    fraction_step : float in (0, 1], default=0.1
        What each further stage adds to it. The last stage has all examples.
    warmup_iter : "auto" or int, default="auto"
        Iterations with all examples before the first stage, from which the first losses come. "auto": 20, or none
        after a vote.
    max_iter : "auto" or int, default="auto"
        Largest number of iterations of a stage. Reaching it is no fault and raises no warning (`converged_` tells):
        long inner loops lower the objective and can blur the clusters. "auto": 50, or 1 after a vote.
    tol : float, default=1e-4
        A stage ends when an iteration lowers its objective by no more than this share.
    init : {"auto", "random", "per-task", "pooled"} or array of shape (n, c), default="auto"
        Starting memberships. "per-task": k-means of each task, with centres matched across tasks. "pooled": k-means
        of all rows. "auto": the vote that `within_weight="auto"` takes; where that is a number, both kinds are tried
        and the lower sum of losses is kept. "random": random memberships. An array: the memberships themselves.
    n_init : "auto" or int, default="auto"
        Number of starts of each kind; the lowest sum of losses wins. "auto": 3 of each kind that begins with k-means (1
        with `coupling="projection"`, where each costs an eigenproblem of the size of the data a stage), 1 random
        start. A vote is one start. Where there are many rows, k-means looks at a sample of them.
    random_state : int, RandomState or None, default=None
        An int makes the fit repeatable.
    n_jobs : int, default=None
        Number of starts, or of groups of fits that vote, that run at the same time, in threads. The cores that this
        leaves work on parts of the rows. It does not change the result.
    verbose : int, default=0
        1 prints a line a stage.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of each row.
    memberships_ : array of shape (n, c)
        Memberships; rows sum to 1.
    losses_ : array of shape (n,)
        Loss of each row at the final centres.
    weights_ : array of shape (n,)
        Weights of the rows in the last stage.
    admitted_ : array of shape (n,)
        The fraction at which each row was first selected: its easiness, small is easy.
    weight_trace_ : array of shape (stages, n)
        Weights in every stage.
    fractions_ : array of shape (stages,)
        Fraction of each stage, ending at 1.
    tasks_ : array of shape (m,)
        Labels of the tasks, in the order of `task_centers_`.
    task_indices_ : array of shape (n,)
        The task of each row, as its index in `tasks_`.
    task_centers_ : array of shape (m, c, d)
        Centres M_k of each task.
    shared_centers_ : array of shape (c, l)
        Centres M in the shared subspace; `shared_centers_ @ subspace_.T` are they in feature space.
    subspace_ : array of shape (d, l)
        Orthonormal basis W of the shared subspace.
    within_weight_ : array of shape (m,)
        λ1 of each task; 1 for a task that was left alone.
    membership_, task_offset_ : str
        What was chosen for the parameters of these names.
    task_offsets_, task_scales_ : arrays of shape (m, d) and (m,)
        Where each task lies and how wide it is: its shared centres are `task_offsets_[k] + task_scales_[k] *
        (shared_centers_ @ subspace_.T)`. 0 and 1 where nothing is taken out.
    task_relatedness_ : array of shape (m, m)
        How alike the clusters of two tasks lie, from 0 to 1.
    cluster_support_ : array of shape (c, m)
        How present each cluster is in each task, from 0 (absent) to 1.
    cluster_sizes_ : array of shape (m, c)
        Rows of each cluster in each task, by weight.
    map_ : array of shape (k, at most 4)
        Where some rows lie in the shared subspace, in the common frame of the tasks, on the directions that tell the
        clusters apart best: what `mtcluster.plotting.plot_tasks` draws. All rows, but no more than about 20 000.
    map_rows_ : array of shape (k,)
        Which rows these are.
    objective_trace_ : list of arrays
        Σ v L after each iteration: of the warm-up, if there is one, then of each stage.
    n_iter_ : int
        Number of iterations in all.
    converged_ : bool
        Did the last stage end by `tol`?
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (d,)
        Names of the features, where X had names that are all strings.

    See Also
    --------
    LSSMTC : The same model without pacing.
    PerTask : Any scikit-learn clusterer on each task alone.
    Pooled : Any scikit-learn clusterer on all rows together.

    References
    ----------
    Y. Ren, X. Que, D. Yao, Z. Xu. Self-paced multi-task clustering.

    Examples
    --------
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    >>> model = SPMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks)
    >>> model.task_centers_.shape
    (3, 4, 10)
    >>> model.explain()  # doctest: +ELLIPSIS
    SPMTC: 4 clusters in 3 tasks, 300 rows.
    Start: a vote of 20 quick fits...
    """

    _paced = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MultiTaskClusterer._parameter_constraints,
        "weighting": [StrOptions({"soft", "hard"})],
        "soft_rule": [StrOptions({"quantile", "paper"})],
        "within_weight": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "task_offset": [StrOptions({"auto", "none", "mean", "scale"})],
        "initial_fraction": [Interval(Real, 0, 1, closed="right")],
        "fraction_step": [Interval(Real, 0, 1, closed="right")],
        "warmup_iter": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weighting: str = "soft",
        soft_rule: str = "quantile",
        coupling: str = "reconstruction",
        membership: str = "auto",
        within_weight: Any = "auto",
        task_offset: str = "auto",
        n_components: int | None = None,
        initial_fraction: float = 0.5,
        fraction_step: float = 0.1,
        warmup_iter: Any = "auto",
        max_iter: Any = "auto",
        tol: float = 1e-4,
        init: Any = "auto",
        n_init: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_clusters,
            coupling=coupling,
            membership=membership,
            n_components=n_components,
            max_iter=max_iter,
            tol=tol,
            init=init,
            n_init=n_init,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.weighting = weighting
        self.soft_rule = soft_rule
        self.within_weight = within_weight
        self.task_offset = task_offset
        self.initial_fraction = initial_fraction
        self.fraction_step = fraction_step
        self.warmup_iter = warmup_iter

    def _within_weight(self) -> Any:
        return self.within_weight

    def _task_offset(self) -> str:
        return self.task_offset

    def _schedule(self, voted: bool) -> Schedule:
        fractions = tuple(schedule(self.initial_fraction, self.fraction_step))
        warmup = (0 if voted else WARMUP_ITER) if isinstance(self.warmup_iter, str) else self.warmup_iter
        lower = VOTED_LOWER_SHARE if voted else LOWER_SHARE
        return Schedule(fractions, self.weighting, self.soft_rule, warmup, self._max_iter(voted), self.tol, lower)
