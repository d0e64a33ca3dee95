"""ASI: its parameters."""

from __future__ import annotations

from ._base import MultiTaskClusterer


class ASI(MultiTaskClusterer):
    """Adaptive subspace iteration: one data set clustered in a subspace of its own.

    Minimises  Σ_i ‖x_i − p_i M Wᵀ‖²  over M, P and W with WᵀW = I: `LSSMTC` without the within-task term. Rows of
    several tasks are one data set to it; `PerTask(ASI(...))` takes them apart.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters c.
    n_components : int, default=None
        Dimension l of the subspace. None: the smaller of n_clusters and the number of features.
    coupling, membership, max_iter, tol, init, n_init, random_state, n_jobs, verbose
        As in `LSSMTC`.

    Attributes
    ----------
    labels_, memberships_, losses_, tasks_, task_centers_, shared_centers_, subspace_, map_, map_rows_, \
objective_trace_, n_iter_, converged_
        As in `LSSMTC`.

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
    >>> ASI(n_clusters=3, random_state=0).fit(load_iris().data).subspace_.shape
    (4, 3)
    """

    _pools_tasks = True
