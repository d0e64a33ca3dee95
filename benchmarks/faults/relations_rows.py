"""Relations of one fitted model: what it says of the same rows, however they come and wherever the model has been.

Rows of known tasks are judged one by one, so that these may come in any order and in any number of calls; a task that
joins is placed by all of its rows, whose order and name are of no account.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .relations_cases import JOINS, ROW_CALLS, WITHOUT_TASKS, Case, RowCall, join_calls, joins, stored

ROUNDED, SINGLE = 1e-6, 1e-3  # where the same sums are made in another order, in double and single precision
CHUNKS = 40  # rows of a chunk of Dask's
Check = tuple[str, str]
Way = Callable[[Any, RowCall, Any, Any, np.random.Generator], Any]  # model, call, rows, tasks, generator → entries


def another_order(model: Any, call: RowCall, X: Any, tasks: Any, rng: np.random.Generator) -> Any:
    """Ask about rows in another order."""
    order = rng.permutation(len(X))
    return np.asarray(call(model, X[order], tasks[order]))[np.argsort(order)]


def several_calls(model: Any, call: RowCall, X: Any, tasks: Any, rng: np.random.Generator) -> Any:
    """Ask about some rows at a time."""
    cuts = np.sort(rng.choice(np.arange(1, len(X)), 3, replace=False))
    parts = np.split(np.arange(len(X)), cuts)
    return np.concatenate([np.asarray(call(model, X[part], tasks[part])) for part in parts])


def twice(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask about each row twice in one call."""
    return np.asarray(call(model, np.concatenate([X, X]), np.concatenate([tasks, tasks])))[len(X) :]


