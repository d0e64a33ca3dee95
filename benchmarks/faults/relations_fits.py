"""Relations between fits: each changes the rows of a case in a way that must not change what the model says.

Where a fit ends does not depend on where it comes from, as clusters are clear; so labels agree up to the numbers of
the clusters, and values up to the tolerance at which a fit ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from mtcluster import ASI, MultiTaskGaussianMixture

from .relations_cases import ROW_CALLS, Answers, Case, answers

ENDED = 2e-2  # of a value, where fits end before they stand still
ROUNDED, SINGLE = 1e-5, 1e-2  # where the same sums are made in another order, in double and single precision
NOTHING = ("nothing",)  # a beginning that no call has
BY_WEIGHT = ("adapt, update=True", "partial_fit")  # new rows weigh 1 each, and new groups need so much weight
BY_HALVES = ("adapt", *(f"{call} of a new task" for call in ROW_CALLS))  # of one task halves are drawn for these
BY_COLUMN = ("score", *BY_HALVES)  # what counts columns, also those that tell nothing


@dataclass(frozen=True)
class Changed:
    """The case with something else, and what that does to its answers."""

    case: Case
    rows: Any = None  # where the rows of the case stand
    shift: float = 0.0  # of log-densities
    scale: float = 1.0  # of losses without a metric
    share: float = ENDED
    numbers: bool = False  # whether the numbers of the clusters stay
    without: tuple[str, ...] = ()  # beginnings of calls of which it says nothing


def units(case: Case, rng: np.random.Generator) -> Changed:
    """Multiply columns by factors from 1e-3 to 1e3."""
    factors = (10.0 ** rng.uniform(-3, 3, case.X.shape[1])).astype(case.X.dtype)
    return Changed(case.change(X=case.X * factors, more=case.more * factors), shift=-float(np.log(factors).sum()))


def one_unit(case: Case, rng: np.random.Generator) -> Changed:
    """Multiply all columns by the same power of two, which rounds nothing."""
    factor = 2.0 ** int(rng.integers(-8, 9))
    shift = -case.X.shape[1] * float(np.log(factor))
    return Changed(case.change(X=case.X * factor, more=case.more * factor), shift=shift, scale=factor**2)


def origin(case: Case, rng: np.random.Generator) -> Changed:
    """Move all rows by the same vector."""
    moved = rng.normal(size=case.X.shape[1]).astype(case.X.dtype)
    return Changed(case.change(X=case.X + moved, more=case.more + moved))


def rows(case: Case, rng: np.random.Generator) -> Changed:
    """Take rows in another order."""
    order = rng.permutation(len(case.X))
    back = np.argsort(order)
    weights = None if case.weights is None else case.weights[order]
    changed = case.change(X=case.X[order], tasks=case.tasks[order], weights=weights)
    return Changed(changed, rows=back, without=() if len(np.unique(case.tasks)) > 1 else BY_HALVES)


def tasks(case: Case, _: np.random.Generator) -> Changed:
    """Take tasks in another order."""
    return Changed(case.change(tasks=-case.tasks))


def names(case: Case, _: np.random.Generator) -> Changed:
    """Give tasks other names, in the same order."""
    return Changed(case.change(tasks=np.array([f"k{k}" for k in case.tasks])), share=0.0, numbers=True)


def columns(case: Case, rng: np.random.Generator) -> Changed:
    """Take columns in another order."""
    order = rng.permutation(case.X.shape[1])
    return Changed(case.change(X=case.X[:, order], more=case.more[:, order]))


def weights(case: Case, rng: np.random.Generator) -> Changed:
    """Multiply weights by a constant."""
    own = np.ones(len(case.X)) if case.weights is None else case.weights
    return Changed(case.change(weights=own * 10.0 ** rng.uniform(-3, 3)), numbers=True, without=BY_WEIGHT)


def weights_of_1(case: Case, _: np.random.Generator) -> Changed:
    """Give weights of 1 where there are none."""
    own = np.ones(len(case.X)) if case.weights is None else case.weights
    return Changed(case.change(weights=own), share=0.0, numbers=True)


def weightless_row(case: Case, rng: np.random.Generator) -> Changed:
    """Add a row of weight 0 among those of its task."""
    own = np.ones(len(case.X)) if case.weights is None else case.weights
    i = int(rng.integers(len(case.X)))
    X, labels = np.concatenate([case.X, case.X[i : i + 1]]), np.append(case.tasks, case.tasks[i])
    return Changed(case.change(X=X, tasks=labels, weights=np.append(own, 0.0)), rows=np.arange(len(case.X)))


def threads(case: Case, _: np.random.Generator) -> Changed:
    """Let two threads work."""
    return Changed(case.change(model=clone(case.model).set_params(n_jobs=2)), share=0.0, numbers=True)


def again(case: Case, _: np.random.Generator) -> Changed:
    """Fit a clone."""
    return Changed(case, share=0.0, numbers=True)


def column_major(case: Case, _: np.random.Generator) -> Changed:
    """Let columns lie one after the other in memory."""
    return Changed(case.change(X=np.asfortranarray(case.X)), share=ROUNDED)


def doubled(case: Case, _: np.random.Generator) -> Changed:
    """Take rows of single precision in double precision."""
    return Changed(case.change(X=case.X.astype(np.float64), more=case.more.astype(np.float64)), share=SINGLE)


def constant(case: Case, _: np.random.Generator) -> Changed:
    """Add a column that is the same in all rows."""
    wide = [np.insert(X, 1, 7.0, axis=1) for X in (case.X, case.more)]
    return Changed(case.change(X=wide[0], more=wide[1]), without=BY_COLUMN)


def frames(case: Case, _: np.random.Generator) -> Changed:
    """Give the rows as a data frame."""
    import pandas as pd

    columns = [f"x{j}" for j in range(case.X.shape[1])]
    wide = [pd.DataFrame(X, columns=columns) for X in (case.X, case.more)]
    return Changed(case.change(X=wide[0], more=wide[1]), share=ROUNDED, numbers=True)


def polars(case: Case, _: np.random.Generator) -> Changed:
    """Give the rows as a data frame of Polars."""
    import polars as pl

    columns = [f"x{j}" for j in range(case.X.shape[1])]
    wide = [pl.DataFrame(X, schema=columns) for X in (case.X, case.more)]
    return Changed(case.change(X=wide[0], more=wide[1]), share=ROUNDED, numbers=True)


def thin(case: Case, _: np.random.Generator) -> Changed:
    """Give the rows as a sparse matrix."""
    return Changed(case.change(X=sparse.csr_array(case.X), more=sparse.csr_array(case.more)), share=ROUNDED)


def mosaic(case: Case, _: np.random.Generator) -> Changed:
    """Give the rows of each task as a data frame with the columns that it has."""
    import pandas as pd

    names = [f"x{j:02d}" for j in range(case.X.shape[1])]
    of_tasks = {k: np.flatnonzero(case.tasks == k) for k in np.unique(case.tasks).tolist()}
    parts = {k: pd.DataFrame(case.X[at], columns=names).dropna(axis=1, how="all") for k, at in of_tasks.items()}
    own = None if case.weights is None else {k: case.weights[at] for k, at in of_tasks.items()}
    changed = case.change(X=parts, tasks=None, weights=own, more=pd.DataFrame(case.more, columns=names))
    back = np.argsort(np.concatenate(list(of_tasks.values())))
    return Changed(changed, rows=back, share=ROUNDED, numbers=True, without=("predict without tasks",))


Change = Callable[[Case, np.random.Generator], Changed]
ALWAYS: dict[str, Change] = {
    "units of columns": units, "one unit": one_unit, "origin": origin, "order of rows": rows, "order of tasks": tasks,
    "names of tasks": names, "order of columns": columns, "weights times a constant": weights,
    "weights of 1": weights_of_1, "a row of weight 0": weightless_row, "threads": threads, "a clone": again,
    "columns first in memory": column_major, "a constant column": constant, "pandas": frames, "Polars": polars,
}  # fmt: skip


def changes(case: Case) -> dict[str, Change]:
    """Return the relations that hold for a case."""
    found = dict(ALWAYS)
    if not has_metric(case):
        del found["units of columns"]
    if isinstance(case.model, MultiTaskGaussianMixture):  # whose priors are worth rows of weight 1
        del found["weights times a constant"]
    if case.kind == "single precision":
        found["double precision"] = doubled
    if case.kind == "columns that differ":
        found["frames of other columns"] = mosaic
    if case.kind == "counts":
        found["sparse"] = thin
    return found


def has_metric(case: Case) -> bool:
    """Tell whether rows are compared in units of their spread within clusters."""
    return not isinstance(case.model, ASI) and case.model.get_params().get("within_weight", "auto") == "auto"


def of_fits(case: Case, known: Answers, rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Compare what each other fit says with what is known."""
    for name, change in changes(case).items():
        changed = change(case, rng)
        try:
            found = answers(changed.case.fit(), changed.case)
        except Exception as error:  # whatever it is, the pair does not agree
            yield f"{name}, fit", f"{name}: {type(error).__name__}: {str(error)[:200]}"
            continue
        for call, problem in compared(known, found, changed, single=case.kind == "single precision"):
            yield f"{name}, {call}", problem and f"{name}, {call}: {problem}"


