"""The fitted model as one record: all that labels, explains, saves or continues it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType

import numpy as np

from .arrays import Array
from .centers import Centers
from .geometry import Tied
from .joining import Prior
from .model import Model
from .novelty import Ordinary
from .record import Record, axes
from .relations import relatedness
from .sharing import Share
from .streaming import StreamSums

USUAL_SHARE = 0.5  # λ1 of a task that joins tasks none of which share


def admission(weights: Array, fractions: Array, xp: ModuleType = np) -> Array:
    """(n,) the fraction of the stage at which each row first had weight (s, n); the last for those that never had."""
    found = xp.full_like(weights[-1, :], 1.0, dtype=xp.float64)
    for v, fraction in zip(range(len(fractions) - 1, -1, -1), fractions[::-1].tolist(), strict=True):
        found = xp.where(weights[v, :] > 0, xp.full_like(found, fraction), found)
    return found


@dataclass(frozen=True, eq=False)
class RowResults(Record):
    """What was found for the rows of the last fit, `adapt` or `partial_fit`, in their order and array library."""

    labels: Array = axes("n")  # cluster; −1: no cluster explains the row, or it has no value
    losses: Array = axes("n")
    tasks: Array = axes("n")  # the index of the task
    memberships: Array | None = axes("n c")  # None: as labels say
    weights: Array = axes("s n", least=0)  # of each stage
    fractions: Array = axes("s")  # of the rows of each task that a stage selects
    admitted: Array = axes("n")  # fraction of the stage at which a row first had weight; the last where it never had
    map: Array | None = axes("p a", default=None)  # some rows, on the directions that separate clusters best
    map_rows: Array | None = axes("p", default=None)  # which rows these are
    n_all: int | None = None  # rows of the fit, where these are a sample of them


@dataclass(frozen=True, eq=False)
class Groups(Record):
    """What is known about tasks that joined after the fit, and groups of their rows that no cluster explains."""

    joined: Array = axes("m", fill=False)  # which tasks did
    scales: Array = axes("m", least=-1)  # median losses of their rows; 0: unknown; −1: all of them are new
    centers: Array = axes("g d")  # of groups
    tasks: Array = axes("g")  # the index of the task of each group
    flags: bool = True  # do rows that no cluster explains get −1?
    rate: float | None = None  # share of ordinary rows that do; None: the default


@dataclass(frozen=True, eq=False)
class Fitted(Record):
    """The whole model; arrays are in NumPy's memory, but for those of `rows`."""

    model: Model
    centers: Centers  # of one run
    task_offset: str  # what is done about the location of tasks
    decided: bool  # was it decided which clusters tasks hold, on evidence?
    temperature: float  # of probabilities, of tasks that join
    rows: RowResults
    tasks: Array = axes("m")  # labels
    sizes: Array = axes("m c", least=0)  # weights of the clusters
    support: Array = axes("m c", least=0, most=1)  # how present clusters are in tasks
    has: Array = axes("m d", fill=False)  # which features tasks have
    missing: Array = axes("m d", least=0, most=1)  # share of missing values
    temperatures: Array = axes("m", fill=1.0, least=0)
    relatedness: Array = axes("m m", finite=False, default=np.zeros((0, 0)))  # how similarly common clusters lie
    ordinary: Ordinary = field(default_factory=Ordinary)
    groups: Groups | None = None  # None: no task has joined
    sums: StreamSums | None = None  # of a stream; None: there is none
    traces: tuple[Array, ...] = ()  # objective after each iteration of each stage
    stage_sizes: tuple[float, ...] = ()  # Σ u v of each stage
    converged: bool = True  # did the last stage end by `tol`?
    n_iter: int = 0
    names: tuple[tuple[int, str], ...] = ()  # of clusters, by number
    merged: tuple[tuple[int, int], ...] = ()  # clusters that a person merged, and into which; see `estimators.merging`
    n_asked: int | None = None  # number of clusters that was asked for or chosen; None: those that exist count

    @cached_property
    def holds(self) -> Array:
        """(m, c) which clusters tasks hold."""
        return np.array(self.model.held((1, *self.sizes.shape))[0])

    @property
    def exists(self) -> Array:
        """(c,) which numbers are clusters that some task holds; others are no more."""
        return np.asarray(self.holds.any(axis=0))

    @property
    def within_weight(self) -> Array:
        """(m,) λ1, or the usual share of own centres."""
        return np.array(np.broadcast_to(self.model.sharing.within[0], (len(self.tasks),)))

    @property
    def shares(self) -> Array:
        """(m,) tasks that share; a single one counts as sharing."""
        return (self.within_weight < 1) | (len(self.tasks) == 1)

    @property
    def left_alone(self) -> Array:
        """(m,) tasks with Euclidean distances while others have the shared metric."""
        return self.model.left_alone(len(self.tasks))

    @property
    def prior(self) -> Prior:
        """What is known before a task joins."""
        within, sharing = self.within_weight, self.model.sharing
        shared = within < 1 if (within < 1).any() else within == 1
        usual = sharing.usual(np.flatnonzero(shared)) if (within < 1).any() else Share.of(USUAL_SHARE)
        sizes = self.sizes[shared].sum(axis=0)
        scaled = self.task_offset == "scale"
        effects = replace(self.ordinary.effects, moves=self.task_offset != "none")
        return Prior(self.exists, sizes, usual, effects, scaled, self.temperature, self.decided)

    @property
    def width(self) -> float:
        """The usual squared distance of a row from its centre."""
        tied = self.centers.geometry.tied
        if isinstance(tied, Tied):
            return float(tied.take("R", None).trace(self.centers.Z.shape[1])[0])
        return float(np.median(self.ordinary.losses)) if len(self.ordinary.losses) else 0.0

    def related(self) -> Array:
        """Compute (m, m) how similarly the clusters that two tasks hold lie, in the geometry of the model."""
        Ms = self.centers.Ms.astype(np.float64)
        white = self.centers.geometry.whiten(Ms.reshape(-1, Ms.shape[2])).reshape(Ms.shape)
        return relatedness(white, self.sizes, self.holds)
