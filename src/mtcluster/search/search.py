"""The search: what default fits start from, and what it says about the tasks.

Labels are found on a sample of the rows in few dimensions; of all labels those are taken that make the rows most
probable, whatever centres, offsets and covariances are (`core.evidence`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import ClassVar

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Block, Blocks, PerRow, RowSource
from ..core.centers import Centers
from ..core.geometry import Tied
from ..core.model import Model
from ..core.readout import read_out
from ..core.relations import adjusted_rand, relatedness
from ..core.renumbering import resized
from ..core.sampling import Sampling, centers_at, label_all, take_sample
from ..core.sharing import Offsets, Share, Shrink
from .completion import by_clusters
from .decisions import SearchEvidence
from .finding import Candidate, Finder
from .mixtures import FRAMES
from .rows import Rows
from .threads import libraries
from .view import View, view_of

Voice = Callable[[list[Block]], list[Array]]  # labels of the rows of a sample, by an earlier fit

MOST_OWN = 0.99  # λ1 of a task that shares
DRAWN = 100.0  # rows by which centres of tasks are drawn to the shared ones, of rows of one length
LEAST_ROWS = 5  # rows per cluster that a task needs before it can be left alone
SCREENED = 10  # rows that are looked through for badly fitting ones, in shares of the sample
MOST_SCREENED = 2**21  # numbers that are looked through at most
BADLY = 0.99  # quantile of their losses from which on rows fit badly
LOOKED_AGAIN = 1000  # of these rows at most


@dataclass(frozen=True)
class SearchResult:
    """What a search found."""

    labels: PerRow  # of all rows
    model: Model  # with what was decided: λ1 of each task (1: left alone), metric, offsets, what tasks hold
    evidence: SearchEvidence
    support: Array  # (m, c) how sure it is that a task holds a cluster


@dataclass(frozen=True)
class Search:
    """The search that default fits start from: for the parameter `init` of `SPMTC`, `LSSMTC` and the mixture.

    k-means of each task, of all rows, around the means of the tasks and with tasks scaled to one spread are starts of
    Gaussian mixtures with one covariance, with offsets of tasks and without. Moves cut one cluster in two and make one
    of two others. Of all labels those with the highest evidence are taken. Rows without near neighbours do not take
    part.

    Parameters
    ----------
    sample : int, default=3000
        Rows that are searched, from all tasks together. After that, rows of the whole data that fit badly are added and
        looked at again.
    task_sample : int, default=100
        Least number of these rows per task, if it has as many.
    n_seedings : int, default=5
        Runs of each k-means.
    n_moved : int, default=3
        Labels that moves go on from: those of the highest evidence.
    n_init : int, default=1
        How often the search is done, each time on another sample, where `n_init="auto"`. The highest evidence counts.
    full_weight_share : float, default=0.95
        Share of the selected rows with full weight in the fit that follows, where `full_weight_share="auto"`.

    Examples
    --------
    >>> from mtcluster import SPMTC, Search
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    >>> model = SPMTC(4, init=Search(n_moved=1), random_state=0).fit(X, tasks=tasks)
    >>> model.decisions_.search.n_rows
    300
    """

    name: ClassVar[str] = "search"
    within_weight: ClassVar[float] = 0.5  # of the fit that follows, and so on, where these are left open
    max_iter: ClassVar[int] = 1
    warmup_iter: ClassVar[int] = 0

    sample: int = 3000
    task_sample: int = 100
    n_seedings: int = 5
    n_moved: int = 3
    n_init: int = 1
    full_weight_share: float = 0.95

    def __post_init__(self) -> None:
        for name in ("sample", "task_sample", "n_seedings", "n_moved", "n_init"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name}={value!r} of Search should be a whole number of at least 1.")

    def find(
        self, rows: RowSource, model: Model, *, offset: str, metric: str, per_task: Array | None,
        random_state: np.random.RandomState, voice: Voice | None = None,
    ) -> SearchResult:  # fmt: skip
        """Find labels, and tell where tasks lie, what they hold, and how much they share.

        `offset`: "auto", or what is known about the location of tasks; `metric`: "euclidean", "shared", or "auto",
        shared unless rows follow their neighbours beyond what clusters tell; `per_task` (m,): the number of clusters of
        each task, where it is known; `voice`: one more start.
        """
        with libraries().limit(limits=1):
            return self._find(rows, model, offset, metric, per_task, random_state, voice)

    def _find(
        self, rows: RowSource, model: Model, offset: str, metric: str, per_task: Array | None,
        random_state: np.random.RandomState, voice: Voice | None,
    ) -> SearchResult:  # fmt: skip
        seeds = random_state.randint(np.iinfo(np.int32).max, size=3).tolist()
        given, positions = take_sample(rows, Sampling(self.sample, self.task_sample), np.random.default_rng(seeds[0]))
        round = metric == "euclidean"
        view = view_of(rows, given, positions, model.n_clusters, offset, round, seeds[1])
        rng = np.random.default_rng(seeds[2])
        known = None if voice is None else _resized(view, voice(view.sample), model.n_clusters)
        hunt = Hunt(self, view, model, offset, metric, per_task, rng)
        found = hunt.find(known)
        if (
            view.gaps and view.V is None and not view.round
        ):  # once more, with what these clusters expect in place of missing values
            whole = by_clusters(given, found.plain, found.labels)
            view = view_of(rows, given, positions, model.n_clusters, offset, round, seeds[1], whole)
            hunt = replace(hunt, view=view)
            found = hunt.find(np.concatenate(found.labels))
        screened = min(SCREENED, MOST_SCREENED // (self.sample * rows.n_features))
        if screened > 1 and len(view.looks) == 1 and sum(map(len, positions)) < rows.summary.counting.sum():
            found, view = self._looked_again(rows, hunt, found, screened)
        labels = label_all(rows, view.sample, view.positions, found.labels, found.model)
        return SearchResult(labels, found.model, found.evidence, found.support)

    def _looked_again(self, rows: RowSource, hunt: Hunt, found: Catch, screened: int) -> tuple[Catch, View]:
        """Add rows that fit badly to the sample, and let moves go on from the labels.

        A cluster that is too small for the sample shows in these rows. They come from more rows than were searched, and
        count less, so that all rows are represented.
        """
        view, wide = hunt.view, Sampling(screened * self.sample, screened * self.task_sample)
        model, centers = centers_at(view.sample, found.labels, found.model)
        places, losses = _losses_of_more(take_sample(rows, wide, hunt.rng), model, centers)
        limit = np.quantile(np.concatenate(losses), BADLY)
        bad = [own > limit for own in losses]
        share = min(LOOKED_AGAIN / max(sum(map(np.sum, bad)), 1), 1.0)
        bad = [own & (hunt.rng.random(len(own)) < share) for own in bad]
        positions = [np.union1d(old, at[own]) for old, at, own in zip(view.positions, places, bad, strict=True)]
        given = rows.take(positions)
        labels, losses, _ = Blocks(given).apply(partial(read_out, model=model, centers=centers), outputs=2)
        n_bad, n = sum(int(np.sum(own > limit)) for own in losses), sum(map(len, given))
        weights = [np.where(own > limit, (1 - BADLY) / max(n_bad, 1), BADLY / (n - n_bad)) for own in losses]
        given = [replace(b, u=b.u * (n * w).astype(b.u.dtype)) for b, w in zip(given, weights, strict=True)]
        whole = by_clusters(given, found.plain, labels) if view.gaps and not view.round else None
        view = view_of(rows, given, positions, hunt.model.n_clusters, hunt.offset, view.round, 0, whole)
        return replace(hunt, view=view).improve(np.concatenate(labels), found), view

    def metric(self, rows: RowSource, model: Model, random_state: np.random.RandomState) -> Model:
        """Return the model with a shared metric, where nothing else is left open."""
        seeds = random_state.randint(np.iinfo(np.int32).max, size=3).tolist()
        sample = take_sample(rows, Sampling(self.sample, self.task_sample), np.random.default_rng(seeds[0]))
        view = view_of(rows, *sample, model.n_clusters, "none", False, seeds[1])
        return replace(model, geometry=geometry_of(view))


def _losses_of_more(
    taken: tuple[list[Block], list[Array]], model: Model, centers: Centers
) -> tuple[list[Array], list[Array]]:
    """Return where rows were taken, and their losses; the rows themselves are not kept."""
    others, places = taken
    return places, Blocks(others).apply(partial(read_out, model=model, centers=centers), outputs=2)[1]


def _resized(view: View, known: list[Array], n_clusters: int) -> Array:
    """Return the labels of an earlier fit as so many clusters."""
    seen = view.seen
    Ys, us = [seen.Y[part] for part in seen.parts], [seen.u[part] for part in seen.parts]
    return np.concatenate(resized(Ys, us, known, n_clusters))


def geometry_of(view: View) -> Tied:
    """Return the metric that a fit begins with: the covariance within tasks."""
    prior, rest = view.prior
    return Tied.of(prior, view.V, rest)


@dataclass(frozen=True)
class Catch:
    """What was found on a sample."""

    labels: list[Array]  # (n_k,) of each task
    model: Model
    evidence: SearchEvidence
    support: Array  # (m, c)
    frame: str  # of the mixture that found them
    alone: Array  # (m,) tasks that share nothing

    @property
    def plain(self) -> Model:
        """The model with shared centres alone, where these expect what is missing."""
        model = self.model
        offsets = Offsets.none(bool(model.offsets.free.any()))
        c = model.n_clusters
        return Model(c, Shrink.of(np.inf), c, geometry=model.geometry, offsets=offsets, holds=model.holds)


@dataclass(frozen=True)
class Hunt:
    """A search on one view."""

    how: Search
    view: View
    model: Model
    offset: str
    metric: str
    per_task: Array | None
    rng: np.random.Generator

    @cached_property
    def frames(self) -> tuple[str, ...]:
        """What tasks may differ in."""
        if self.view.directional:
            return ("none", "own")
        named = {"auto": ("none", "offsets", "scales", "own"), "matched": ("offsets", "scales", "own")}
        return tuple(
            name for name in named.get(self.offset, ("none",)) if not (self.view.round and FRAMES[name].scales)
        )

    def find(self, known: Array | None = None) -> Catch:
        """Search each look, and take the labels most like those of the others; tasks may be left alone."""
        best, finder, n = self._best(self.view.looks, known)
        alone = self._alone(finder, best)
        if alone.any():
            best, finder = self._apart(finder, best, alone)
        if self.per_task is not None:
            best = finder.limited(best, self.per_task)
        return self._caught(best, finder, alone, n)

    def improve(self, labels: Array, found: Catch) -> Catch:
        """Let moves go on from labels; of tasks that were left alone before, they change nothing."""
        finder = self._finder(self.view.looks[0])
        best = finder.moved(finder.judge(labels, found.frame))
        if self.per_task is not None:
            best = finder.limited(best, self.per_task)
        return self._caught(best, finder, found.alone, found.evidence.n_candidates)

    def _finder(self, rows: Rows) -> Finder:
        return Finder(rows, self.model.n_clusters, self.frames, self.rng, self.how.n_seedings, self.how.n_moved)

    def _best(self, looks: list[Rows], known: Array | None) -> tuple[Candidate, Finder, int]:
        """Return the labels of the highest evidence; of looks, which it cannot compare, those most like the others."""
        finders = [self._finder(look) for look in looks]
        made = [finder.find(known) for finder in finders]
        alike = [sum(adjusted_rand(one[0].labels, other[0].labels) for other in made) for one in made]
        at = int(np.argmax(np.round(alike, 6)))
        return made[at][0], finders[at], sum(map(len, made))

    def _alone(self, finder: Finder, best: Candidate) -> Array:
        """Find tasks (m,) whose rows are more probable with clusters of their own than with shared ones."""
        rows, c = finder.rows, finder.n_clusters
        alone = np.zeros(len(rows.sizes), dtype=bool)
        if len(alone) == 1 or c == 1 or best.judged.effects.own == 0:
            return alone
        large = rows.sizes >= LEAST_ROWS * c
        while (~alone).sum() > 1:  # one after the other: what a strange task adds to the variances hides others
            left = np.flatnonzero(~alone)
            gain = np.where(large[left], finder.apart(best.labels, left.tolist()), -np.inf)
            if gain.max() <= 0:
                return alone
            alone[left[gain.argmax()]] = True
        return np.ones_like(alone)  # of the last two, neither shares

    def _apart(self, finder: Finder, best: Candidate, alone: Array) -> tuple[Candidate, Finder]:
        """Search the other tasks once more, and each of these on its own; their clusters are matched by position."""
        labels, rows = best.labels.copy(), finder.rows
        groups = [np.flatnonzero(~alone).tolist(), *([k] for k in np.flatnonzero(alone).tolist())]
        for ks in groups:
            if ks:
                found = self._finder(rows.of_tasks(ks)).find()[0].labels
                labels[np.isin(rows.ids, ks)] = found
        return finder.judge(finder.matched(labels, alone), best.frame), finder

    def _caught(self, best: Candidate, finder: Finder, alone: Array, n_candidates: int) -> Catch:
        rows, c, model = finder.rows, self.model.n_clusters, self.model
        N, T = rows.sums(best.labels, c)
        margin, held = finder.support(best)
        holds, support = self._holds(held, margin, alone)
        sharing = np.flatnonzero(~alone).tolist()
        own = 1 / DRAWN if self.view.directional else finder.own(best.labels, sharing)
        share = self._within(own, N)
        log_shares = np.log((N + 1 / c) / (N.sum(axis=1, keepdims=True) + 1))
        log_shares[alone] = 0.0
        effects, m = best.judged.effects, len(N)
        free = self.offset == "matched" or (self.offset == "auto" and effects.offsets > 0 and m > 1)
        model = replace(model, offsets=replace(model.offsets, free=np.array([free])), holds=holds[None])
        model = replace(model, sharing=Share.of(np.where(alone, 1.0, share)))
        if self.metric == "shared" or (self.metric == "auto" and not self.view.smoothing):
            model = replace(model, geometry=geometry_of(self.view), log_shares=log_shares[None])
        alike = relatedness(T / np.maximum(N, 1e-9)[..., None] @ rows.whitener, N, held) - np.eye(m)
        evidence = SearchEvidence(
            n_candidates=n_candidates,
            n_rows=len(rows.Y),
            n_dimensions=rows.Y.shape[1],
            n_distant_rows=self.view.n_distant,
            smoothing=self.view.smoothing,
            gain=(best.value - rows.one_cluster) / float(rows.u.sum()),
            centers=effects.centers,
            offsets=effects.offsets,
            own=own,
            scaled=best.scaled,
            relatedness=alike.max(axis=1) if m > 1 else np.ones(1),
            margins=np.where(held, margin, -margin),
        )
        return Catch(np.split(best.labels, np.cumsum(rows.sizes)[:-1]), model, evidence, support, best.frame, alone)

    def _holds(self, held: Array, margin: Array, alone: Array) -> tuple[Array, Array]:
        """Tell which clusters a task holds (m, c), and how sure that is, from 0 to 1."""
        odds = np.where(held, margin, -margin)
        support = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
        holds = held | alone[:, None]
        if self.per_task is not None:  # as many as are known to be there
            order = np.argsort(-odds - 1e9 * held, axis=1, kind="stable")
            rank = np.argsort(order, axis=1)
            holds = rank < self.per_task[:, None]
        return holds, np.where(alone[:, None], 1.0, support)

    def _within(self, own: float, N: Array) -> Array:
        """Compute (m,) the usual share of a task's own centres, λ1, from how far these lie from the shared ones."""
        if own == 0:
            return np.zeros(len(N))
        kappa = 1 / own
        total = np.maximum(N.sum(axis=1), np.finfo(np.float64).tiny)
        return np.minimum(np.sum(N**2 / (N + kappa), axis=1) / total, MOST_OWN)
