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
from ..core.frames import shared_centers
from ..core.kmeans import seeds
from ..core.metric import Metric
from ..core.model import Model
from ..core.offsets import Offsets
from ..core.solver import alternate, first_state, race, state_at

SEEDED = 600  # rows that seeds are drawn from, where there are more
SEED_ITER, TRIAL_ITER, MAX_ITER, TOL = 4, 4, 8, 5e-4
TOGETHER = 2**17  # rows times runs that are fitted side by side


@dataclass(frozen=True)
class Setting:
    """What is fitted again: labels of the sample, and what was decided about the tasks."""

    labels: list[Array]  # (n_k,) of each task
    n_clusters: int
    offsets: Array  # (m, l) where the tasks lie
    within_weight: Array  # (m,) λ1; 1: left alone
    present: Array  # (m, c) which clusters a task holds
    labelled: bool = True  # are the labels known? else they are to be found
    value: float = 0.0  # of the criterion of candidates, the lower the better

    @cached_property
    def alone(self) -> Array:
        """(m,) tasks that share nothing."""
        return self.within_weight == 1

    def log_shares(self, us: list[Array]) -> Array:
        """(m, c) log of the proportions of the clusters in the tasks that share."""
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
    """All rows but those of some of the tasks that share: each task is left out once, in at most n parts."""
    some = rng.permutation(np.flatnonzero(sharing))
    if len(some) < 2:
        return []
    out = [part.tolist() for part in np.array_split(some, min(n, len(some)))]
    return [Part([np.full(size, float(k not in own)) for k, size in enumerate(sizes)], own) for own in out]


def refit(
    rows: Blocks,
    settings: list[Setting],
    parts: list[list[Part]],
    measured: bool,
    n_seedings: int,
    rngs: list[np.random.Generator],
    given: bool = True,
) -> list[Refitted]:
    """Fit each setting to each of its parts; `given`: its labels are a start too. Each setting has its own generator.

    What is found for a setting does not depend on the others.
    """
    found: list[Refitted | None] = [None] * len(settings)
    for group in _groups(rows, settings, parts, n_seedings + given):
        fits = _fit(
            rows, *([values[g] for g in group] for values in (settings, parts)), measured, n_seedings,
            [rngs[g] for g in group], given,
        )  # fmt: skip
        for g, fit in zip(group, fits, strict=True):
            found[g] = fit
    return [fit for fit in found if fit is not None]


def _groups(rows: Blocks, settings: list[Setting], parts: list[list[Part]], n_starts: int) -> list[list[int]]:
    """Settings that are fitted side by side: the same tasks are left alone, and memory bears them."""
    n = int(rows.summary.rows.sum())
    made: list[list[int]] = []
    alone: list[Array] = []
    size = 0
    for g in sorted(range(len(settings)), key=lambda g: settings[g].alone.tolist()):
        own = len(parts[g]) * n_starts * n
        if made and np.array_equal(alone[-1], settings[g].alone) and size + own <= TOGETHER:
            made[-1].append(g)
            size += own
        else:
            made.append([g])
            alone.append(settings[g].alone)
            size = own
    return made


def _fit(
    rows: Blocks,
    settings: list[Setting],
    parts: list[list[Part]],
    measured: bool,
    n_seedings: int,
    rngs: list[np.random.Generator],
    given: bool,
) -> list[Refitted]:
    """The refits of settings that go side by side."""
    c, m = max(setting.n_clusters for setting in settings), len(rows.origins)
    runs = [(setting, part) for setting, own in zip(settings, parts, strict=True) for part in own]
    model = _model(rows, runs, c, measured)
    weights = [np.stack([part.weights[k] for _, part in runs]) for k in range(m)]
    counted = [(w * b.u).astype(b.u.dtype) for w, b in zip(weights, rows.place.blocks, strict=True)]
    sown = _sown(rows, settings, parts, model, counted, n_seedings, rngs)
    starts = []
    for i, (setting, _) in enumerate(runs):
        starts += sown[i * n_seedings : (i + 1) * n_seedings]
        starts += [setting.labels] if given else []
    each = n_seedings + given
    every = np.repeat(np.arange(len(runs)), each)
    trial = model.runs(every)
    state = replace(first_state(rows, trial, starts, energy=False), weights=[Weight(w[every], None) for w in counted])
    best = race(rows, trial, state, every, max_iter=TRIAL_ITER, tol=TOL).state
    best = replace(best, weights=[Weight(w, None) for w in counted])
    state = alternate(rows, model, best, max_iter=MAX_ITER, tol=TOL).state
    labels, first, found = np.concatenate(state.Ps, axis=1), 0, []
    for setting, own in zip(settings, parts, strict=True):
        at = list(range(first, first + len(own)))
        found.append(Refitted(setting, own, labels[at], model.runs(at), state.centers.runs(at)))
        first += len(own)
    return found


