"""What is new in a task that joins: rows that no cluster explains, alone or as a group.

A row is new if its loss is in the tail of that of ordinary rows, those of tasks of the fit that join a model of the
others, in units of the usual loss of its task. What is usual in the task is told by the rows that clusters explain: the
rows of new groups do not count, nor those in the tail, however many they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .arrays import Array, host
from .blocks import Blocks, PerRow, Place, RowSource, Weight
from .centers import Centers
from .gaps import without_values
from .model import Model
from .placing import Effects
from .readout import read_out
from .record import Record
from .sampling import Sampling, take_few
from .sharing import Offsets, Shrink

NOVELTY_ROWS = Sampling(2000, 300)
TRIM = 0.01  # share of ordinary rows that are left out where a task joins
CORE, SURE = 0.1, 0.95  # quantiles of ordinary losses: from the first on, below the second, rows tell what is usual
SCALE_ROUNDS = 20
MOST_CHANCE = 3.0  # standard errors of the usual loss of a task that are chance
WIDEST = 9.0  # usual losses of a task, in those of the fit, that are still noise


@dataclass(frozen=True, eq=False)
class Ordinary(Record):
    """What nothing new looks like; nothing is known of models that pool all tasks."""

    losses: Array = field(default_factory=lambda: np.zeros(0))  # (n,) of rows of the fit, sorted
    ratios: Array = field(default_factory=lambda: np.zeros(0))  # (n,) of these in median losses of their task, sorted
    scales: Array = field(default_factory=lambda: np.zeros(0))  # these median losses
    excess: float = 0.0  # log evidence for new of the most unusual group of these tasks
    effects: Effects = field(default_factory=Effects)  # how much tasks differ

    @property
    def usual(self) -> float:
        """The usual median loss of a task; 0: unknown."""
        return float(np.median(self.scales)) if len(self.scales) else 0.0

    @property
    def widest(self) -> float:
        """The largest median loss that is still noise."""
        return WIDEST * float(self.scales.max()) if len(self.scales) else np.inf

    def loss(self, rate: float, scale: float = 0.0) -> float:
        """The loss that a share `rate` of ordinary rows exceeds, where `scale` is the median one.

        0: it is unknown; −1: the rows lie much closer together than any of the fit, and all of them exceed it.
        """
        if scale < 0:
            return -1.0
        if scale > 0 and len(self.ratios):
            found = min(scale, self.widest) * float(np.quantile(self.ratios, 1 - rate, method="higher"))
            return max(found, float(self.losses[0]))  # at least what rounding makes
        return float(np.quantile(self.losses, 1 - rate, method="higher")) if len(self.losses) else np.inf

    def limits(self, rate: float, scales: Array, tasks: list[int]) -> Array:
        """(m,) these losses of some tasks; no row of the others is new."""
        found = np.full(len(scales), np.inf)
        found[tasks] = [self.loss(rate, float(scales[k])) for k in tasks]
        return found

    def scale(self, losses: Array, u: Array) -> float:
        """Tell the median loss that the rows of a task would have without those that are new."""
        if not len(losses) or not u.sum() > 0:
            return 0.0
        if not len(self.ratios):
            return weighted_quantile(losses, u, 0.5) or 1.0
        core, sure, half = np.quantile(self.ratios, [CORE, SURE, SURE / 2])
        found = weighted_quantile(losses, u, CORE) / max(core, np.finfo(np.float64).tiny)
        for _ in range(SCALE_ROUNDS):
            explained = losses <= found * sure
            if not u[explained].sum() > 0:
                break
            last, found = found, weighted_quantile(losses[explained], u[explained], 0.5) / half
            if found == last:
                break
        return self._drawn(found, float(u.sum())) if found > 0 else 1.0

    def _drawn(self, found: float, n: float) -> float:
        """Draw the usual loss of n rows to that of the fit, if chance may have moved it from there."""
        if not self.usual > 0:
            return found
        logs = np.log(np.maximum(self.ratios, np.finfo(np.float64).tiny))
        apart = np.log(found / self.usual)
        chance = MOST_CHANCE**2 * 2 * (np.diff(np.quantile(logs, [0.25, 0.75]))[0] / 1.35) ** 2 / max(n, 1.0)
        return float(self.usual * np.exp(apart * apart**2 / (apart**2 + chance))) if chance > 0 else found


def weighted_quantile(values: Array, u: Array, share: float) -> float:
    """Return the value below which a share of the weight lies."""
    order = np.argsort(values)
    mass = np.cumsum(u[order])
    return float(values[order[min(int(np.searchsorted(mass, share * mass[-1])), len(order) - 1)]])


@dataclass(frozen=True)
class Flags:
    """What makes a row of each task new."""

    limits: Array  # (m,) losses above which rows are; infinite: none is
    groups: dict[int, Array]  # task → centres of groups (g, d)
    held: Array  # (c,) clusters that some task holds


def label_rows(place: Place, *, model: Model, centers: Centers, verdict: Flags) -> tuple[Any, ...]:
    """Return labels, -1 for what is new and for rows without any value; memberships, losses."""
    xp = place.xp
    Ps, Ls, _ = read_out(place, model=model, centers=centers)
    labels = [P if P.ndim == 1 else xp.argmax(P, axis=1) for P in Ps]
    beside = _beside(model, centers, verdict)
    nearest = None if beside is None else read_out(place, model=beside[0], centers=beside[1])[0]
    found = []
    for k, (own, L) in enumerate(zip(labels, Ls, strict=True)):
        new = L > float(verdict.limits[k])
        if nearest is not None:
            new = new | (nearest[k] >= model.n_clusters)
        empty = without_values(place.Xs[k], xp)
        new = new if empty is None else new | empty
        found.append(xp.where(new, xp.full_like(own, -1), own))
    return found, Ps, Ls, None


def _beside(model: Model, centers: Centers, verdict: Flags) -> tuple[Model, Centers] | None:
    """Make a model with the groups of each task as further clusters; None: there are no groups."""
    most = max((len(own) for own in verdict.groups.values()), default=0)
    if not most:
        return None
    m, c, d = centers.Ms.shape
    lam, placed = np.broadcast_to(model.sharing.lam[0], (m,)), centers.placed
    points, held = np.zeros((m, c + most, d)), np.zeros((1, m, c + most), dtype=bool)
    points[:, :c] = placed + lam[:, None, None] * (centers.Ms - placed)
    held[0, :, :c] = verdict.held
    for k, own in verdict.groups.items():
        points[k, c : c + len(own)], held[0, k, c : c + len(own)] = own, True
    geometry = centers.geometry.tied
    plain = Model(c + most, Shrink.of(1.0), 1, holds=held, geometry=model.geometry.tied)
    nowhere = Offsets.none().take("R", 0)
    return plain, Centers(None, None, points, points[0], points[0], held[0], nowhere, geometry)


def far_groups(rows: RowSource, model: Model, centers: Centers, verdict: Flags) -> dict[int, Array]:
    """Return the groups of each task most rows of which exceed the limit of the task, by the clusters alone."""
    beside = _beside(model, centers, verdict)
    if beside is None or not np.isfinite([verdict.limits[k] for k in verdict.groups]).all():  # nothing is known
        return verdict.groups
    found = rows.apply(partial(_beyond, model=model, centers=centers, beside=beside, limits=verdict.limits))[-1]
    far = {k: own[2 * found[1, k, : len(own)] > found[0, k, : len(own)]] for k, own in verdict.groups.items()}
    return {k: own for k, own in far.items() if len(own)}


def _beyond(
    place: Place, *, model: Model, centers: Centers, beside: tuple[Model, Centers], limits: Array
) -> tuple[Array]:
    """Compute (2, m, g) the weight of the rows of each group, and of those whose loss is above the limit."""
    Ls, nearest = (
        [host(one) for one in read_out(place, model=of, centers=at)[i]]
        for i, of, at in ((1, model, centers), (0, *beside))
    )
    c, most = model.n_clusters, beside[0].n_clusters - model.n_clusters
    found = np.zeros((2, len(Ls), most))
    for k, (L, own, block) in enumerate(zip(Ls, nearest, place.blocks, strict=True)):
        new, u = own >= c, np.asarray(host(block.u), dtype=np.float64)
        for i, w in enumerate((u[new], u[new] * (L[new] > limits[k]))):
            found[i, k] = np.bincount(own[new] - c, weights=w, minlength=most)
    return (found,)


def counted(rows: RowSource, model: Model, centers: Centers, verdict: Flags) -> PerRow:
    """Tell what rows count where those that are new do not."""
    job = partial(label_rows, model=model, centers=centers, verdict=verdict)
    return rows.apply(_not_new, rows.apply(job, outputs=3)[0], outputs=1)[0]


def _not_new(place: Place, labels: list[Array]) -> tuple[Any, ...]:
    pairs = zip(place.blocks, labels, strict=True)
    return [Weight((b.u * b.xp.astype(own >= 0, b.u.dtype))[None, :], None) for b, own in pairs], None


def loss_scales(rows: RowSource, model: Model, centers: Centers, flags: Flags, ordinary: Ordinary) -> Array:
    """Compute (m,) the usual losses of rows that clusters explain, of a sample."""
    sample = Blocks(take_few(rows, NOVELTY_ROWS, np.random.default_rng(0)))
    labels, _, Ls, _ = label_rows(sample.place, model=model, centers=centers, verdict=flags)
    pairs = zip(labels, Ls, sample.place.blocks, strict=True)
    return np.array(
        [
            ordinary.scale(L[at].astype(np.float64), np.asarray(b.u, dtype=np.float64)[at])
            for own, L, b in pairs
            for at in [own >= 0]
        ]
    )


def new_share(rows: RowSource, model: Model, centers: Centers, flags: Flags) -> Array:
    """Compute (m,) the share of the rows of each task that is new."""
    n = rows.apply(_weight, counted(rows, model, centers, flags))[-1]
    return 1 - n / np.where(rows.summary.sizes > 0, rows.summary.sizes, 1)


def _weight(place: Place, weights: list[Weight]) -> tuple[Array]:
    return (np.array([float(place.xp.sum(w.w)) for w in weights]),)