def column_major(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask about rows whose columns lie one after the other in memory."""
    return call(model, np.asfortranarray(X), tasks)


def read_only(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask about rows that may not be written."""
    X = X.copy()
    X.flags.writeable = False
    return call(model, X, tasks)


def listed(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Give the tasks as a list."""
    return call(model, X, tasks.tolist())


def pandas(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask about a data frame."""
    import pandas as pd

    return call(model, pd.DataFrame(X), pd.Series(tasks))


def polars(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask about a data frame of Polars."""
    import polars as pl

    return call(model, pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])]), pl.Series(tasks))


def thin(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask about a sparse matrix."""
    return call(model, sparse.csr_array(X), tasks)


def dask(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask about an array of Dask's in chunks."""
    import dask.array as da

    return np.asarray(call(model, da.from_array(X, chunks=(CHUNKS, -1)), tasks))


def grouped(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask about a dict of the rows of each task."""
    labels = list(dict.fromkeys(tasks.tolist()))
    found = np.asarray(call(model, {k: X[tasks == k] for k in labels}, None))
    at = np.concatenate([np.flatnonzero(tasks == k) for k in labels])
    return found[np.argsort(at)]


def two_threads(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask a copy that works with two threads."""
    return call(deepcopy(model).set_params(n_jobs=2), X, tasks)


def another_name(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask about a task of another name."""
    return call(model, X, np.full(len(X), "a name of its own"))


def copied(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask a deep copy."""
    return call(deepcopy(model), X, tasks)


def pickled(model: Any, call: RowCall, X: Any, tasks: Any, _: np.random.Generator) -> Any:
    """Ask a model that was pickled."""
    return call(pickle.loads(pickle.dumps(model)), X, tasks)


ALL: dict[str, Way] = {
    "order of rows": another_order, "columns first in memory": column_major, "rows that are read only": read_only,
    "a list of tasks": listed, "pandas": pandas, "Polars": polars, "threads": two_threads, "a copy": copied,
    "a pickle": pickled,
}  # fmt: skip
OF_KNOWN: dict[str, Way] = {"several calls": several_calls, "rows twice": twice}
OF_NEW: dict[str, Way] = {"names of tasks": another_name, "a dict of tasks": grouped}


def ways(case: Case) -> dict[str, Way]:
    """Return the relations that hold for rows of known and of new tasks."""
    return ALL | ({"sparse": thin} if case.kind == "counts" else {})


def of_rows(model: Any, case: Case, rng: np.random.Generator, *, chunks: bool = False) -> Iterator[Check]:
    """Compare what a model says of the same rows in all ways."""
    share = SINGLE if case.X.dtype == np.float32 else ROUNDED
    new = np.full(len(case.more), JOINS)
    known = ways(case) | OF_KNOWN | ({"Dask": dask} if chunks else {})
    yield from compared(model, WITHOUT_TASKS, case.X, case.tasks, known, share, rng)
    yield from compared(model, ROW_CALLS, case.X, case.tasks, known | {"a dict of tasks": grouped}, share, rng)
    yield from compared(model, join_calls(case), case.more, new, ways(case) | OF_NEW, share, rng)
    yield from from_a_file(model, case)
    yield from of_calls(model, case, share)


def compared(
    model: Any, calls: dict[str, RowCall], X: Any, tasks: Any, found: dict[str, Way], share: float,
    rng: np.random.Generator,
) -> Iterator[Check]:  # fmt: skip
    """Compare each call with the same call in each way."""
    for name, call in calls.items():
        known = np.asarray(call(model, X, tasks))
        for way, ask in found.items():
            relation = f"{way}, {name}"
            try:
                yield relation, differ(known, ask(model, call, X, tasks, rng), share, relation)
            except Exception as error:  # whatever it is, the pair does not agree
                yield relation, f"{relation}: {type(error).__name__}: {str(error)[:200]}"


def from_a_file(model: Any, case: Case) -> Iterator[Check]:
    """Compare a model with itself from a file."""
    again, new = stored(model), np.full(len(case.more), JOINS)
    for name, call in (ROW_CALLS | WITHOUT_TASKS).items():
        relation = f"a file, {name}"
        yield relation, differ(call(model, case.X, case.tasks), call(again, case.X, case.tasks), 0.0, relation)
    for name, call in join_calls(case).items():
        relation = f"a file, {name}"
        yield relation, differ(call(model, case.more, new), call(again, case.more, new), 0.0, relation)


def of_calls(model: Any, case: Case, share: float) -> Iterator[Check]:
    """Compare what different calls say of the same rows."""
    X, tasks, new = case.X, case.tasks, np.full(len(case.more), JOINS)
    labels, shares = model.predict(X, tasks=tasks), model.predict_proba(X, tasks=tasks)
    yield "labels of the fit, predict", differ(model.labels_, labels, 0.0, "predict of the rows of the fit")
    yield "losses of the fit, score_samples", _losses(model, X, tasks, share)
    yield "predict, predict_proba", differ(labels, shares.argmax(axis=1), 0.0, "the most probable cluster")
    yield "predict_proba, sums", differ(np.ones(len(X)), shares.sum(axis=1), max(share, 1e-5), "sums of probabilities")
    again = case.fit(previous=model)
    yield "previous, labels of the fit", differ(labels, again.labels_, 0.0, "labels of a fit that continues itself")
    if not joins(model):
        return
    wider = model.adapt(case.more, tasks=new)
    flagged = model.predict(case.more, tasks=new)
    yield "adapt, predict", differ(wider.labels_, flagged, 0.0, "predict of the rows of adapt")
    yield "adapt, then predict", differ(flagged, wider.predict(case.more, tasks=new), 0.0, "predict after adapt")
    yield "adapt, known tasks", differ(labels, wider.predict(X, tasks=tasks), 0.0, "known tasks after adapt")
    scores = [one.score_samples(X, tasks=tasks) for one in (model, wider)]
    yield "adapt, scores of known tasks", differ(*scores, share, "scores of known tasks after adapt")
    own = model.predict(case.more, tasks=new, novelty="none")
    yield "novelty, flags", differ(own[flagged >= 0], flagged[flagged >= 0], 0.0, "labels without flags")
    yield from nested(model, case, new)


def nested(model: Any, case: Case, new: Any) -> Iterator[Check]:
    """Compare the flags of rising rates, of which each holds those before."""
    flags = [model.predict(case.more, tasks=new, novelty_rate=rate) < 0 for rate in (0.001, 0.01, 0.1, 0.5)]
    for fewer, more in pairwise(flags):
        n = int(np.count_nonzero(fewer & ~more))
        yield "novelty_rate, nested", f"{n} rows are new at a small rate alone" if n else ""


def _losses(model: Any, X: Any, tasks: Any, share: float) -> str:
    scores = np.asarray(model.score_samples(X, tasks=tasks), dtype=np.float64)
    rest = scores + model.losses_ / (1 if not hasattr(model, "covariances_") else 2)
    return differ(np.full(len(rest), rest[0]), rest, 10 * share * (1 + np.abs(scores).max()), "losses of the fit")


def differ(known: Any, found: Any, share: float, what: str) -> str:
    """Tell where two results differ by more than a share of their size; whole numbers must be equal."""
    a, b = np.asarray(known), np.asarray(found)
    if a.shape != b.shape:
        return f"{what}: the shapes {a.shape} and {b.shape}"
    if a.dtype.kind in "iu":
        n = int(np.count_nonzero(a != b))
        return f"{what}: {n} of {len(a)} labels differ" if n else ""
    gaps = np.abs(a.astype(np.float64) - b) / (1 + np.abs(a.astype(np.float64)))
    gap = float(np.nanmax(gaps, initial=0.0))
    missing = bool(np.any(np.isnan(a) != np.isnan(b)))
    return f"{what}: differ by up to {gap:.2g} of their size" if gap > share or missing else ""