def _model(rows: Blocks, runs: list[tuple[Setting, Part]], c: int, measured: bool) -> Model:
    """The model of all runs. A task that is left out has no centres of its own, nor have the others then."""
    m, us = len(rows.origins), [b.u for b in rows.place.blocks]
    present = np.zeros((len(runs), m, c), dtype=bool)
    shares, log_shares = np.zeros((len(runs), m)), np.zeros((len(runs), m, c))
    for i, (setting, part) in enumerate(runs):
        own = setting.n_clusters
        present[i, :, :own] = setting.present
        shares[i], log_shares[i, :, :own] = setting.within_weight, setting.log_shares(us)
        if part.left_out:
            others = np.setdiff1d(np.arange(m), part.left_out)
            held = setting.present[others].any(axis=0)
            present[i, :, :own] &= held
            for k in part.left_out:  # where it is not known what a task holds, it may hold all that others do
                present[i, k, :own] = held
                log_shares[i, k] = 0.0
            shares[i] = np.where(setting.alone, 1.0, 0.0)
    b = np.stack([setting.offsets for setting, _ in runs])
    return Model(
        c, shares, c, present=present, metric=Metric(None, np.eye(rows.n_features)) if measured else None,
        offsets=Offsets(b, np.ones(m)) if b.any() else None, log_shares=log_shares if measured else None,
    )  # fmt: skip


def _sown(
    rows: Blocks,
    settings: list[Setting],
    parts: list[list[Part]],
    model: Model,
    weights: list[Array],
    n: int,
    rngs: list[np.random.Generator],
) -> list[list[Array]]:
    """Labels by a few iterations of k-means from seeds, n for each run."""
    blocks, m, c, every = rows.place.blocks, len(rows.origins), model.n_clusters, sum(map(len, parts)) * n
    alone, d = settings[0].alone, rows.n_features
    present = np.repeat(model.held((every // n, m, c)), n, axis=0)
    Z, own_seeds = np.zeros((every, c, d)), np.zeros((every, int(alone.sum()), c, d))
    first = 0
    for setting, own, rng in zip(settings, parts, rngs, strict=True):
        at, number = slice(first, first + len(own) * n), setting.n_clusters
        sharing = ~alone if not alone.all() else alone
        offsets = Offsets(setting.offsets[sharing], np.ones(int(sharing.sum())))
        some = [b for b, one in zip(blocks, sharing, strict=True) if one]
        drawn = seeds(some, number, offsets, rng, len(own) * n, SEEDED)
        for i, held in enumerate(present[at].any(axis=1)):
            Z[first + i, held] = drawn[i, : held.sum()]
        for i, k in enumerate(np.flatnonzero(alone)):
            own_seeds[at, i, :number] = seeds([blocks[k]], number, None, rng, len(own) * n, SEEDED)
        first = at.stop
    offsets = None if model.offsets is None else Offsets(np.repeat(model.offsets.b, n, axis=0), model.offsets.s)
    plain = Model(c, np.where(alone, 1.0, 0.0), c, present=present, offsets=offsets)
    Ms = plain.placed_points(Z, m)
    if alone.any():
        Ms = Ms.copy()
        Ms[:, alone] = own_seeds
    state = state_at(rows, plain, Z, Ms)
    state = replace(state, weights=[Weight(np.repeat(w, n, axis=0), None) for w in weights])
    state = alternate(rows, plain, state, max_iter=SEED_ITER, tol=TOL).state
    return [[P[i] for P in state.Ps] for i in range(every)]


def located(rows: Blocks, labels: list[Array], n_clusters: int) -> Array:
    """(m, l) where tasks lie, by the clusters that they have in common."""
    blocks, c = rows.place.blocks, n_clusters
    Ps = [np.eye(c)[own] * b.u[:, None] for own, b in zip(labels, blocks, strict=True)]
    S = np.stack([P.sum(axis=0) for P in Ps])
    T = np.stack([P.T @ b.X for P, b in zip(Ps, blocks, strict=True)])
    means = T / np.where(S > 0, S, 1)[..., None]
    return shared_centers(means[None], S[None], S[None].sum(axis=2), True, None, None)[1][0]


def centered(rows: Blocks) -> Array:
    """(m, l) where tasks lie, by their means."""
    means, sizes = rows.summary.means, rows.summary.sizes
    return means - sizes @ means / sizes.sum()


def distances(rows: Blocks, fits: Refitted) -> tuple[list[Array], Any]:
    """(R, c, n_k) half of what each label adds to the losses, without proportions, and the terms they come from."""
    terms = fits.model.terms(fits.centers, rows.origins, energy=False)

    def job(place: Any) -> tuple[Any, ...]:
        made, local = [], terms.where(place.blocks[0])
        for k, block in enumerate(place.blocks):
            D = np.array(local[k].quadratic(block.X, block.sq).D, dtype=np.float64)
            made.append(D if terms.prior is None else D - terms.prior[:, k, :, None])
        return made, None

    return rows.apply(job, outputs=1)[0], terms
