"""Refits: the same model fitted again to parts of the rows, from other starts, many side by side.

A part is told by weights: rows of weight 0 do not count, and are labelled all the same. Each refit begins with seeds of
its own and with the labels at hand, and the better of these goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Blocks, Weight
from ..core.centers import Centers
from ..core.geometry import Identity, Tied
from ..core.model import Model
from ..core.mstep import shared_centers
from ..core.relations import match
from ..core.sharing import Offsets, Share
from ..core.solver import alternate, first_state, race, state_at
from ..core.starts import seeds

HALF_SEEDED = 600  # rows that seeds are drawn from, where there are more
HALF_SEED_ITER, HALF_TRIAL_ITER, HALF_ITER, HALF_TOL = 4, 4, 8, 5e-4
MOST_TOGETHER = 2**17  # rows times runs that are fitted side by side


@dataclass(frozen=True)
class Setting:
    """What is fitted again: labels of the sample, and what was decided about the tasks."""

    labels: list[Array]  # (n_k,) of each task
    n_clusters: int
    offsets: Array  # (m, l) where the tasks lie
    within_weight: Array  # (m,) λ1; 1: left alone
    holds: Array  # (m, c) which clusters a task holds
    labelled: bool = True  # are the labels known? else they are to be found
    value: float = 0.0  # of the criterion of candidates, the lower the better

    @cached_property
    def alone(self) -> Array:
        """(m,) tasks that share nothing."""
        return self.within_weight == 1

    @property
    def anywhere(self) -> Array:
        """(m, c) what tasks may hold where it is not known: all clusters that some task holds."""
        return np.broadcast_to(self.holds.any(axis=0), self.holds.shape)

    def held_without(self, tasks: list[int]) -> Array:
        """Compute (c,) clusters that some of the other tasks hold."""
        return np.asarray(np.delete(self.holds, tasks, axis=0).any(axis=0))

    def log_shares(self, us: list[Array]) -> Array:
        """Compute (m, c) log of the proportions of the clusters in the tasks that share."""
        c = self.n_clusters
        if not self.labelled:
            return np.zeros((len(us), c))
        pairs = zip(self.labels, us, strict=True)
        sizes = np.stack([np.bincount(own, weights=u, minlength=c)[:c] for own, u in pairs])
        found = np.log((sizes + 1 / c) / (sizes.sum(axis=1, keepdims=True) + 1))
        found[self.alone] = 0.0
        return found


@dataclass(frozen=True)
class Part:
    """A part of the rows."""

    weights: list[Array]  # (n_k,) 1: it counts, 0: it does not
    left_out: list[int] = field(default_factory=list)  # tasks of which no row counts


@dataclass(frozen=True)
class Refitted:
    """What the refits of one setting found, one run for each part."""

    setting: Setting
    parts: list[Part]
    labels: Array  # (R, n) of all rows, task by task
    model: Model
    centers: Centers


def halves(sizes: list[int], n: int, rng: np.random.Generator) -> list[Part]:
    """So many halves of the rows of each task: each two make up all rows."""
    found = []
    for _ in range((n + 1) // 2):
        first = []
        for size in sizes:
            own = np.zeros(size)
            own[rng.permutation(size)[: (size + int(rng.integers(2))) // 2]] = 1.0
            first.append(own)
        found += [Part(first), Part([1 - own for own in first])]
    return found[:n]


def folds(sizes: list[int], sharing: Array, n: int, rng: np.random.Generator) -> list[Part]:
    """Return all rows but those of some of the tasks that share: each task is left out once, in at most n parts."""
    some = rng.permutation(np.flatnonzero(sharing))
    if len(some) < 2:
        return []
    out = [part.tolist() for part in np.array_split(some, min(n, len(some)))]
    return [Part([np.full(size, float(k not in own)) for k, size in enumerate(sizes)], own) for own in out]


def refit(
    rows: Blocks,
    setting: Setting,
    parts: list[Part],
    measured: bool,
    n_seedings: int,
    rng: np.random.Generator,
    given: bool = True,
) -> Refitted:
    """Fit a setting to each of some parts; `given`: its labels are a start too."""
    return refit_all(rows, [setting], [parts], measured, n_seedings, [rng], given)[0]


def refit_all(
    rows: Blocks,
    settings: list[Setting],
    parts: list[list[Part]],
    measured: bool,
    n_seedings: int,
    rngs: list[np.random.Generator],
    given: bool = True,
) -> list[Refitted]:
    """Fit each of several settings to each of its parts, side by side; each has a generator of its own.

    What is found for a setting does not depend on the others.
    """
    found: dict[int, Refitted] = {}
    for group in _groups(rows, settings, parts, n_seedings + given):
        runs = [Refit(settings[g], part) for g in group for part in parts[g]]
        drawn = [len(parts[g]) * n_seedings for g in group]
        model, labels, centers = _fit(rows, runs, measured, n_seedings, drawn, [rngs[g] for g in group], given)
        first = 0
        for g in group:
            at = list(range(first, first + len(parts[g])))
            found[g] = Refitted(settings[g], parts[g], labels[at], model.take("R", at), centers.take("R", at))
            first += len(at)
    return [found[g] for g in range(len(settings))]


@dataclass(frozen=True)
class Refit:
    """A refit: what is fitted, and to which rows."""

    setting: Setting
    part: Part


def _groups(rows: Blocks, settings: list[Setting], parts: list[list[Part]], n_starts: int) -> list[list[int]]:
    """Return settings that are fitted side by side: the same tasks are left alone, and memory bears them."""
    n = int(rows.summary.rows.sum())
    made: list[list[int]] = []
    sizes: list[int] = []
    for g in sorted(range(len(settings)), key=lambda g: settings[g].alone.tolist()):
        size = len(parts[g]) * n_starts * n
        fits = made and np.array_equal(settings[made[-1][0]].alone, settings[g].alone)
        if fits and sizes[-1] + size <= MOST_TOGETHER:
            made[-1].append(g)
            sizes[-1] += size
        else:
            made.append([g])
            sizes.append(size)
    return made


def _fit(
    rows: Blocks,
    runs: list[Refit],
    measured: bool,
    n_seedings: int,
    drawn: list[int],
    rngs: list[np.random.Generator],
    given: bool,
) -> tuple[Model, Array, Centers]:
    """Return the model, the labels (R, n) and the centres of runs that go side by side."""
    model = _model(rows, runs, measured)
    weights = [np.stack([run.part.weights[k] for run in runs]) for k in range(len(rows.origins))]
    counted = [(w * b.u).astype(b.u.dtype) for w, b in zip(weights, rows.place.blocks, strict=True)]
    sown = _sown(rows, runs, model, counted, n_seedings, drawn, rngs)
    starts = []
    for i, run in enumerate(runs):
        starts += sown[i * n_seedings : (i + 1) * n_seedings]
        starts += [run.setting.labels] if given else []
    every = np.repeat(np.arange(len(runs)), n_seedings + given)
    trial = model.take("R", every)
    state = replace(first_state(rows, trial, starts, energy=False), weights=[Weight(w[every], None) for w in counted])
    best = race(rows, trial, state, every, max_iter=HALF_TRIAL_ITER, tol=HALF_TOL).state
    best = replace(best, weights=[Weight(w, None) for w in counted])
    state = alternate(rows, model, best, max_iter=HALF_ITER, tol=HALF_TOL).state
    return model, np.concatenate(state.Ps, axis=1), state.centers


def _model(rows: Blocks, runs: list[Refit], measured: bool) -> Model:
    """Return the model of all runs. A task that is left out has no centres of its own, nor have the others then."""
    m, c, us = len(rows.origins), max(run.setting.n_clusters for run in runs), [b.u for b in rows.place.blocks]
    holds, log_shares = np.zeros((len(runs), m, c), dtype=bool), np.zeros((len(runs), m, c))
    shares = np.stack([run.setting.within_weight for run in runs])
    for i, run in enumerate(runs):
        setting, own, out = run.setting, run.setting.n_clusters, run.part.left_out
        holds[i, :, :own], log_shares[i, :, :own] = setting.holds, setting.log_shares(us)
        if out:
            held = setting.held_without(out)
            holds[i, :, :own] &= held
            holds[i, out, :own] = held  # where it is not known what a task holds, it may hold all that others do
            log_shares[i, out] = 0.0
            shares[i] = np.where(setting.alone, 1.0, 0.0)
    b = np.stack([run.setting.offsets for run in runs])
    return Model(
        c, Share.of(shares), c, holds=holds, geometry=Tied.of(np.eye(rows.n_features)) if measured else Identity(),
        offsets=Offsets.of(b), log_shares=log_shares if measured else None,
    )  # fmt: skip


def _sown(
    rows: Blocks,
    runs: list[Refit],
    model: Model,
    weights: list[Array],
    n: int,
    drawn: list[int],
    rngs: list[np.random.Generator],
) -> list[list[Array]]:
    """Return labels by a few iterations of k-means from seeds, n for each run; `drawn` of them with each generator."""
    blocks, m, c, alone = rows.place.blocks, len(rows.origins), model.n_clusters, runs[0].setting.alone
    holds = np.repeat(model.held((len(runs), m, c)), n, axis=0)
    holds = np.repeat(holds.any(axis=1, keepdims=True), m, axis=1)  # numbers of seeds mean nothing yet
    Z, own_seeds = np.zeros((len(holds), c, rows.n_features)), {}
    sharing = ~alone if not alone.all() else alone
    some, first = [b for b, one in zip(blocks, sharing, strict=True) if one], 0
    for size, rng in zip(drawn, rngs, strict=True):
        setting = runs[first // n].setting
        offsets = Offsets.of(setting.offsets[sharing])
        found = seeds(some, setting.n_clusters, rng, size, HALF_SEEDED, offsets)
        for i, held in enumerate(np.asarray(holds[first : first + size].any(axis=1))):
            Z[first + i, held] = found[i, : held.sum()]
        for k in np.flatnonzero(alone):
            own_seeds[first, k] = seeds([blocks[k]], setting.n_clusters, rng, size, HALF_SEEDED)
        first += size
    placed = model.offsets.take("R", np.repeat(np.arange(len(runs)), n))
    plain = Model(c, Share.of(np.where(alone, 1.0, 0.0)), c, holds=holds, offsets=placed)
    Ms = np.array(placed.in_tasks(Z, m))
    for (at, k), found in own_seeds.items():
        Ms[at : at + len(found), k, : found.shape[1]] = found
    state = state_at(rows, plain, Z, Ms)
    state = replace(state, weights=[Weight(np.repeat(w, n, axis=0), None) for w in weights])
    state = alternate(rows, plain, state, max_iter=HALF_SEED_ITER, tol=HALF_TOL).state
    return [
        _renumbered(runs[i // n].setting, [P[i] for P in state.Ps], [w[i // n] for w in weights])
        for i in range(len(holds))
    ]


def _renumbered(setting: Setting, labels: list[Array], us: list[Array]) -> list[Array]:
    """Return labels under the numbers that agree best with those of a setting, so that proportions and absences fit."""
    if not setting.labelled:
        return labels
    tables = np.zeros((len(labels), setting.n_clusters, setting.n_clusters))
    for table, own, given, u in zip(tables, labels, setting.labels, us, strict=True):
        np.add.at(table, (own, given), u)
    shared = match(tables[~setting.alone].sum(axis=0))
    pairs = zip(labels, tables, setting.alone, strict=True)
    return [(match(table) if alone else shared)[own] for own, table, alone in pairs]


def located(rows: Blocks, labels: list[Array], n_clusters: int) -> Array:
    """Compute (m, l) where tasks lie, by the clusters that they have in common."""
    blocks, c = rows.place.blocks, n_clusters
    Ps = [np.eye(c)[own] * b.u[:, None] for own, b in zip(labels, blocks, strict=True)]
    S = np.stack([P.sum(axis=0) for P in Ps])
    T = np.stack([P.T @ b.X for P, b in zip(Ps, blocks, strict=True)])
    means = T / np.where(S > 0, S, 1)[..., None]
    return shared_centers(means[None], S[None], S[None].sum(axis=2), True, None, None)[1][0]


def centered(rows: Blocks) -> Array:
    """Compute (m, l) where tasks lie, by their means."""
    means, sizes = rows.summary.means, rows.summary.sizes
    return means - sizes @ means / sizes.sum()


def distances(rows: Blocks, fits: Refitted) -> Array:
    """Compute (R, c, n) half of what each label adds to the losses of all rows, task by task, without proportions."""
    terms = fits.model.terms(fits.centers, rows.origins, energy=False)

    def job(place: Any) -> tuple[Any, ...]:
        made, local = [], terms.where(place.blocks[0])
        for k, block in enumerate(place.blocks):
            D = np.array(local[k].quadratic(block.X, block.sq).D, dtype=np.float64)
            made.append(D if terms.prior is None else D - terms.prior[:, k, :, None])
        return made, None

    return np.concatenate(rows.apply(job, outputs=1)[0], axis=2)
