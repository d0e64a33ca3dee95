"""What explanations and reports are about: a fitted model, whoever made it, and what it tells about its fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..certainty import Selection
from ..core.arrays import Array, host
from ..core.fitted import Fitted, RowResults
from ..core.geometry import Tied
from ..core.record import declared
from ..engines import bring_here
from ..estimators.changes import Changes, Drift
from ..estimators.merging import as_told
from ..search import Decisions, Matching

PRESENT = 0.5  # support from which a cluster counts as present in a task
UNSURE = 0.1  # support this close to it leaves that open
ALIKE = 0.5  # relatedness from which two tasks count as alike


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model, and what is known about its fit; None: it does not tell."""

    fitted: Fitted
    method: str  # the name of its class, or the `method` of a `LabelDescription`
    n_clusters: int  # numbers may be more
    decisions: Decisions | None = None
    selection: Selection | None = None
    changes: Changes | None = None
    drift: Drift | None = None
    matching: list[Matching] | None = None
    feature_names: Sequence[Any] | None = None

    @cached_property
    def rows(self) -> RowResults:
        """What was found for the rows, in host memory; labels stand for memberships."""
        return in_memory(replace(self.fitted.rows, memberships=None))

    @property
    def map(self) -> tuple[Array, Array]:
        """Which rows a picture shows, and where they lie."""
        assert self.rows.map_rows is not None
        assert self.rows.map is not None
        return self.rows.map_rows, self.rows.map.astype(np.float64)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of tasks, clusters and features."""
        m, c, d = self.fitted.centers.Ms.shape
        return m, c, d

    @property
    def tasks(self) -> list[Any]:
        """Labels of the tasks."""
        return list(self.fitted.tasks.tolist())

    @property
    def n_rows(self) -> int:
        """The number of rows of the fit, of which those of the model may be a sample."""
        return int(self.fitted.rows.n_all or len(self.fitted.rows.labels))

    @property
    def widths(self) -> Array:
        """(d,) the width of a cluster in each feature, where a metric has measured it; else 1."""
        tied = self.fitted.centers.geometry.tied
        return np.sqrt(tied.take("R", None).variances()[0]) if isinstance(tied, Tied) else np.ones(self.shape[2])

    @property
    def comparable(self) -> Array:
        """(m, m) which tasks hold at least two common clusters, so that it can be told how alike they are."""
        held = self.fitted.holds.astype(int)
        return (held @ held.T > 1) | (self.shape[1] == 1)

    @property
    def without_rows(self) -> Array:
        """(m,) tasks that have no row among those of the model: those of earlier data."""
        return np.bincount(self.rows.tasks, minlength=len(self.tasks)) == 0

    @property
    def joined(self) -> Array:
        """(m,) tasks that joined after the fit."""
        known = self.fitted.groups
        return np.zeros(len(self.tasks), dtype=bool) if known is None else known.joined

    @property
    def unexplained(self) -> int:
        """The number of rows of tasks that joined after the fit and have the label −1."""
        return int(np.count_nonzero(host(self.fitted.rows.labels) < 0)) if self.joined.any() else 0

    @property
    def gone(self) -> Array:
        """(c,) numbers of clusters of earlier fits that no task holds any more."""
        return ~self.fitted.exists & (self.shape[1] > self.n_clusters)


def in_memory(rows: RowResults) -> RowResults:
    """Bring what was found for rows to NumPy's memory, from wherever it is."""
    return replace(rows, **{one.name: bring_here(getattr(rows, one.name)) for one in declared(RowResults)})


def subject_of(model: Any, function: str) -> Subject:
    """Read a fitted model or a `LabelDescription`; `function` is named in the refusal of anything else."""
    check_is_fitted(model)
    own = vars(model)
    if not isinstance(fitted := own.get("fitted_"), Fitted):
        raise TypeError(
            f"{function} needs a fitted SPMTC, LSSMTC or ASI; got {type(model).__name__}. "
            "mtcluster.inspection.LabelDescription().fit(X, labels, tasks=tasks) makes one from any labels."
        )
    told = {name: own.get(f"{name}_") for name in ("decisions", "selection", "changes", "drift", "matching")}
    method = str(getattr(model, "method", type(model).__name__))
    return Subject(as_told(fitted), method, own["n_clusters_"], feature_names=own.get("feature_names_in_"), **told)
