"""Reading results off the final centres: the one function behind `labels_`, `predict` and `score_samples`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array, Each, Matrix, pieces, rows_at
from .model import Centers, Quadratic, Settings, make_block, terms
from .updates import nearest, nonnegative_exact, one_hot


def read_out(
    X: Matrix, settings: Settings, centers: Centers, task: int | None, xp: Any = np, each: Each = map
) -> tuple[Array, Array]:
    """Memberships and losses of rows at given centres; `task` None: the shared centres decide.

    Binary memberships are labels; others have rows that sum to 1. A row that non-negative least squares leaves without
    any membership, such as an all-zero row, belongs to the nearest centre.
    """
    near = settings.origin((centers.Ms[task] if task is not None else centers.shared).mean(axis=0).astype(np.float64))

    def job(part: slice) -> tuple[Array, Array]:
        rows = rows_at(X, part)
        block = make_block(rows, None, near, xp)
        [local] = terms(settings, centers, block.origin[None], [task]).where(block)
        form = local.quadratic(rows, block.sq)
        P = exact_memberships(form, settings)
        return _shares(P, form), form.losses(P)

    found = list(each(job, pieces(X, len(centers.Z))))
    Ps, Ls = [P for P, _ in found], [L for _, L in found]
    return (Ps[0], Ls[0]) if len(found) == 1 else (xp.concat(Ps), xp.concat(Ls))


def exact_memberships(form: Quadratic, settings: Settings) -> Array:
    """Memberships of least loss: the nearest centre, or non-negative least squares."""
    return nearest(form) if settings.membership == "binary" else nonnegative_exact(form)


def _shares(P: Array, form: Quadratic) -> Array:
    """Memberships that sum to 1; labels are what they are."""
    if P.ndim == 1:
        return P
    xp = form.xp
    total = xp.sum(P, axis=1, keepdims=True)
    some = total > 0
    return xp.where(some, P / xp.where(some, total, 1), one_hot(nearest(form), P.shape[1], P, xp))
