"""A batch of a stream: its rows are labelled, new clusters are opened, and centres follow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._utils.tasks import positions
from ..consensus import Consensus
from ..core import jobs
from ..core.arrays import Array, host, is_sparse
from ..core.births import RATES, find_birth
from ..core.blocks import Blocks, PerRow, Place
from ..core.centers import Centers
from ..core.joining import ENOUGH, whole_sums
from ..core.metric import Metric
from ..core.model import Model
from ..core.offsets import Offsets
from ..core.readout import read_out
from ..core.sampling import Sampling, take_whole
from ..core.solver import totals_of
from ..core.streaming import Statistics, begin, effective, n_cells, shares_of
from ..engines import Engine
from ._drift import Drift, comings_and_goings, movements
from ._flow import Flow

ROUNDS = 3  # of labels and centres in a batch
MOST_BORN = 5  # clusters that one batch may open
VANISHED = 1.0  # rows below which a cluster is forgotten
SAMPLE = Sampling(sample=3000, task_sample=100)  # rows in which new clusters are looked for


@dataclass(frozen=True)
class Learned:
    """What a batch led to."""

    flow: Flow
    labels: PerRow
    losses: PerRow
    weights: PerRow
    values: list[float]  # Σ u L at the centres of each round
    drift: Drift


class Batch:
    """The steps of one batch."""

    def __init__(self, estimator: Any, engine: Engine) -> None:
        self.estimator, self.engine = estimator, engine
        self.known = host(estimator.tasks_).tolist()
        names = engine.labels.tolist()
        at = positions(names, self.known) if engine.named else [0]
        self.new = [i for i, k in enumerate(at) if k is None]
        fresh = iter(range(len(self.known), len(self.known) + len(self.new)))
        self.ks = [next(fresh) if k is None else k for k in at]
        self.names = [*self.known, *(names[i] for i in self.new)]
        lead = replace(Consensus(), full_weight_share=estimator.decisions_.full_weight_share)
        self.pace = estimator._schedule(lead)

    def learn(self) -> Learned:
        """Label the rows, and let centres follow."""
        joined = self._joined()
        flow = self._with_births(joined)
        kept, values = flow.kept.forgotten(float(self.estimator.forgetting)), []
        for _ in range(ROUNDS):
            flow, losses, totals, vs = self._round(flow, kept)
            values.append(float(self.engine.apply(jobs.weighted_sums, losses)[-1].sum()))
        flow = self._settled(flow, totals.S[0])
        labels, losses = self._read(flow)
        sizes = flow.model.sizes(self.engine, labels)
        flow = self._judged(flow, losses)
        drift: Drift = getattr(self.estimator, "drift_", Drift())
        events = self._events(joined, flow, sizes.sum(axis=0), drift)
        moved = self._moved(joined, flow, totals, sizes)
        return Learned(flow, labels, losses, vs, values, drift.after(moved, events))

    def _events(self, joined: Flow, flow: Flow, sizes: Array, drift: Drift) -> list[dict[str, Any]]:
        """Which clusters came and went."""
        before, now = joined.model.n_clusters, flow.model.n_clusters
        expected = np.pad(self._expected(joined), (0, now - before))
        died = np.flatnonzero(np.pad(joined.living, (0, now - before)) & ~flow.living).tolist()
        return comings_and_goings(sizes, expected, flow.living, list(range(before, now)), died, drift.missing)

    def _joined(self) -> Flow:
        """The model with the new tasks, placed as `predict` places them; those of the batch may hold any cluster."""
        estimator, new = self.estimator, self.new
        model, centers = estimator._fitted()
        kept = getattr(estimator, "statistics_", None) or self._first(model, centers)
        found = estimator._placement(self.engine)
        placed, there = found.model, found.centers
        held = host(estimator.cluster_presence_)
        held = np.concatenate([held, np.zeros((len(new), held.shape[1]), dtype=bool)])
        held[self.ks] = held.any(axis=0)
        shares = host(estimator.within_weight_).astype(np.float64)
        usual = float(np.median(shares[shares < 1])) if np.any(shares < 1) else 0.0
        model = replace(model, within_weight=np.concatenate([shares, np.full(len(new), usual)]), present=held[None])
        if model.offsets is not None and placed.offsets is not None:
            b, s = (np.concatenate([a, c[new]]) for a, c in (
                (model.offsets.b, placed.offsets.b), (model.offsets.s, placed.offsets.s)
            ))  # fmt: skip
            model = replace(model, offsets=Offsets(b, s))
        logs = centers.log_shares
        if logs is not None and there.log_shares is not None:
            logs = np.concatenate([logs, there.log_shares[new]])
        Ms = np.concatenate([centers.Ms, there.Ms[new]])
        centers = replace(centers, Ms=Ms, seen=np.ones(Ms.shape[:2], dtype=bool), log_shares=logs)
        wide = estimator.n_components or min(model.n_clusters, self.engine.n_features)
        kept = kept.with_tasks(self.engine.summary.means[new])
        return Flow(replace(model, n_components=wide), centers, kept, estimator.decisions_.task_offset)

    def _first(self, model: Model, centers: Centers) -> Statistics:
        """The sums that the fit stands for."""
        losses = host(self.estimator.losses_).astype(np.float64)
        n, fitted = len(losses), n_cells(model, centers) + (self.engine.n_features if model.metric is not None else 0)
        new = (n + fitted) / max(n - fitted, 1)  # rows that centres and metric were not fitted to lie farther away
        told = float(n), float(losses.mean()), new * _limits(losses)
        return begin(model, centers, host(self.estimator.cluster_sizes_), told)

    def _expected(self, flow: Flow) -> Array:
        """(c,) rows of each cluster in the batch, if tasks hold what they held; new ones hold what all do."""
        S = flow.kept.S * flow.living
        rows = self.engine.summary.sizes
        own = S[self.ks]
        own = np.where(own.sum(axis=1, keepdims=True) > 0, own, S.sum(axis=0))
        return np.asarray(rows @ (own / np.maximum(own.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)))

    def _measure(self, flow: Flow) -> tuple[Any, float]:
        """What turns vectors (n, d) into such whose length is in units of the spread, and that of a loss."""
        shape = flow.model.shape(flow.centers.runs(None))
        if shape is not None:
            return (lambda x: shape.power(x[None], 0.5)[0]), 1.0
        unit = max(flow.kept.loss / self.engine.n_features, np.finfo(np.float64).tiny)
        return (lambda x: x / np.sqrt(unit)), unit

    def _with_births(self, flow: Flow) -> Flow:
        """The model with the clusters that the batch opens, found on a sample of its rows."""
        sample, _ = take_whole(self.engine, SAMPLE, np.random.default_rng(0), *flow.of_tasks(self.ks))
        rows = [np.asarray(b.X.toarray() if is_sparse(b.X) else b.X[:], dtype=np.float64) for b in sample]
        u, tasks = np.concatenate([b.u for b in sample]), np.repeat(np.arange(len(rows)), [len(x) for x in rows])
        for _ in range(MOST_BORN):
            model, centers = flow.of_tasks(self.ks)
            measure, unit = self._measure(flow)
            labels, losses, _ = Blocks(sample).apply(partial(read_out, model=model, centers=centers), outputs=2)
            offsets = model.offsets or Offsets(np.zeros((len(rows), self.engine.n_features)), np.ones(len(rows)))
            points = np.concatenate([offsets.from_task(x, k) for k, x in enumerate(rows)])
            Z = np.where(flow.living[:, None], measure(flow.centers.shared), np.inf)
            group = find_birth(
                measure(points), u, tasks, np.concatenate(losses) / unit, np.concatenate(labels), Z,
                flow.kept.limits / unit,
            )  # fmt: skip
            if group is None:
                break
            flow = flow.with_cluster(np.average(points[group], axis=0, weights=u[group]), self.ks)
            kept = flow.kept  # where the batch lies may be seen better now, but it does not count yet
            flow = replace(self._round(flow, kept.forgotten(self.estimator.forgetting))[0], kept=kept)
        return flow

    def _read(self, flow: Flow) -> tuple[PerRow, PerRow]:
        model, centers = flow.of_tasks(self.ks)
        centers = centers.astype(self.engine.dtype)
        labels, losses, _ = self.engine.apply(partial(read_out, model=model, centers=centers), outputs=2)
        return labels, losses

    def _round(self, flow: Flow, kept: Statistics) -> tuple[Flow, PerRow, Any, PerRow]:
        """Labels, weights and sums of the batch, and the centres that follow."""
        engine, (model, centers) = self.engine, flow.of_tasks(self.ks)
        labels, losses = self._read(flow)
        (lifted,) = engine.apply(_lifted, losses, outputs=1)[:1]
        vs = self.pace.weights(engine, lifted, 1.0)
        weights = engine.apply(jobs.stage_weights, vs, outputs=1)[0]
        begun = partial(jobs.begin, membership=model.membership, n_clusters=model.n_clusters)
        totals = totals_of(engine, model, engine.apply(begun, labels, outputs=1)[0], weights, centers.runs(None))
        totals, spread, V = replace(totals, T=whole_sums(model, totals)), None, None
        if flow.model.metric is not None:
            V = flow.model.metric.V
            spread = Metric(V).spread(engine, weights, shares_of(flow.model, len(self.names))[self.ks])
            if totals.gaps is not None and totals.gaps.XX is not None:
                spread = replace(spread, XX=spread.XX + totals.gaps.XX)
        kept = kept.with_clusters(model.n_clusters).added(self.ks, totals, spread, V, engine.origins)
        return flow.follow(kept), losses, totals, engine.apply(partial(jobs.pick_runs, at=0), vs, outputs=1)[0]

    def _settled(self, flow: Flow, found: Array) -> Flow:
        """The model with what tasks hold: what they held, and clusters with enough rows in the batch that live on."""
        before = host(self.estimator.cluster_presence_)
        held = np.zeros(flow.kept.S.shape, dtype=bool)
        held[: len(before), : before.shape[1]] = before
        held[self.ks] |= found >= ENOUGH
        for i in self.new:
            held[self.ks[i]] |= found[i] > 0
        living = held.any(axis=0) & (flow.kept.S.sum(axis=0) >= VANISHED)
        if not living.any():
            living = held.any(axis=0)
        held &= living
        held[~held.any(axis=1)] = living
        return replace(flow, model=replace(flow.model, present=held[None]))

    def _judged(self, flow: Flow, losses: PerRow) -> Flow:
        """The model with how well the batch is explained."""
        rows = float(self.engine.summary.sizes.sum())
        found = np.asarray(host(self.engine.gather(losses)), dtype=np.float64)
        kept = flow.kept.judged(rows, float(found.mean()), _limits(found))
        return replace(flow, kept=kept)

    def _moved(self, joined: Flow, flow: Flow, totals: Any, sizes: Array) -> list[dict[str, Any]]:
        """How far rows lie from where those of the same task and cluster lay before, and how far their mean moved."""
        measure, _ = self._measure(flow)
        S, T = totals.S[0], totals.T[0]
        room = ((0, 0), (0, S.shape[1] - joined.model.n_clusters))
        known = np.pad(joined.kept.S[self.ks], room)
        before = flow.centers.Ms[self.ks].astype(np.float64)
        before[:, : joined.model.n_clusters] = effective(*joined.of_tasks(self.ks))
        own = np.pad(joined.centers.Ms[self.ks], (*room, (0, 0)))
        before = np.where((known >= 1)[..., None], own, before)
        means = np.where((S > 0)[..., None], T / np.where(S > 0, S, 1)[..., None], before)
        names, sizes = [self.names[k] for k in self.ks], np.where(S > 0, sizes, 0)
        return movements(names, before, means, flow.centers.Ms[self.ks], sizes, known, measure, self.engine.n_features)


def _limits(losses: Array) -> Array:
    """Losses that all but some shares of the rows have."""
    return np.quantile(losses, 1 - np.array(RATES))


def _lifted(place: Place, Ls: list[Array]) -> tuple[Any, ...]:
    """Losses with the axis of the runs."""
    return [L[None, ...] for L in Ls], None