def compared(known: Answers, found: Answers, changed: Changed, *, single: bool) -> Iterator[tuple[str, str]]:
    """Compare call by call, in the numbers of the clusters that are known."""
    own = {call: placed(call, values, changed) for call, values in found.items()}
    order = np.arange(int(known["labels"].max()) + 1) if changed.numbers else numbers(known["labels"], own["labels"])
    share = max(changed.share, SINGLE) if single and changed.share else changed.share
    for call, values in known.items():
        if call.startswith(changed.without or NOTHING):
            continue
        if order is None:
            yield call, "other clusters" if call == "labels" else ""
        elif "score" in call:
            yield call, scores_differ(values, own[call], share, changed)
        elif "proba" in call:
            yield call, shares_differ(values, columns_in(own[call], order), share)
        else:
            yield call, labels_differ(values, renumbered(own[call], order))


def placed(call: str, values: Any, changed: Changed) -> Any:
    """Bring values of the rows of a fit into the order in which the case has them."""
    values = np.asarray(values)
    joined = "new task" in call or call.startswith("adapt")
    return values if joined or changed.rows is None else values[changed.rows]


def numbers(known: Any, found: Any) -> Any:
    """Tell which number each found cluster has; None: these are others."""
    if adjusted_rand_score(known, found) < 1:
        return None
    order = np.arange(max(int(known.max()), int(found.max())) + 1)
    order[found] = known
    return order


