"""Reading results off the final centres: the one function behind `labels_`, `predict` and `score_samples`."""

from __future__ import annotations

import numpy as np

from .model import Array, Centers, Matrix, Quadratic, Settings, make_block, quadratic
from .updates import nearest, nonnegative_exact


def read_out(X: Matrix, settings: Settings, centers: Centers, task: int | None) -> tuple[Array, Array]:
    """Memberships (rows sum to 1) and losses of rows at given centres; `task` None: the shared centres decide.

    A row that non-negative least squares leaves without any membership, such as an all-zero row, belongs to the
    nearest centre.
    """
    near = (centers.Ms[task] if task is not None else centers.M @ centers.W.T).mean(axis=0)
    block = make_block(X, np.ones(X.shape[0], dtype=X.dtype), settings.origin(near))
    form = quadratic(block, settings, centers, task)
    P = exact_memberships(form, settings)
    total = P.sum(axis=1, keepdims=True)
    return np.where(total > 0, P / np.where(total > 0, total, 1), nearest(form)), form.losses(P)


def exact_memberships(form: Quadratic, settings: Settings) -> Array:
    """Memberships of least loss: the nearest centre, or non-negative least squares."""
    return nearest(form) if settings.membership == "binary" else nonnegative_exact(form)
