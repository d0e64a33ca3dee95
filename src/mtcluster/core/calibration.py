"""How sure a label is: probabilities p_j ∝ exp(−D_j / T), with D_j half the loss of a row that has label j.

At T = 1 that would be the posterior of a model whose loss is −2 log-likelihood. But squared distances have a unit, and
centres that were fitted to rows lie too near to them. So the temperature T is calibrated on rows that are held out:

1. Halves of a sample are fitted again from the labels of the fit, with the weights of its last stage, and the other
   halves are compared with these centres.
2. Their variance along the directions that tell clusters apart is the temperature there, a fixed point of
   T = mean over rows of Σ_j p_j ‖P (x − E_j)‖² / q, with E_j the centres, P the projection on the span of their
   differences and q its dimension. The mean of p for the labels of the fit is how sure they are.
3. T is such that the labels of the fit are as sure, on average.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainc, gammaincinv

from .arrays import Array, Part
from .blocks import Block, Blocks, PerRow, Place, RowSource, Weight, make_block
from .centers import Centers
from .gaps import completed
from .jobs import losses
from .model import Model, State
from .pacing import Stages
from .sampling import Sampling, take_sample
from .solver import alternate, side_by_side
from .terms import Terms

CALIBRATION_ROWS = Sampling(3000, 100)
N_SPLITS = 3  # into halves, each of which is fitted again
REFIT_ITER, REFIT_TOL = 6, 1e-4  # of these fits
FIXED_POINT_ROUNDS, CLOSE = 50, 1e-4  # of the fixed point
REACH = 0.99  # share of normal rows that count as such
LEAST_WEIGHT = 1e-6  # weight of rows that the fit leaves out: no half is without weight
LEAST_TEMPERATURE = 1e-6  # T in squared distances between centres
BELOW, ABOVE = 1e-2, 1e4  # bounds of T, in temperatures of rows held out
EQUALLY_SURE = 1e-6  # difference of confidences that means nothing


def temperatures(rows: RowSource, model: Model, pace: Stages, centers: Centers, rng: np.random.Generator) -> Array:
    """Compute (m,) the temperature of each task at the centres of one run; one for all tasks with the same metric.

    It is 1 where probabilities do not depend on it: with one cluster, one row, or centres that coincide.
    """
    found = np.ones(len(rows.origins))
    sample = take_sample(rows, CALIBRATION_ROWS, rng)[0]
    if model.n_clusters == 1 or sum(len(block) for block in sample) < 2:
        return found
    alone = model.left_alone(len(found))
    source, final = Blocks(sample), centers.take("R", None)
    terms = model.terms(final, source.origins, energy=False, gaps=source.gaps)
    Ds = [h[..., None] - A for h, A in zip(np.swapaxes(terms.h, 0, 1), _products(source, terms), strict=True)]
    labels = [np.argmin(D[0], axis=0) for D in Ds]
    whole = model.terms(final, source.origins, gaps=source.gaps)
    job = partial(losses, terms=whole, membership=model.membership)
    vs = pace.weights(source, source.apply(job, [P[None] for P in labels])[0], pace.fractions[-1])
    weights = [block.u * np.maximum(v, LEAST_WEIGHT) for block, v in zip(sample, vs, strict=True)]
    halves = _halves([len(block) for block in sample], rng)
    observed = [1.0 if block.observed is None else block.observed for block in sample]
    seen = list(_held_out(_completed(source, terms, labels), model, centers, labels, weights, halves, observed))
    for tasks in (np.flatnonzero(alone), np.flatnonzero(~alone)):
        if len(tasks):
            own = _joined([part for part in seen if part.task in tasks])
            S = np.concatenate([_below(Ds[k][0]) for k in tasks], axis=1)
            found[tasks] = _temperature(own, S, np.concatenate([sample[k].u for k in tasks]))
    return found


@dataclass(frozen=True)
class _Seen:
    """Rows that were held out of a fit, with rows last."""

    task: int
    S: Array  # (c, n) the least D of the row minus D
    far: Array  # (c, n) squared distances to the centres in the directions that tell them apart
    q: Array  # (n,) number of these directions
    scale: Array  # (n,) mean squared distance of the centres from their middle
    labels: Array  # (n,) those of the fit
    u: Array  # (n,)


def _joined(parts: list[_Seen]) -> _Seen:
    names = ("S", "far", "q", "scale", "labels", "u")
    return _Seen(-1, *(np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in names))


def _below(D: Array) -> Array:
    """Tell how much D lies above its least value over the clusters, as a negative number."""
    return D.min(axis=-2, keepdims=True) - D


def _halves(sizes: list[int], rng: np.random.Generator) -> list[Array]:
    """Get (2 N_SPLITS, n) of each task: which rows are fitted; each row in one of two fits that follow each other."""
    odd = np.cumsum([size % 2 for size in sizes])
    found = [np.zeros((2 * N_SPLITS, size), dtype=bool) for size in sizes]
    for split in range(0, 2 * N_SPLITS, 2):
        more = (odd + rng.integers(2)) % 2  # tasks of odd size take turns: no half is without rows
        for part, size, extra in zip(found, sizes, more, strict=True):
            part[split, rng.permutation(size)[: (size + extra) // 2]] = True
            part[split + 1] = ~part[split]
    return found


def _completed(source: Blocks, terms: Terms, labels: list[Array]) -> Blocks:
    """Return the rows with what the clusters of the fit expect in place of missing values."""
    if terms.gaps is None:
        return source
    blocks = source.place.blocks
    tasks = [terms.gaps.of_task(k, block.sq, np) for k, block in enumerate(blocks)]
    rows = [completed(*given) for given in zip(blocks, tasks, labels, strict=True)]
    return Blocks([make_block(X, block.u, block.origin) for X, block in zip(rows, blocks, strict=True)])


def _held_out(
    source: Blocks, model: Model, centers: Centers, labels: list[Array], weights: list[Array], halves: list[Array],
    observed: PerRow,
) -> Iterator[_Seen]:  # fmt: skip
    """Fit halves of the rows again, from the labels of all, and compare the other halves with the centres.

    What was expected in place of missing values is no distance, so the others count by the share that is `observed`.
    """
    prepared, blocks = model.coupling.prepare(source), source.place.blocks
    for group in side_by_side(source, model, 2 * N_SPLITS):
        fitted = [half[group.start : group.stop] for half in halves]
        Ps = [
            np.tile(model.membership.start(P, b.sq, model.n_clusters), (len(group), 1))
            for P, b in zip(labels, blocks, strict=True)
        ]
        counts = [Weight(w * half, None) for w, half in zip(weights, fitted, strict=True)]
        state = State(centers.copies(len(group)), Ps, None, counts)
        again = alternate(source, model, state, max_iter=REFIT_ITER, tol=REFIT_TOL, prepared=prepared).state.centers
        yield from _compared(source, model, again, labels, fitted, observed)


def _compared(
    source: Blocks, model: Model, centers: Centers, labels: list[Array], fitted: list[Array], observed: PerRow
) -> Iterator[_Seen]:
    """Yield rows that were not fitted, and the centres of the runs."""
    terms, blocks = model.terms(centers, source.origins, energy=False), source.place.blocks
    spans = _spans(model, centers, terms, float(np.finfo(source.dtype).eps))
    for k, A in enumerate(_products(source, terms)):
        t, G, root, held = A, spans.G[:, k], spans.root[:, k], spans.held[:, k, :, None]
        t = np.where(held, t - np.sum(t, axis=1, where=held, keepdims=True) / spans.n[:, k], 0) - spans.shift[:, k]
        y = np.swapaxes(root, 1, 2) @ t
        own = np.einsum("rcc->rc", G)[..., None]
        far = np.where(held, np.maximum(np.sum(y * y, axis=1, keepdims=True) - 2 * t + own, 0), 0)
        S, out = _below(terms.h[:, k, :, None] - A), ~fitted[k]
        q, scale = np.count_nonzero(root.any(axis=1), axis=1), own[..., 0].sum(axis=1) / spans.n[:, k, 0, 0]
        yield _Seen(
            k,
            np.moveaxis(S, 1, 0)[:, out],
            np.moveaxis(far / observed[k], 1, 0)[:, out],
            *(np.broadcast_to(one, out.shape)[out] for one in (q[:, None], scale[:, None], labels[k], blocks[k].u)),
        )


@dataclass(frozen=True)
class _Spans:
    """The span of the differences of the centres of each run and task, in the metric; from their middle."""

    G: Array  # (R, m, c, c) products of the centres
    root: Array  # (R, m, c, c) with root rootᵀ = G⁺; as many columns as there are directions are not 0
    shift: Array  # (R, m, c, 1) products of the centres with the middle
    held: Array  # (R, m, c)
    n: Array  # (R, m, 1, 1) number of clusters that the task holds


def _spans(model: Model, centers: Centers, terms: Terms, eps: float) -> _Spans:
    """Return directions that tell the clusters of each task apart."""
    lam, held = model.sharing.lam[:, :, None, None], model.held(terms.h.shape)
    E, n = lam * centers.Ms + (1 - lam) * centers.placed, held.sum(axis=2)[..., None, None]

    def centred(Y: Array) -> tuple[Array, Array]:
        middle = np.sum(Y, axis=2, where=held[..., None], keepdims=True) / n
        return np.where(held[..., None], Y - middle, 0), middle

    (F, middle), (C, _) = centred(E), centred(terms.C)  # terms.C are the centres times the metric
    G = C @ np.swapaxes(F, 2, 3)
    G = (G + np.swapaxes(G, 2, 3)) / 2
    values, vectors = np.linalg.eigh(G)
    kept = values > G.shape[-1] * eps * np.maximum(values[..., -1:], 0)
    root = vectors * np.where(kept, 1 / np.sqrt(np.where(kept, values, 1)), 0)[..., None, :]
    return _Spans(G, root, C @ np.swapaxes(middle, 2, 3), held, n)


def _products(source: Blocks, terms: Terms) -> list[Array]:
    """Compute (R, c, n) the products of the rows of each task with the centres."""
    return source.apply(partial(_of_place, terms=terms))[0]


def _of_place(place: Place, *, terms: Terms) -> tuple[list[Array], None]:
    blocks = place.blocks
    local = terms.where(blocks[0])

    def job(k: int, part: Part, X: Array) -> Array:
        X, met = local[k].meet(X, blocks[k], part)
        return local[k].quadratic(X, blocks[k].sq[part], met).A

    parts = place.by_task(terms.n_columns, job)
    return [_side_by_side(found, terms, block) for found, block in zip(parts, blocks, strict=True)], None


def _side_by_side(parts: list[Array], terms: Terms, block: Block) -> Array:
    if not parts:
        return np.zeros((terms.C.shape[0], terms.C.shape[2], len(block)))
    return np.concatenate(parts, axis=2).astype(np.float64)


@np.errstate(over="ignore")
def _temperature(seen: _Seen, S: Array, u: Array) -> float:
    """Compute T at which the labels of all rows, S (c, n), are as sure on average as those of rows held out."""
    scale = float(seen.u @ seen.scale / seen.u.sum())
    if not scale > 0 or not seen.q.any():
        return 1.0
    T, number = _variance(seen, LEAST_TEMPERATURE * scale), np.arange(seen.S.shape[1])
    E = np.exp(seen.S / T)
    target = float(seen.u @ (E[seen.labels, number] / E.sum(axis=0)) / seen.u.sum())

    def excess(log_T: float) -> float:
        return float(u @ (1 / np.exp(S / np.exp(log_T)).sum(axis=0)) / u.sum()) - target

    low, middle, high = np.log(T * BELOW), np.log(T), np.log(T * ABOVE)
    at = excess(middle)
    if abs(at) <= EQUALLY_SURE:
        return T
    end = high if at > 0 else low
    if excess(end) * at > 0:
        return float(np.exp(end))
    return float(np.exp(brentq(excess, min(middle, end), max(middle, end), xtol=CLOSE)))


def _variance(seen: _Seen, least: float) -> float:
    """Return the fixed point T = mean of Σ_j p_j ‖P (x − E_j)‖² / q; rows beyond what normal ones reach do not count.

    ‖P (x − E_j)‖² / T of normal rows has a χ² distribution with q degrees of freedom.
    """
    some = seen.q > 0
    S, far, q, u = seen.S[:, some], seen.far[:, some], seen.q[some], seen.u[some]
    reach = 2 * gammaincinv(q / 2, REACH)
    inside = gammainc(q / 2 + 1, reach / 2) / REACH  # their mean within reach, in shares of q
    nearest = np.sum(np.where(S == 0, far, 0), axis=0)
    T = max(float(np.median(nearest / (2 * gammaincinv(q / 2, 0.5)))), least)
    for _ in range(FIXED_POINT_ROUNDS):
        E = np.exp(S / T)
        square = np.sum(E * far, axis=0) / E.sum(axis=0)
        w = np.where(square <= reach * T, u, 0)
        expected = float(w @ (q * inside))
        new = max(float(w @ square) / expected, least) if expected > 0 else T
        T, settled = new, abs(new - T) <= CLOSE * T
        if settled:
            break
    return T
