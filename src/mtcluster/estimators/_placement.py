"""Rows of new tasks: where their shared centres lie."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial

import numpy as np

from .._utils.tasks import positions
from ..core.arrays import Array
from ..core.centers import Centers
from ..core.jobs import cluster_sizes, weighted_sums
from ..core.model import Model
from ..core.offsets import Offsets
from ..core.readout import read_out
from ..engines import Engine

ENOUGH = 5  # rows per cluster that a new task needs before its rows say where it lies
ROUNDS = 5  # of labels and offsets of a new task


def place_tasks(
    engine: Engine, model: Model, centers: Centers, known: list[Hashable], sizes: Array
) -> tuple[Model, Centers, list[str]]:
    """The model of the tasks of an engine, in its order, and notes about tasks that were not in fit.

    A new task has no centres of its own, so the shared centres decide (λ1 = 0). Where tasks have offsets, its own is
    estimated from its rows, if there are enough; else it is taken to lie in the middle of them. `sizes` (m, c) are
    those of the clusters in fit.
    """
    m = len(known)
    ks = positions(engine.labels.tolist(), known) if engine.named else [0 if m == 1 else None]
    new = [i for i, k in enumerate(ks) if k is None]
    at = [0 if k is None else k for k in ks]
    held = None if model.present is None else model.present[0].any(axis=0)
    model, centers = model.for_tasks(at), centers.for_tasks(at)
    if not new:
        return model, centers, []
    shares = np.broadcast_to(model.shares[0], (len(ks),)).copy()
    shares[new] = 0
    Ms, offsets, notes = centers.Ms.copy(), model.offsets, []
    if engine.named:
        names = ", ".join(repr(engine.labels.tolist()[i]) for i in new[:8]) + (", …" if len(new) > 8 else "")
        notes.append(f"tasks holds {names}, not in fit: the shared centres decide about these rows.")
    found = replace(model, within_weight=shares, offsets=offsets, present=_holds_all(model, new, held))
    if offsets is not None:
        zero = Offsets(offsets.b.copy(), offsets.s.copy())
        zero.b[new], zero.s[new] = 0, 1
        found = replace(found, offsets=zero)
        if engine.named:
            found, told = _located(engine, found, centers, new, sizes)
            notes += told
    Ms[new] = found.placed_points(centers.shared[None], len(ks))[0, new]
    return found, replace(centers, Ms=Ms, log_shares=_open_shares(centers, new)), notes


def _holds_all(model: Model, new: list[int], held: Array | None) -> Array | None:
    """What a new task holds is not known: it may hold every cluster that some task of fit holds, `held` (c,)."""
    if model.present is None:
        return None
    present = np.array(np.broadcast_to(model.present, (1, *model.present.shape[-2:])))
    present[:, new] = held
    return present


def _open_shares(centers: Centers, new: list[int]) -> Array | None:
    """Nor are its proportions: all clusters are alike."""
    if centers.log_shares is None:
        return None
    shares = centers.log_shares.copy()
    shares[new] = -np.log(shares.shape[1])
    return shares


def _located(engine: Engine, model: Model, centers: Centers, new: list[int], sizes: Array) -> tuple[Model, list[str]]:
    """The model with offsets of new tasks: from where they would lie by their means, or as those of fit do.

    From both, rows are labelled and the offset is what is left of the mean of the task, a few times; the lower sum of
    losses is taken.
    """
    names, shared = engine.labels.tolist(), centers.shared
    weights = sizes.sum(axis=0)
    middle = weights @ shared / weights.sum()
    known = [i for i in new if engine.sizes[i] >= ENOUGH * len(shared)]
    notes = [
        f"{names[i]!r} has too few rows to tell where it lies; they are taken to lie as the tasks of fit do."
        for i in new
        if i not in known
    ]
    if not known:
        return model, notes
    tries = []
    for start in (engine.summary.means - middle, np.zeros_like(engine.summary.means)):
        b = _offsets(model).b.copy()
        b[known] = start[known]
        tries.append(_settled(engine, _moved(model, b), centers, known))
    (first, losses), (second, others) = tries
    b = np.where((losses <= others)[:, None], _offsets(first).b, _offsets(second).b)
    notes += [
        f"Where {names[i]!r} lies was estimated from its own rows, as it was for the tasks of fit." for i in known
    ]
    return _moved(model, b), notes


def _settled(engine: Engine, model: Model, centers: Centers, known: list[int]) -> tuple[Model, Array]:
    """Offsets of some tasks after a few rounds of labels and means, and the losses of each task."""
    shared, c = centers.shared, model.n_clusters
    open_ = replace(centers, log_shares=_open_shares(centers, known))
    with engine:
        for _ in range(ROUNDS):
            Ms = open_.Ms.copy()
            Ms[known] = model.placed_points(shared[None], len(Ms))[0, known]
            job = partial(read_out, model=model, centers=replace(open_, Ms=Ms))
            Ps, Ls, _ = engine.apply(job, outputs=2)
            sizes = engine.apply(partial(cluster_sizes, membership=model.membership, n_clusters=c), Ps)[-1]
            b = _offsets(model).b.copy()
            means = sizes @ shared / np.maximum(sizes.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
            b[known] = engine.summary.means[known] - means[known]
            model = _moved(model, b)
        return model, engine.apply(weighted_sums, Ls)[-1].reshape(len(b), -1)[:, 0]


def _offsets(model: Model) -> Offsets:
    assert model.offsets is not None
    return model.offsets


def _moved(model: Model, b: Array) -> Model:
    return replace(model, offsets=Offsets(b, _offsets(model).s))
