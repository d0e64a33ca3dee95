"""Choosing the number of clusters without labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.utils import check_random_state

from ..certainty import Selection
from ..estimators import SPMTC
from ..estimators.input import open_rows
from ..estimators.numbers import choose_number, read_numbers
from ..search import Search

__all__ = ["Selection", "select_n_clusters"]


def select_n_clusters(
    X: Any,
    *,
    tasks: Any = None,
    n_clusters: Iterable[int] | int = range(2, 11),
    sample_weight: Any = None,
    random_state: Any = None,
    verbose: int = 0,
) -> Selection:
    """Choose the number of clusters that the tasks have together.

    Each number is judged on its own. Labels are found for it as `SPMTC` finds them, the model is fitted again to halves
    of the rows of each task, and all rows are labelled by each refit. A number is supported if

    - every cluster is found again in the halves,
    - rows are rarer between any two neighbouring clusters than at their centres, where rows are neither directions nor
      counts,
    - tasks that have clusters in common predict them of each other about as well as halves do.

    The largest supported number is suggested, and the others are named, with what splits into what between them. If
    there is none, the smallest number about as stable as the most stable one is suggested. All is compared with data
    without clusters: one elliptical distribution per task, of its mean, covariance and tails. Where no number is more
    stable than there, the suggestion is 1.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d), or a dict or list of them
        The rows of all tasks, or one item per task.
    tasks : sequence of n hashable labels or str, optional
        The task of each row of X, in any order, or the name of the column of a data frame X that holds it.
        None: one task.
    n_clusters : iterable of int, default=range(2, 11)
        The numbers of clusters to compare; 1 is always among them. What is found about a number does not depend on the
        others.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    random_state : int, RandomState or None, default=None
        Determines random number generation. Pass an int for reproducible results.
    verbose : int, default=0
        1: a progress bar on standard error.

    Returns
    -------
    selection : Selection
        The suggestion, its reason, the table and the tree; `selection.plot()` draws it.

    Examples
    --------
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.model_selection import select_n_clusters
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=3, separation=10, random_state=0)
    >>> select_n_clusters(X, tasks=tasks, n_clusters=range(2, 6), random_state=0).n_clusters
    3
    """
    numbers = read_numbers(n_clusters)
    reader, rng = SPMTC(), check_random_state(random_state)
    with open_rows(reader, X, tasks, reset=True, sample_weight=sample_weight, centered=True) as engine:
        return choose_number(engine, Search(), numbers, rng, verbose)
