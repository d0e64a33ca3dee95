"""LSSMTC: its parameters."""

from __future__ import annotations

from typing import Any

from .base import MultiTaskClusterer
from .numbers import NumberOfClusters


class LSSMTC(MultiTaskClusterer):
    """Learning the shared subspace for multi-task clustering: several related data sets, clustered together.

    Minimises, over centres M_k of each task, centres M in a subspace W that all tasks share, and memberships P_k,

        Σ_k Σ_i λ1 ‖x_i − p_i M_k‖² + (1 − λ1) ‖x_i − p_i M Wᵀ‖²,    WᵀW = I.

    Every example has weight 1, also in the search that default fits start from. Cluster j is the same cluster in
    every task that holds it. By default distances are those of a metric that is estimated with the clusters, shared by
    all tasks, and tasks may lie apart and lack clusters; `explain()` tells what was decided, `relations()` which task
    holds which cluster.

    Read more in the :doc:`user guide </guide/index>`.

    Parameters
    ----------
    n_clusters : int, "auto" or (int, int), default=8
        Number of clusters c of all tasks together. A task may hold some of them only, see `cluster_presence_`. "auto":
        chosen from the data, at most 10; a pair such as (2, 6): between these, or 1 where nothing is clear. See
        `selection_`.
    coupling : {"reconstruction", "projection"}, default="reconstruction"
        The shared term: ‖x − p M Wᵀ‖², or the paper's ‖x W − p M‖². The latter can be made 0 by a subspace in which
        the data do not vary; a warning says so.
    membership : {"auto", "binary", "nonnegative"}, default="auto"
        One cluster per row, or non-negative mixtures of centres (semi-NMF) for data with a meaningful zero, such as
        counts. "auto" is binary.
    within_weight : "auto" or float in [0, 1], default="auto"
        λ1, the share of the term within each task. 1: tasks are clustered separately; 0: all follow the shared
        centres. "auto": decided by a `Search`. With a shared metric it is estimated for each task,
        and 0 if the shared centres alone describe the rows; else it is 0.5. It is 1 for a task whose own
        clusters have nothing in common with those of the others. A number gives the plain model.
    task_offset : {"auto", "none", "matched", "mean", "scale"}, default="auto"
        What the shared term does with tasks that lie apart. "matched": offsets are estimated with the clusters, from
        those that tasks have in common, so that tasks may hold different clusters. "mean": the mean of each task is
        removed; "scale": its spread too. "auto": where fits with a shared metric decide, "matched" or "none", by a
        criterion in which offsets have to pay for themselves; else "mean" if that makes pooled clusters tighter. It is
        "none" if all rows have the same length, as TF-IDF rows do, or if `within_weight` is a number. Needs binary
        memberships and the reconstruction coupling.
    metric : {"auto", "shared", "euclidean"}, default="auto"
        How distances are measured. "shared": relative to the scatter within clusters, by one covariance for all tasks
        that is estimated with the clusters; units of the features then do not matter. Needs binary memberships and the
        reconstruction coupling, and does not go with `n_components` below `n_clusters` or `task_offset="scale"`.
        "auto": "shared", but "euclidean" where that is impossible, for rows of unit length, for sparse rows, for more
        than 50 features and rows (`dimensions` of `Search`), where no clear clusters are found with it, and if
        `within_weight` is a number. For more features, and for sparse rows that are not counts, the fits that decide
        about the tasks have a shared metric nevertheless.
    n_clusters_per_task : dict, or array of shape (m,), default=None
        The largest number of clusters of each task, by its label or in the order of `tasks_`, where it is known. None:
        decided from the data. Needs a search as start.
    n_components : int, default=None
        Dimension l of the shared subspace, at most the number of features. None: the smaller of n_clusters and the
        number of features, at which the subspace restricts nothing under the reconstruction coupling.
    max_iter : "auto" or int, default="auto"
        Largest number of iterations. Reaching it is no fault and raises no warning (see `converged_`): long loops lower
        the objective and can blur the clusters. "auto": as the start recommends, 1 for a search and 50 for other
        starts.
    tol : float, default=1e-4
        The fit ends when an iteration lowers the objective by no more than this share.
    init : {"auto", "search", "random", "per-task", "pooled"}, Search or array of shape (n, c), default="auto"
        Starting memberships. "search", or a `Search` with parameters of its own: the labels of the highest evidence.
        "per-task": k-means of each task, clusters matched across tasks. "pooled": k-means of all rows. "random": random
        memberships. "auto": the search if `within_weight="auto"`, else both kinds of k-means. An array: the
        memberships themselves.
    n_init : "auto" or int, default="auto"
        Number of starts of each kind; the fit with the lowest sum of losses is kept. "auto": as the start recommends,
        1 for a search or a random start and 3 for k-means (1 with `coupling="projection"`, where each costs an
        eigenproblem of the size of the data per stage). With many rows, k-means looks at a sample of them.
    forgetting : float in (0, 1], default=1.0
        What all earlier rows count with every call of `partial_fit`. 1: as much as new ones.
    match : {"columns", "geometry"}, default="columns"
        How data sets of a dict or list correspond. "columns": by the names of their columns; every data set must be
        linked to the others by columns that two of them have. "geometry": those that no common column links are
        fitted on their own, and their clusters are matched by the distances between centres alone, where these
        distances leave no doubt and samples of the rows agree; otherwise clusters have numbers of their own, and a
        warning says so (`matching_`). Arrays without names then have no column in common with others. For more than 8
        clusters it needs `pip install 'mtcluster[geometry]'`.
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
        Centres that all tasks share, in the common frame of the tasks.
    task_centers_ : array of shape (m, c, d)
        Centres M_k of each task.
    tasks_ : array of shape (m,)
        Labels of the tasks, in the order of `task_centers_`.
    cluster_sizes_ : array of shape (m, c)
        Weighted number of rows of each cluster in each task.
    cluster_presence_ : array of shape (m, c)
        Whether a task holds a cluster. False: no row of that task has that label, here and in `predict`.
    task_relatedness_ : array of shape (m, m)
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
        One array: the objective after each iteration. With a shared metric, plus the
        log-determinant and the prior of its covariance.
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
    drift_ : Drift
        After `partial_fit`: how far tasks and clusters moved in each batch, and which clusters came and went.
    selection_ : Selection
        How the number was chosen: the reason, and a table of all numbers that were compared. Only where `n_clusters` is
        "auto" or a pair.
    matching_ : list of Matching
        With `match="geometry"`, how the clusters of data sets without a common column were matched, and on what
        evidence: one for each group of data sets after the first. Coordinates of a cluster in columns that no
        task with that cluster has are means of the other clusters.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (d,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    SPMTC : The same model, from easy examples to hard ones.
    Search : The start of default fits.

    References
    ----------
    Q. Gu, J. Zhou. Learning the shared subspace for multi-task clustering and transductive transfer classification.
    ICDM 2009.

    Examples
    --------
    >>> from mtcluster import LSSMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, random_state=0)
    >>> LSSMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks).cluster_centers_.shape
    (3, 10)
    """

    def __init__(
        self,
        n_clusters: NumberOfClusters = 8,
        *,
        coupling: str = "reconstruction",
        membership: str = "auto",
        within_weight: Any = "auto",
        task_offset: str = "auto",
        metric: str = "auto",
        n_clusters_per_task: Any = None,
        n_components: int | None = None,
        max_iter: Any = "auto",
        tol: float = 1e-4,
        init: Any = "auto",
        n_init: Any = "auto",
        forgetting: float = 1.0,
        match: str = "columns",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.coupling = coupling
        self.membership = membership
        self.within_weight = within_weight
        self.task_offset = task_offset
        self.metric = metric
        self.n_clusters_per_task = n_clusters_per_task
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.forgetting = forgetting
        self.match = match
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