def renumbered(labels: Any, order: Any) -> Any:
    """Give labels in other numbers; -1, and clusters that were opened, stay."""
    inside = (labels >= 0) & (labels < len(order))
    return np.where(inside, order[np.where(inside, labels, 0)], labels)


def columns_in(shares: Any, order: Any) -> Any:
    """Give columns of probabilities in other numbers."""
    out = shares.copy()
    out[:, order] = shares[:, : len(order)]
    return out


def labels_differ(known: Any, found: Any) -> str:
    """Count labels that differ."""
    n = int(np.count_nonzero(known != found))
    return f"{n} of {len(known)} labels differ" if n else ""


def shares_differ(known: Any, found: Any, share: float) -> str:
    """Tell by how much probabilities differ."""
    gap = float(np.nanmax(np.abs(np.asarray(known, dtype=np.float64) - found), initial=0.0))
    return f"differ by up to {gap:.2g}" if gap > share else ""


def scores_differ(known: Any, found: Any, share: float, changed: Changed) -> str:
    """Tell by how much scores differ, as part of their size: losses stay or are squares, densities have units."""
    known, found = np.asarray(known, dtype=np.float64), np.asarray(found, dtype=np.float64)
    wanted = (known, known * changed.scale, known + changed.shift)
    gap = min(float(np.nanmax(np.abs(one - found) / (1 + np.abs(one)), initial=0.0)) for one in wanted)
    return f"differ by up to {gap:.2g} of their size" if gap > share else ""
