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

    @property
    def anywhere(self) -> Array:
        """(m, c) what tasks may hold where it is not known: all clusters that some task holds."""
        return np.broadcast_to(self.present.any(axis=0), self.present.shape)

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
    setting: Setting,
    parts: list[Part],
    measured: bool,
    n_seedings: int,
    rng: np.random.Generator,
    given: bool = True,
) -> Refitted:
    """Fit a setting to each of some parts, side by side; `given`: its labels are a start too.

    Settings do not go side by side: products of another size are rounded otherwise, and what is found for one setting
    would depend on the others.
    """
    model = _model(rows, setting, parts, measured)
    weights = [np.stack([part.weights[k] for part in parts]) for k in range(len(rows.origins))]
    counted = [(w * b.u).astype(b.u.dtype) for w, b in zip(weights, rows.place.blocks, strict=True)]
    sown = _sown(rows, setting, model, counted, n_seedings, rng)
    starts = []
    for i in range(len(parts)):
        starts += sown[i * n_seedings : (i + 1) * n_seedings]
        starts += [setting.labels] if given else []
    every = np.repeat(np.arange(len(parts)), n_seedings + given)
    trial = model.runs(every)
    state = replace(first_state(rows, trial, starts, energy=False), weights=[Weight(w[every], None) for w in counted])
    best = race(rows, trial, state, every, max_iter=TRIAL_ITER, tol=TOL).state
    best = replace(best, weights=[Weight(w, None) for w in counted])
    state = alternate(rows, model, best, max_iter=MAX_ITER, tol=TOL).state
    return Refitted(setting, parts, np.concatenate(state.Ps, axis=1), model, state.centers)


def _model(rows: Blocks, setting: Setting, parts: list[Part], measured: bool) -> Model:
    """The model of all parts. A task that is left out has no centres of its own, nor have the others then."""
    m, c, R = len(rows.origins), setting.n_clusters, len(parts)
    present, shares = np.repeat(setting.present[None], R, axis=0), np.repeat(setting.within_weight[None], R, axis=0)
    log_shares = np.repeat(setting.log_shares([b.u for b in rows.place.blocks])[None], R, axis=0)
    for i, part in enumerate(parts):
        if part.left_out:
            held = setting.present[np.setdiff1d(np.arange(m), part.left_out)].any(axis=0)
            present[i] &= held
            present[i, part.left_out] = held  # where it is not known what a task holds, it may hold all that others do
            log_shares[i, part.left_out] = 0.0
            shares[i] = np.where(setting.alone, 1.0, 0.0)
    return Model(
        c, shares, c, present=present, metric=Metric(None, np.eye(rows.n_features)) if measured else None,
        offsets=Offsets(setting.offsets, np.ones(m)) if setting.offsets.any() else None,
        log_shares=log_shares if measured else None,
    )  # fmt: skip


def _sown(
    rows: Blocks, setting: Setting, model: Model, weights: list[Array], n: int, rng: np.random.Generator
) -> list[list[Array]]:
    """Labels by a few iterations of k-means from seeds, n for each run of the model."""
    blocks, m, c, alone = rows.place.blocks, len(rows.origins), setting.n_clusters, setting.alone
    present = np.repeat(model.held((len(weights[0]), m, c)), n, axis=0)
    sharing = ~alone if not alone.all() else alone
    offsets = Offsets(setting.offsets[sharing], np.ones(int(sharing.sum())))
    some = [b for b, one in zip(blocks, sharing, strict=True) if one]
    drawn, Z = seeds(some, c, offsets, rng, len(present), SEEDED), np.zeros((len(present), c, rows.n_features))
    for i, held in enumerate(np.asarray(present.any(axis=1))):
        Z[i, held] = drawn[i, : held.sum()]
    plain = Model(c, np.where(alone, 1.0, 0.0), c, present=present, offsets=model.offsets)
    Ms = np.array(plain.placed_points(Z, m))
    for k in np.flatnonzero(alone):
        Ms[:, k] = seeds([blocks[k]], c, None, rng, len(present), SEEDED)
    state = state_at(rows, plain, Z, Ms)
    state = replace(state, weights=[Weight(np.repeat(w, n, axis=0), None) for w in weights])
    state = alternate(rows, plain, state, max_iter=SEED_ITER, tol=TOL).state
    return [[P[i] for P in state.Ps] for i in range(len(present))]


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
