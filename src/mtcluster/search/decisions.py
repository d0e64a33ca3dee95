"""What a fit decided from the data alone, and on what evidence: plain records that a fitted model carries."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from .._utils.tables import Table
from ..core.arrays import Array


@dataclass(frozen=True)
class SearchEvidence:
    """What a search showed about the rows and the tasks.

    Attributes
    ----------
    n_candidates : int
        Number of labellings that were compared.
    n_rows : int
        Number of rows that were searched.
    n_dimensions : int
        Number of dimensions that they were seen in.
    n_distant_rows : int
        Number of these rows that did not count because they have no near neighbours.
    smoothing : float
        How far rows were moved towards their neighbours, from 0 to 1.
    gain : float
        By how many nats a row is more probable with these clusters than with one for all rows.
    centers, offsets, own : float
        Variances, in units of the covariance within clusters, of the centres of the clusters, of the location of tasks
        (0: they lie alike), and of centres of tasks around the shared ones (0: all tasks have the same).
    scaled : bool
        Whether the rows are more probable if tasks may differ in the spread of each column.
    relatedness : array of shape (m,)
        Relatedness of each task to the task that is most like it; 1 for a single task.
    margins : array of shape (m, c)
        For a cluster that a task holds, the nats that are lost if its rows there go to the next best cluster. For one
        that it lacks, minus the nats that are lost if rows of the task come to it.
    """

    n_candidates: int
    n_rows: int
    n_dimensions: int
    n_distant_rows: int
    smoothing: float
    gain: float
    centers: float
    offsets: float
    own: float
    scaled: bool
    relatedness: Array
    margins: Array

    @property
    def shrinkage(self) -> float:
        """By how many rows centres of tasks are drawn to the shared ones; infinite: they are these."""
        return 1 / self.own if self.own else float("inf")

    def __str__(self) -> str:
        return f"{self.n_candidates} labellings of {self.n_rows} rows in {self.n_dimensions} dimensions"


@dataclass(frozen=True)
class Decisions:
    """What a fit decided, and why; `print` shows it as a table.

    Attributes
    ----------
    start : str
        "search", "given" (memberships passed as `init`), or the kinds of start that were tried, such as "per-task and
        pooled".
    n_starts : int
        Number of starts. Of searches that of the highest evidence was taken, of other starts the fit with the lowest
        sum of losses.
    coupling : str
        The shared term of the loss.
    membership : str
        Form of the memberships.
    membership_reason : {"set", "default"}
        Whether the form was chosen by the user.
    within_weight_reason : {"set", "evidence", "one task", "geometry", "coupling", "none"}
        Where `fitted_.within_weight` comes from. "geometry": no two tasks have a common column. "coupling": the
        coupling allows one value for all tasks only. "none": the estimator has no within-task term.
    task_offset : str
        How the location of tasks was treated.
    task_offset_reason : str
        Why: "set" by the user; by the "evidence" of the search; "unit rows" are directions; there is "one task"; no two
        tasks have a common column ("geometry"); "fixed within_weight" gives the plain model; the coupling or the
        memberships do not allow offsets ("unsupported").
    weighting : str
        Weighting rule of the examples; "none" without pacing.
    full_weight_share : float
        Share of the examples selected at a stage that have full weight.
    max_iter, warmup_iter : int
        Largest number of iterations per stage, and of the warm-up.
    metric : {"euclidean", "shared"}
        How distances are measured.
    metric_reason : str
        Why: "set" by the user, "default", or what stands against a shared metric: "unit rows", "counts", "gaps" in many
        features, "neighbours" that rows follow beyond what clusters tell, "fixed within_weight", "membership",
        "coupling", "subspace", "scale".
    search : SearchEvidence or None
        What the search showed; None if there was none.
    """

    start: str
    coupling: str
    membership: str
    membership_reason: str
    within_weight_reason: str
    task_offset: str
    task_offset_reason: str
    n_starts: int = 1
    weighting: str = "none"
    full_weight_share: float = 1.0
    max_iter: int = 0
    warmup_iter: int = 0
    metric: str = "euclidean"
    metric_reason: str = "set"
    search: SearchEvidence | None = None

    @property
    def _table(self) -> Table:
        """A row per decision, with its reason in brackets."""
        told: dict[str, str] = {}
        for one in fields(self):
            value, decision = getattr(self, one.name), one.name.removesuffix("_reason")
            said = f"{value:.3g}" if isinstance(value, float) else str(value)
            told[decision] = said if decision == one.name else f"{told.get(decision, '')} ({said})".strip()
        return Table(decision=list(told), value=list(told.values()))

    def __str__(self) -> str:
        return str(self._table)

    def _repr_html_(self) -> str:
        return self._table._repr_html_()


@dataclass(frozen=True)
class Matching:
    """How the clusters of tasks that share no column with other tasks were matched with theirs, and on what evidence.

    Attributes
    ----------
    tasks : list
        Labels of the tasks that common columns link.
    reference : list
        Labels of the tasks whose clusters theirs were compared with.
    pairs : array of shape (k, 2)
        The best matching: numbers of the clusters of `reference`, and of those of `tasks`. They are the same if it
        was taken.
    held : bool
        Whether it was taken. If not, the clusters of `tasks` have numbers of their own.
    likeness : float
        Cosine of the distances between centres of both under the best matching, from 0 to 1.
    misfit, second_misfit : float
        What the distances have left over under the best matching, 1 minus the square of `likeness`, and under the
        second best; 1 if there is none.
    margin : float
        By what share the misfit is lower than that of the second best.
    evidence : float
        Likelihood of the best matching in shares of that of all, from 0 to 1.
    stability : float
        Share of samples of the rows in which the best matching is the same.
    threshold : float
        What evidence and stability have to reach.
    """

    tasks: list[Any]
    reference: list[Any]
    pairs: Array
    held: bool
    misfit: float
    second_misfit: float
    evidence: float
    stability: float
    threshold: float

    @property
    def likeness(self) -> float:
        """Cosine of the distances between centres."""
        return float((1 - self.misfit) ** 0.5)

    @property
    def margin(self) -> float:
        """By what share the best misfit is lower than the second best."""
        return 1 - self.misfit / self.second_misfit
