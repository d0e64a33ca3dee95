"""ASI: its parameters."""

from __future__ import annotations

from typing import Any, ClassVar

from .._sklearn_compat import Registered
from ..core.starts import STARTS
from .base import MultiTaskClusterer
from .numbers import NumberOfClusters


class ASI(MultiTaskClusterer):
    """Adaptive subspace iteration: one data set, clustered in a subspace of its own.

    Minimises, over centres M in a subspace W and memberships P,

        Σ_i ‖x_i − p_i M Wᵀ‖²,    WᵀW = I.

    Rows of several tasks are one data set to it; `PerTask(ASI(...))` treats them separately.

    Parameters
    ----------
    n_clusters : int, "auto" or (int, int), default=8
        Number of clusters c. "auto": chosen from the data, at most 10; a pair such as (2, 6): between these, or 1 where
        nothing is clear (`selection_`).
    coupling : {"reconstruction", "projection"}, default="reconstruction"
        The shared term: ‖x − p M Wᵀ‖², or the paper's ‖x W − p M‖². The latter can be made 0 by a subspace in which
        the data do not vary; a warning says so.
    membership : {"auto", "binary", "nonnegative"}, default="auto"
        One cluster per row, or non-negative mixtures of centres (semi-NMF) for data with a meaningful zero, such as
        counts. "auto" is binary.
    n_components : int, default=None
        Dimension l of the subspace, at most the number of features. None: the smaller of n_clusters and the number of
        features.
    max_iter : "auto" or int, default="auto"
        Largest number of iterations. Reaching it is no fault and raises no warning (see `converged_`). "auto": 50.
    tol : float, default=1e-4
        The fit ends when an iteration lowers the objective by no more than this share.
    init : {"auto", "random", "per-task", "pooled"} or array of shape (n, c), default="auto"
        Starting memberships. "pooled" (the same as "per-task" and "auto" here): k-means of all rows. "random": random
        memberships. An array: the memberships themselves.
    n_init : "auto" or int, default="auto"
        Number of starts; the fit with the lowest sum of losses is kept. "auto": 3 for k-means (1 with
        `coupling="projection"`), 1 for a random start. With many rows, k-means looks at a sample of them.
    random_state : int, RandomState or None, default=None
        Determines random number generation. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads that work on parts of the rows; None: one per core. Starts run side by side whatever it is.
        It does not change the result.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Cluster of each row.
    n_clusters_ : int
        Number of clusters, given or chosen. After a fit with `previous` or a `partial_fit` arrays have room for more
        numbers: those of clusters that are no more, which no task holds.
    cluster_centers_ : array of shape (c, d)
        Centres of the clusters in the subspace, in feature space.
    task_centers_ : array of shape (1, c, d)
        Means of the clusters.
    tasks_ : array of shape (1,)
        Labels of the tasks, in the order of `task_centers_`.
    cluster_sizes_ : array of shape (1, c)
        Weighted number of rows of each cluster in each task.
    cluster_presence_ : array of shape (1, c)
        Whether a task holds a cluster. False: no row of that task has that label, here and in `predict`.
    task_relatedness_ : array of shape (1, 1)
        How similarly the clusters that two tasks both hold lie, from 0 to 1: 1 with one common cluster, 0 with none.
        It is measured in the metric of the fit.
    memberships_ : array of shape (n, c)
        Memberships; rows sum to 1. With binary memberships they are 0 or 1, computed from `labels_`; `predict_proba`
        tells how sure they are.
    losses_ : array of shape (n,)
        Loss of each row at the final centres.
    weights_ : array of shape (n,)
        Weights of the rows: all 1.
    objective_trace_ : list of arrays
        One array: the objective after each iteration.
    n_iter_ : int
        Total number of iterations.
    decisions_ : Decisions
        What the fit decided from the data, and on what evidence; prints as a table.
    fitted_ : Fitted
        The whole model as one record: centres, offsets, covariance, proportions, what tasks hold and share, and in
        `fitted_.rows` all values per row, such as the stage at which each was admitted.
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
    LSSMTC : Several data sets with a common subspace.

    References
    ----------
    T. Li, S. Ma, M. Ogihara. Document clustering via adaptive subspace iteration. SIGIR 2004.

    Examples
    --------
    >>> from mtcluster import ASI
    >>> from sklearn.datasets import load_iris
    >>> ASI(n_clusters=3, random_state=0).fit(load_iris().data).cluster_centers_.shape
    (3, 4)
    """

    _pools_tasks = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MultiTaskClusterer._parameter_constraints,
        "init": [Registered(STARTS, "auto"), "array-like"],
    }

    def __init__(
        self,
        n_clusters: NumberOfClusters = 8,
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
