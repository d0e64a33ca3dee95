"""Reading results off the final centres: the one job behind `labels_`, `predict` and `score_samples`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array, Matrix, entry_counts, is_sparse, pieces, rows_at
from .blocks import Place, make_block
from .centers import Centers
from .model import Model


def read_out(place: Place, *, model: Model, centers: Centers) -> tuple[Any, ...]:
    """Memberships and losses of rows at the centres of one run, as they are reported."""
    found = [_read_task(X, model.for_tasks([k]), centers.for_tasks([k]), place) for k, X in enumerate(place.Xs)]
    return [P for P, _ in found], [L for _, L in found], None


def _read_task(X: Matrix, model: Model, centers: Centers, place: Place) -> tuple[Array, Array]:
    """The rows of one task, seen from the middle of its centres: it does not matter which rows come together."""
    xp, d = place.xp, centers.Z.shape[1]
    middle = centers.Ms[0].mean(axis=0).astype(np.float64) if model.free_origin else np.zeros(d)

    def job(part: slice) -> tuple[Array, Array]:
        rows = rows_at(X, part)
        origin = np.where(entry_counts(rows, xp) == rows.shape[0], middle, 0) if is_sparse(rows) else middle
        block = make_block(rows, None, origin, xp)
        [local] = model.terms(centers.runs(None), origin[None]).where(block)
        form = local.quadratic(rows, block.sq)
        P = model.membership.exact(form)
        return model.membership.reported(P, form), model.membership.losses(P, form)[0, :]

    found = list(place.each(model.n_clusters)(job, pieces(X, model.n_clusters)))
    if len(found) == 1:
        return found[0]
    return xp.concat([P for P, _ in found]), xp.concat([L for _, L in found])
