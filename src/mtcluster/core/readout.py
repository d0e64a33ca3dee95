"""Reading results off the final centres: what is behind `labels_`, `predict` and the other methods for rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .arrays import Array, Matrix, Part, entry_counts, is_sparse, pieces, rows_at
from .blocks import Outputs, Place, make_block
from .centers import Centers
from .memberships import Quadratic, one_hot
from .model import Model


def read_out(place: Place, *, model: Model, centers: Centers) -> Outputs:
    """Return memberships and losses of rows at the centres of one run, as they are reported.

    The loss of a row that lacks values is that of a whole row: it is divided by the share of them that is there.
    """

    def read(form: Quadratic, observed: Array | None) -> tuple[Array, ...]:
        P = model.membership.exact(form)
        L = model.membership.losses(P, form)[0, :]
        return model.membership.reported(P, form), L if observed is None else L / observed

    found = [_read_task(k, model, centers, place, read) for k in range(len(place.Xs))]
    return [P for P, _ in found], [L for _, L in found], None


def probabilities(place: Place, *, model: Model, centers: Centers, temperatures: list[float]) -> Outputs:
    """Return probabilities (n, c) of the labels of rows at the centres of one run, at the temperature of each task."""
    found = [
        _read_task(k, model, centers, place, lambda form, _, T=T: (softened(form, model, T),))[0]  # type: ignore[misc]
        for k, T in enumerate(temperatures)
    ]
    return found, None


def softened(form: Quadratic, model: Model, temperature: float) -> Array:
    """Compute (n, c) exp(−D / T) in shares of their sum; the label of a row is the largest, in spite of rounding."""
    xp, P, D = form.xp, model.membership.exact(form), form.D
    kind = xp.finfo(D.dtype)
    T = max(temperature, float(kind.smallest_normal))
    label = one_hot(P[0, :], model.n_clusters, xp.bool, xp)
    others = xp.exp((form.least[0, :] - D[0, ...]) / T).T
    E = xp.where(label, xp.ones_like(others), xp.clip(others, None, 1 - 4 * float(kind.eps)))
    return E / xp.sum(E, axis=1, keepdims=True)


def _read_task(
    k: int, model: Model, centers: Centers, place: Place, read: Callable[[Quadratic, Array | None], tuple[Array, ...]]
) -> tuple[Array, ...]:
    """Return the rows of one task, seen from the middle of its centres: it does not matter which rows come together."""
    X, model, centers = place.Xs[k], model.take("m", [k]), centers.take("m", [k])
    xp, d = place.xp, centers.Z.shape[1]
    middle = centers.Ms[0].mean(axis=0).astype(np.float64) if model.free_origin else np.zeros(d)

    def job(part: Part) -> tuple[Array, ...]:
        rows: Matrix = rows_at(X, part)
        origin = np.where(entry_counts(rows, xp) == rows.shape[0], middle, 0) if is_sparse(rows) else middle
        block = make_block(rows, None, origin, xp)
        terms = model.terms(centers.take("R", None), origin[None], gaps=block.observed is not None)
        [local] = terms.where(block)
        rows, met = local.meet(rows, block, slice(0, len(block)))
        return read(local.quadratic(rows, block.sq, met), block.observed)

    found = list(place.each(model.n_clusters)(job, pieces(X, model.n_clusters)))
    return found[0] if len(found) == 1 else tuple(xp.concat(parts) for parts in zip(*found, strict=True))
