"""What nothing new looks like: tasks of the fit join a model of the others, as a new task would.

A model of one task is compared with itself in halves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.sparse import vstack

from .arrays import Array, is_sparse
from .blocks import Block, Blocks, RowSource, make_block
from .centers import Centers
from .covariances import OfClusters
from .gaps import by_itself, columns_there
from .geometry import Geometry, Tied
from .joining import Prior, in_common, join, round_coordinates
from .model import Model
from .novelty import NOVELTY_ROWS, Ordinary, weighted_quantile
from .placing import Effects, effects_of
from .readout import read_out
from .sampling import take_few
from .sharing import divided

TASKS_THAT_JOIN = 10  # of the fit that join again
TINY = float(np.finfo(np.float64).tiny)
LEAST_LEFT = 0.25  # of a covariance without a row
LOSS_ROUNDING = 1e-6  # loss per feature, with a metric, that means nothing


def learn_ordinary(
    rows: RowSource, model: Model, centers: Centers, sizes: Array, prior: Prior, rng: np.random.Generator
) -> Ordinary:
    """Tell how much the tasks of a fit differ, and what they look like where each joins the others.

    `sizes` (m, c) of clusters.
    """
    sample = _in_rows(take_few(rows, NOVELTY_ROWS, rng))
    nothing = _rounding(sample, model)
    if not model.membership.diagonal:
        Ls = [np.maximum(L, nothing) for L in read_out(Blocks(sample).place, model=model, centers=centers)[1]]
        medians = [_median(L, b) for L, b in zip(Ls, sample, strict=True)]
        return _ordinary(Ls, [L / scale for L, scale in zip(Ls, medians, strict=True)], medians, 0.0, Effects())
    effects = replace(_effects(sample, model, centers), moves=prior.effects.moves)
    prior = replace(prior, effects=effects)
    shaping = _shaping(centers, sizes)
    losses: list[Array] = []
    ratios: list[Array] = []
    medians, excess = [], 0.0
    for k, block, whole, shared, held in _views(sample, model, centers, sizes, rng):
        own, alone = Blocks([block]), centers.take("m", [k])
        labels = _labels(own, model.take("m", [k]), alone)[0]
        some = held[labels]
        linked = columns_there(block) & np.any([columns_there(sample[i]) for i in range(len(sample)) if i != k], axis=0)
        if not some.any() or (len(sample) > 1 and not linked.any()):
            continue
        geometry = _without(model, alone, k, whole, labels, float(sizes[k].sum() / max(sample[k].u.sum(), TINY)), sizes)
        others = replace(_moved(model, alone, shared), geometry=geometry)
        of_others = replace(prior, exists=held, sizes=prior.sizes * held)
        found = join(Blocks([_part(whole, some)]), model.take("m", [k]), others, [0], of_others)
        read = read_out(own.place, model=found.model, centers=found.centers)[1][0].astype(np.float64)[some]
        own_losses = np.maximum(_without_it(read, shaping), nothing)
        losses.append(own_losses)
        if found.enough[0]:
            medians.append(_median(own_losses, _part(block, some)))
            ratios.append(own_losses / medians[-1])
            excess = max(excess, float(np.max(found.excess[0], initial=0.0)))
    return _ordinary(losses, ratios, medians, excess, effects)


def _without(
    model: Model, centers: Centers, k: int, block: Block, labels: Array, factor: float, sizes: Array
) -> Geometry:
    """Return the covariance that all tasks share without some rows of one, each of which stands for `factor` rows.

    Rows that a covariance was estimated from have smaller losses than those of a task that joins.
    """
    tied = centers.geometry
    sharing = np.broadcast_to(model.sharing.sharing, (len(sizes),))
    if not isinstance(tied, Tied) or not sharing[k] or block.observed is not None:
        return tied
    total = float(sizes[sharing].sum())
    u = factor * np.asarray(block.u, dtype=np.float64)
    left = total - float(u.sum())
    if not left > 0:
        return tied
    Y = block.X if tied.V is None else block.X @ tied.V
    Y = np.asarray(Y.toarray() if is_sparse(Y) else Y, dtype=np.float64)
    lam = float(np.broadcast_to(model.sharing.lam, (1, len(sizes)))[0, k])
    G = tied.K.astype(np.float64) * (1 + tied.strength) * total - tied.strength * total * tied.prior
    for points, share in ((centers.Ms, lam), (centers.placed, 1 - lam)):
        M = points.reshape(-1, points.shape[-1]).astype(np.float64)
        rest = Y - (M if tied.V is None else M @ tied.V)[labels]
        G = G - share * rest.T @ (u[:, None] * rest)
    K = (G / left + tied.strength * tied.prior) / (1 + tied.strength)
    return replace(tied, K=K.astype(tied.K.dtype)).bounded()


def _in_rows(sample: list[Block]) -> list[Block]:
    """Give weights a mean of 1 over the rows that count, as rows of a task that joins weigh 1."""
    us = np.concatenate([np.asarray(b.u, dtype=np.float64) for b in sample])
    usual = float(us[us > 0].mean()) if (us > 0).any() else 1.0
    if usual == 1:
        return sample
    return [replace(b, u=(np.asarray(b.u, dtype=np.float64) / usual).astype(b.u.dtype)) for b in sample]


def _without_it(losses: Array, n: float) -> Array:
    """Tell the loss of each row by a covariance of n rows that it has no part in: D / (1 − D / n)."""
    return np.asarray(losses / np.maximum(1 - losses / n, LEAST_LEFT))


def _shaping(centers: Centers, sizes: Array) -> float:
    """Count the rows that the covariance of a cluster was estimated from; that of all clusters has enough."""
    if not isinstance(centers.geometry, OfClusters):
        return np.inf
    of_cluster = sizes.sum(axis=0)
    return float(np.median(of_cluster[of_cluster > 0]))


def _median(losses: Array, block: Block) -> float:
    return weighted_quantile(losses.astype(np.float64), np.asarray(block.u, dtype=np.float64), 0.5) or 1.0


def _ordinary(
    losses: list[Array], ratios: list[Array], scales: list[float], excess: float, effects: Effects
) -> Ordinary:
    first, second = (np.sort(np.concatenate([np.zeros(0), *parts])) for parts in (losses, ratios))
    return Ordinary(first, second, np.array(scales, dtype=np.float64), excess, effects)


def _effects(sample: list[Block], model: Model, centers: Centers) -> Effects:
    """Tell how much tasks differ, where clusters are round; those that share nothing do not count."""
    m = len(sample)
    sharing = np.flatnonzero(np.broadcast_to(model.sharing.sharing, (m,)))
    sharing = sharing if len(sharing) else np.arange(m)
    labels, there = _labels(Blocks(sample), model, centers), np.ones(sample[0].X.shape[1], dtype=bool)
    for k in sharing:
        there &= columns_there(sample[k])
    if not there.any():  # nothing that tasks have in common tells how they differ
        sharing = sharing[:1]
        there = columns_there(sample[sharing[0]])
    whole = [by_itself(sample[k]) for k in sharing]
    X = vstack([b.X for b in whole], format="csr") if is_sparse(whole[0].X) else np.concatenate([b.X for b in whole])
    Y = round_coordinates(X, centers.shared, centers.geometry.tied, there)[0]
    Ys = np.split(Y, np.cumsum([len(b) for b in whole])[:-1])
    us = [np.asarray(b.u, dtype=np.float64) for b in whole]
    scales = np.broadcast_to(centers.offsets.s, (m,))[sharing]
    return effects_of(Ys, us, [labels[k] for k in sharing], scales, model.n_clusters)


def _labels(rows: Blocks, model: Model, centers: Centers) -> list[Array]:
    return [
        own if own.ndim == 1 else own.argmax(axis=1) for own in read_out(rows.place, model=model, centers=centers)[0]
    ]


def _rounding(sample: list[Block], model: Model) -> float:
    """Make a loss that means nothing: rounding makes losses of about that size of rows that lie on their centres."""
    if model.geometry.estimated:
        return LOSS_ROUNDING * sample[0].X.shape[1]
    eps = float(np.finfo(sample[0].sq.dtype).eps)
    return 100 * eps * float(np.mean(np.concatenate([b.sq for b in sample]), dtype=np.float64))


def _views(
    sample: list[Block], model: Model, centers: Centers, sizes: Array, rng: np.random.Generator
) -> Iterator[tuple[int, Block, Block, Array, Array]]:
    """Yield some tasks, their rows, these without missing values, and the shared centres and clusters without them."""
    m, c = sizes.shape
    pull, points = model.sharing.pull(sizes[None])[0], in_common(centers.Ms.astype(np.float64), centers)
    sharing = np.flatnonzero(np.broadcast_to(model.sharing.sharing, (m,)))
    if len(sharing) > 1:
        for k in sharing[:: -(-len(sharing) // TASKS_THAT_JOIN)].tolist():
            others = sharing[sharing != k]
            of_cluster = pull[others].sum(axis=0)
            Z = np.einsum("kc,kcd->cd", pull[others], points[others]) / np.where(of_cluster > 0, of_cluster, 1)[:, None]
            shared = np.where((of_cluster > 0)[:, None], Z, centers.shared)
            yield k, sample[k], by_itself(sample[k]), shared, of_cluster > 0
        return
    for k in range(min(m, TASKS_THAT_JOIN)):
        block, whole = sample[k], by_itself(sample[k])
        first = rng.permutation(len(block)) < len(block) // 2
        for half in (first, ~first):
            if half.all() or not half.any():
                continue
            rest = _part(whole, ~half)
            labels = read_out(Blocks([rest]).place, model=model.take("m", [k]), centers=centers.take("m", [k]))[0][0]
            labels = labels if labels.ndim == 1 else labels.argmax(axis=1)
            F = (labels == np.arange(c)[:, None]) * np.asarray(rest.u, dtype=np.float64)
            n = F.sum(axis=1)
            T = (rest.X.T @ F.T).T if is_sparse(rest.X) else F @ rest.X
            Z = centers.offsets.take("R", None).from_task(divided(T, n), k)
            yield k, _part(block, half), _part(whole, half), np.where((n > 0)[:, None], Z, centers.shared), n > 0


def _part(block: Block, at: Array) -> Block:
    rows = np.flatnonzero(at)
    return make_block(block.X[rows], block.u[rows], block.origin)


def _moved(model: Model, centers: Centers, shared: Array) -> Centers:
    """Return the same centres with other shared ones."""
    if model.coupling.energy_basis(centers.W) is None:
        return replace(centers, W=None, M=None, Z=shared)
    assert centers.W is not None
    return replace(centers, M=shared @ centers.W, Z=shared)
