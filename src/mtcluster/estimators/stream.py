"""A batch of a stream: its rows are labelled, new clusters are opened, and centres follow sums over all rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .._utils.tables import Row
from .._utils.tasks import label_array
from ..core import jobs
from ..core.arrays import Array, host, is_sparse
from ..core.births import RATES, find_birth
from ..core.blocks import Blocks, PerRow, Totals
from ..core.centers import Centers
from ..core.fitted import Fitted
from ..core.geometry import Geometry
from ..core.joining import ENOUGH
from ..core.model import Model
from ..core.pacing import Stages
from ..core.readout import read_out
from ..core.relations import support
from ..core.sampling import Sampling, take_whole
from ..core.sharing import Share
from ..core.solver import Result, nearest_at, silent, stages
from ..core.streaming import Stream, StreamSums, begin, effective, n_cells
from ..engines import Engine
from .changes import Drift, comings_and_goings, movements
from .living import numbered, place_tasks, rate_of
from .publish import row_results, settled, with_map

BATCH_ROUNDS = 3  # of labels and centres in a batch
MOST_BORN = 5  # clusters that one batch may open
VANISHED = 1.0  # rows below which a cluster is forgotten
BATCH = Sampling(sample=3000, task_sample=100)  # rows in which new clusters are looked for


@dataclass(frozen=True)
class Batch:
    """The rows of a batch, and how the model follows them."""

    engine: Engine
    ks: list[int]  # which of all tasks those of the batch are
    new: list[int]  # the tasks of the batch that are new
    pace: Stages
    forgetting: float


@dataclass(frozen=True)
class Whole:
    """A model on its way: all tasks and clusters so far."""

    model: Model
    centers: Centers
    kept: StreamSums
    kind: str  # what is done about the location of tasks

    @property
    def holds(self) -> Array:
        """(m, c) which clusters tasks may hold."""
        found: Array = self.model.held((1, *self.centers.Ms.shape[:2]))[0]
        return found

    @property
    def exists(self) -> Array:
        """(c,) which clusters some task may hold."""
        return np.asarray(self.holds.any(axis=0))

    def of_tasks(self, ks: list[int]) -> tuple[Model, Centers]:
        """Return the model of the tasks of a batch."""
        return self.model.take("m", ks), self.centers.take("m", ks)


def followed_stream(
    fitted: Fitted, engine: Engine, pace: Stages, forgetting: float, n_components: int | None, drift: Drift
) -> tuple[Fitted, Drift]:
    """Label the rows of a batch, and let centres follow."""
    joined, batch, names = _joined(fitted, engine, pace, forgetting, n_components)
    whole = _with_births(batch, joined)
    whole, results, weights, totals = _rounds(batch, whole, BATCH_ROUNDS)
    whole = _settled(batch, whole, fitted, totals.S[0])
    model, centers = whole.of_tasks(batch.ks)
    centers = centers.astype(engine.dtype)
    labels, losses, _ = engine.apply(partial(read_out, model=model, centers=centers), outputs=2)
    sizes = model.sizes(engine, labels)
    found = np.asarray(host(engine.gather(losses)), dtype=np.float64)
    kept = whole.kept.judged(float(engine.summary.sizes.sum()), float(found.mean()), _limits(found))
    whole = replace(whole, kept=kept)
    events = _events(batch, joined, whole, sizes.sum(axis=0), drift.missing)
    moved = _moved(batch, joined, whole, totals, sizes, names)
    v = engine.xp.stack([engine.gather(engine.apply(partial(jobs.pick_runs, at=0), weights, outputs=1)[0])])
    indices = engine.apply(partial(numbered, numbers=batch.ks), outputs=1)[0]
    rows = row_results(engine, model, labels, losses, v, np.ones(1), None, indices)
    values = np.array([result.traces[0][-1] for result in results])
    told = _stored(fitted, whole, engine, batch, names, values)
    return with_map(
        engine, replace(told, rows=rows), centers, told.sizes.sum(axis=0), np.random.default_rng(0)
    ), drift.after(moved, events)


def _stored(fitted: Fitted, whole: Whole, engine: Engine, batch: Batch, names: list[Hashable], values: Array) -> Fitted:
    """Return the fitted model with what the stream has led to, but for the rows of the batch."""
    kept, holds, n = whole.kept, np.array(whole.holds), len(batch.new)
    m, d = kept.origins.shape
    centers = settled(whole.centers.astype(engine.dtype), m, d)
    sizes, born = np.where(holds, kept.S, 0.0), holds.shape[1] - fitted.model.n_clusters
    grown = fitted.grow("m", n).grow("c", born)
    has, missing = grown.has.copy(), grown.missing.copy()
    has[batch.ks] |= np.broadcast_to(engine.summary.observed > 0, (len(batch.ks), d))
    missing[batch.ks] = engine.summary.missing
    temperatures = grown.temperatures.copy()
    temperatures[m - n :] = fitted.temperature
    model = replace(
        whole.model, offsets=centers.offsets.take("R", None), geometry=centers.geometry.take("R", None),
        n_components=centers.basis.shape[1], log_shares=None,
    )  # fmt: skip
    found = replace(
        grown, tasks=label_array(names), model=model, centers=centers, sizes=sizes, has=has, missing=missing,
        temperatures=temperatures, groups=None, sums=kept, traces=(values,), converged=True,
        n_iter=fitted.n_iter + len(values), n_asked=None,
    )  # fmt: skip
    sharing = found.within_weight < 1
    known = support(centers.Ms.astype(np.float64), sizes, sharing)
    return replace(found, support=known, relatedness=found.related())


def _joined(
    fitted: Fitted, engine: Engine, pace: Stages, forgetting: float, n_components: int | None
) -> tuple[Whole, Batch, list[Hashable]]:
    """Return the model with the new tasks, placed as `predict` places them; those of the batch may hold any cluster."""
    placed = place_tasks(engine, fitted, rate_of(fitted))
    m, new = len(fitted.tasks), placed.new
    fresh = iter(range(m, m + len(new)))
    ks = [next(fresh) if k is None else k for k in placed.at]
    names = [*fitted.tasks.tolist(), *(engine.labels.tolist()[i] for i in new)]
    holds = np.concatenate([fitted.holds, np.zeros((len(new), fitted.model.n_clusters), dtype=bool)])
    holds[ks] = holds.any(axis=0)
    within = fitted.within_weight.astype(np.float64)
    usual = float(np.median(within[within < 1])) if np.any(within < 1) else 0.0
    model = replace(
        fitted.model.concat("m", placed.model.whole(m=len(ks)).take("m", new)), holds=holds[None],
        sharing=Share.of(np.concatenate([within, np.full(len(new), usual)])),
        n_components=n_components or min(fitted.model.n_clusters, engine.n_features),
    )  # fmt: skip
    centers = fitted.centers.concat("m", placed.centers.take("m", new))
    centers = replace(centers, seen=np.ones(centers.Ms.shape[:2], dtype=bool))
    kept = fitted.sums or _first(fitted, engine)
    grown = kept.grow("m", len(new))
    kept = replace(grown, origins=np.concatenate([kept.origins, engine.summary.means[new]]))
    return Whole(model, centers, kept, fitted.task_offset), Batch(engine, ks, new, pace, forgetting), names


def _first(fitted: Fitted, engine: Engine) -> StreamSums:
    """Return the sums that the fit stands for."""
    losses = host(fitted.rows.losses).astype(np.float64)
    cells = n_cells(fitted.model, fitted.centers) + engine.n_features * fitted.model.geometry.estimated
    n = len(losses)
    further = (n + cells) / max(n - cells, 1)  # rows that centres and metric were not fitted to lie farther away
    return begin(
        fitted.model, fitted.centers, fitted.sizes, (float(n), float(losses.mean()), further * _limits(losses))
    )


def _rounds(batch: Batch, whole: Whole, rounds: int) -> tuple[Whole, list[Result], PerRow, Totals]:
    """Return labels, weights and sums of the batch, and the centres that follow, a few times: a stage each."""
    engine, (model, centers) = batch.engine, whole.of_tasks(batch.ks)
    kept = whole.kept.forgotten(batch.forgetting)
    stream = Stream(kept, batch.ks, whole.model, kept, whole.centers, whole.kind)
    pace = replace(batch.pace, fractions=(1.0,) * rounds, warmup_iter=0, max_iter=1)
    state = nearest_at(engine, model, centers.take("R", None))
    state, results, weights = stages(engine, model, pace, state, [silent], known=stream)
    assert stream.totals is not None
    return replace(whole, centers=stream.centers, kept=stream.kept), results, weights[-1], stream.totals


def _events(batch: Batch, joined: Whole, whole: Whole, sizes: Array, missing: list[int]) -> list[Row]:
    """Tell which clusters came and went."""
    before, now = joined.model.n_clusters, whole.model.n_clusters
    existed, exists = joined.exists, whole.exists
    S = joined.kept.S * existed
    own = S[batch.ks]
    own = np.where(own.sum(axis=1, keepdims=True) > 0, own, S.sum(axis=0))  # new tasks hold what all do
    expected = batch.engine.summary.sizes @ (own / np.maximum(own.sum(axis=1, keepdims=True), np.finfo(float).tiny))
    expected = np.pad(expected, (0, now - before))
    died = np.flatnonzero(np.pad(existed, (0, now - before)) & ~exists).tolist()
    return comings_and_goings(sizes, expected, exists, list(range(before, now)), died, missing)


def _measure(geometry: Geometry, kept: StreamSums) -> tuple[Callable[[Array], Array], float]:
    """Scale vectors (n, d) to units of the spread within clusters; and the unit of a loss."""
    if geometry.estimated:
        return geometry.whiten, 1.0
    unit = max(kept.loss / kept.T.shape[2], np.finfo(np.float64).tiny)
    return (lambda x: x / np.sqrt(unit)), unit


def _with_births(batch: Batch, whole: Whole) -> Whole:
    """Return the model with the clusters that the batch opens, found on a sample of its rows."""
    sample, _ = take_whole(batch.engine, BATCH, np.random.default_rng(0), *whole.of_tasks(batch.ks))
    rows = [np.asarray(b.X.toarray() if is_sparse(b.X) else b.X[:], dtype=np.float64) for b in sample]
    u, tasks = np.concatenate([b.u for b in sample]), np.repeat(np.arange(len(rows)), [len(x) for x in rows])
    for _ in range(MOST_BORN):
        model, centers = whole.of_tasks(batch.ks)
        measure, unit = _measure(whole.centers.geometry, whole.kept)
        labels, losses, _ = Blocks(sample).apply(partial(read_out, model=model, centers=centers), outputs=2)
        offsets = centers.offsets.take("R", None)
        points = np.concatenate([offsets.from_task(x, k) for k, x in enumerate(rows)])
        Z = np.where(whole.exists[:, None], measure(whole.centers.shared), np.inf)
        group = find_birth(
            measure(points), u, tasks, np.concatenate(losses) / unit, np.concatenate(labels), Z,
            whole.kept.limits / unit,
        )  # fmt: skip
        if group is None:
            break
        whole = _with_cluster(whole, np.average(points[group], axis=0, weights=u[group]), batch.ks)
        kept = whole.kept  # where the batch lies may be seen better now, but it does not count yet
        whole = replace(_rounds(batch, whole, 1)[0], kept=kept)
    return whole


def _with_cluster(whole: Whole, center: Array, ks: list[int]) -> Whole:
    """Return one more cluster, at a point of the common frame, which the tasks of the batch may hold."""
    centers = replace(whole.centers, W=None, M=None, Z=whole.centers.shared)
    grown, model, c = centers.grow("c", 1), whole.model.grow("c", 1), whole.model.n_clusters
    holds = np.array(model.holds)
    holds[:, ks, c] = True
    grown.Z[c] = center
    grown.Ms[:, c] = replace(centers, Z=center[None]).placed[:, 0]
    if grown.log_shares is not None:  # it never counts
        grown.log_shares[:, c] = float(np.min(grown.log_shares[:, :c]))
    model = replace(model, n_clusters=c + 1, n_components=min(c + 1, len(center)), holds=holds)
    return replace(whole, model=model, centers=grown, kept=whole.kept.grow("c", 1))


def _settled(batch: Batch, whole: Whole, fitted: Fitted, found: Array) -> Whole:
    """Get the model with what tasks hold: what they held, and clusters with enough rows in the batch that live on."""
    before, holds = fitted.holds, np.zeros(whole.kept.S.shape, dtype=bool)
    holds[: len(before), : before.shape[1]] = before
    holds[batch.ks] |= found >= ENOUGH
    for i in batch.new:
        holds[batch.ks[i]] |= found[i] > 0
    exists = holds.any(axis=0) & (whole.kept.S.sum(axis=0) >= VANISHED)
    if not exists.any():
        exists = holds.any(axis=0)
    holds &= exists
    holds[~holds.any(axis=1)] = exists
    return replace(whole, model=replace(whole.model, holds=holds[None]))


def _moved(batch: Batch, joined: Whole, whole: Whole, totals: Totals, sizes: Array, names: list[Hashable]) -> list[Row]:
    """Tell how far rows lie from where those of the same task and cluster lay before, and how far their mean moved."""
    measure, _ = _measure(whole.centers.geometry, whole.kept)
    S, T, ks, c = totals.S[0], totals.T[0], batch.ks, joined.model.n_clusters
    room = ((0, 0), (0, S.shape[1] - c))
    known = np.pad(joined.kept.S[ks], room)
    after = whole.centers.Ms[ks]
    before = after.astype(np.float64)
    before[:, :c] = effective(*joined.of_tasks(ks))
    own = np.pad(joined.centers.Ms[ks], (*room, (0, 0)))
    before = np.where((known >= 1)[..., None], own, before)
    means = np.where((S > 0)[..., None], T / np.where(S > 0, S, 1)[..., None], before)
    sizes = np.where(S > 0, sizes, 0)
    return movements([names[k] for k in ks], before, means, after, sizes, known, measure, T.shape[2])


def _limits(losses: Array) -> Array:
    """Return losses that all but some shares of the rows have."""
    return np.quantile(losses, 1 - np.array(RATES))
