"""Rows of new tasks: where their shared centres lie."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from .._utils.tasks import positions
from ..core.arrays import Array
from ..core.centers import Centers
from ..core.model import Model
from ..core.offsets import Offsets
from ..engines import Engine

ENOUGH = 5  # rows per cluster that a new task needs before its own mean says where it lies


def place_tasks(
    engine: Engine, model: Model, centers: Centers, known: list[Hashable], sizes: Array
) -> tuple[Model, Centers, list[str]]:
    """The model of the tasks of an engine, in its order, and notes about tasks that were not in fit.

    A new task has no centres of its own, so the shared centres decide (λ1 = 0). Where tasks have offsets, it is placed
    by its mean if it has enough rows; else it is taken to lie in the middle of them. It may hold every cluster that the
    tasks of fit hold, in the proportions of all of them together. `sizes` (m, c) are those of the clusters in fit.
    """
    m = len(known)
    ks = positions(engine.labels.tolist(), known) if engine.named else [0 if m == 1 else None]
    new = [i for i, k in enumerate(ks) if k is None]
    at = [0 if k is None else k for k in ks]
    held = None if model.present is None else model.present[0].any(axis=0)
    model, centers = model.for_tasks(at), centers.for_tasks(at)
    if not new:
        return model, centers, []
    model, centers = _open_to_all(model, centers, new, held, sizes.sum(axis=0))
    shares = np.broadcast_to(model.shares[0], (len(ks),)).copy()
    shares[new] = 0
    Ms, offsets, notes = centers.Ms.copy(), model.offsets, []
    if engine.named:
        names = ", ".join(repr(engine.labels.tolist()[i]) for i in new[:8]) + (", …" if len(new) > 8 else "")
        notes.append(f"tasks holds {names}, not in fit: the shared centres decide about these rows.")
    if offsets is not None:
        offsets = Offsets(offsets.b.copy(), offsets.s.copy())
        for i in new:
            offsets.b[i], offsets.s[i] = 0, 1
            if engine.named:
                offsets.b[i], note = _offset(engine, i, centers, sizes)
                notes.append(note)
    found = replace(model, within_weight=shares, offsets=offsets)
    Ms[new] = found.placed_points(centers.shared[None], len(ks))[0, new]
    return found, replace(centers, Ms=Ms), notes


def _open_to_all(
    model: Model, centers: Centers, new: list[int], held: Array | None, sizes: Array
) -> tuple[Model, Centers]:
    """New tasks hold what any task of fit holds, in the proportions of all of them."""
    if model.present is not None:
        present = model.present.copy()
        present[:, new] = held
        model = replace(model, present=present)
    if centers.log_shares is not None:
        log_shares = centers.log_shares.copy()
        log_shares[new] = pooled_log_proportions(sizes)
        centers = replace(centers, log_shares=log_shares)
    return model, centers


def pooled_log_proportions(sizes: Array) -> Array:
    """(c,) the log of the proportions of the clusters in all tasks together, for a task that was not in the fit."""
    return np.log((sizes + 1 / len(sizes)) / (sizes.sum() + 1))


def _offset(engine: Engine, i: int, centers: Centers, sizes: Array) -> tuple[Array | float, str]:
    """The offset of a new task, by its mean."""
    name, shared = repr(engine.labels.tolist()[i]), centers.shared
    if engine.sizes[i] < ENOUGH * len(shared):
        return 0.0, f"{name} has too few rows to tell where it lies; they are taken to lie as the tasks of fit do."
    weights = sizes.sum(axis=0)
    middle = weights @ shared / weights.sum()
    return engine.summary.means[
        i
    ] - middle, f"{name} was placed by its mean, as if it held the clusters in the proportions of fit."
