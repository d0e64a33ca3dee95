"""Where the rows of a fit live, and who works on them: threads of this process, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ..core.blocks import Rows
from ..core.model import Settings
from ..estimators._validation import read_tasks, read_weights
from .local import local_rows, row_threads


@contextmanager
def open_rows(
    estimator: Any, X: Any, tasks: Any, sample_weight: Any, *, pooled: bool, n_jobs: int | None
) -> Iterator[tuple[Any, Callable[[Settings, int], Rows]]]:
    """The data of a fit, checked, and what makes the rows of them that the solver takes; `pooled`: as one task."""
    if is_dask(X):
        from .dask import DaskRows, read_dask, read_dask_weights

        data = read_dask(estimator, X, tasks)
        weights = read_dask_weights(sample_weight, data)
        data = data.pooled() if pooled else data
        yield data, lambda settings, n_clusters: DaskRows(data, weights, settings, n_clusters)
        return
    here = read_tasks(estimator, X, tasks, reset=True)
    us = read_weights(sample_weight, here, here.dtype)
    if pooled:
        here, us = here.pooled(), [here.join(us)]
    alone = estimator.coupling == "projection"  # most of the work is eigenproblems, on NumPy's own threads
    with nullcontext(map) if alone else row_threads(n_jobs) as each:
        yield here, lambda settings, n_clusters: local_rows(here, us, settings, n_clusters, each)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or data frame, or a dict or list of them; Dask is not imported to know it."""
    items = list(X.values()) if isinstance(X, dict) else X if isinstance(X, list | tuple) else [X]
    return bool(items) and all(type(item).__module__.split(".")[0] in ("dask", "dask_expr") for item in items)
