"""LSSMTC: its parameters."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ._base import MultiTaskClusterer


class LSSMTC(MultiTaskClusterer):
    """Learning the shared subspace for multi-task clustering: `SPMTC` without pacing, every example with weight 1.

    Minimises  Σ_k Σ_i λ1 ‖x_i − p_i M_k‖² + (1 − λ1) ‖x_i − p_i M Wᵀ‖²  over M_k, M, P_k and W with WᵀW = I.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters c, the same in every task.
    coupling, membership, within_weight, task_offset, n_components, max_iter, tol, init, n_init, random_state, n_jobs, \
verbose
        As in `SPMTC`. In the vote, too, every example counts the same.

    Attributes
    ----------
    labels_, memberships_, losses_, tasks_, task_indices_, task_centers_, shared_centers_, subspace_, within_weight_, \
membership_, task_offset_, task_offsets_, task_scales_, task_relatedness_, cluster_support_, cluster_sizes_, map_, \
map_rows_, n_iter_, converged_
        As in `SPMTC`.
    objective_trace_ : list of one array
        The objective after each iteration.
    weights_, admitted_, weight_trace_, fractions_
        As in `SPMTC`, all 1: there is one stage, with all examples.

    See Also
    --------
    SPMTC : The same model, from easy examples to hard ones.

    References
    ----------
    Q. Gu, J. Zhou. Learning the shared subspace for multi-task clustering and transductive transfer classification.
    ICDM 2009.

    Examples
    --------
    >>> from mtcluster import LSSMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, random_state=0)
    >>> LSSMTC(n_clusters=3, random_state=0).fit(X, tasks=tasks).shared_centers_.shape
    (3, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MultiTaskClusterer._parameter_constraints,
        "within_weight": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "task_offset": [StrOptions({"auto", "none", "mean", "scale"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        coupling: str = "reconstruction",
        membership: str = "auto",
        within_weight: Any = "auto",
        task_offset: str = "auto",
        n_components: int | None = None,
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
        self.within_weight = within_weight
        self.task_offset = task_offset

    def _within_weight(self) -> Any:
        return self.within_weight

    def _task_offset(self) -> str:
        return self.task_offset
