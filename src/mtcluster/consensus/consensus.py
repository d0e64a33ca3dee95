"""The consensus: a start for the fit, and evidence for what it decides.

No single fit without labels is good everywhere, so none is chosen. Many cheap fits that differ in what cannot be known
vote on every row, on a sample of the rows in few dimensions: Gaussian mixtures with a shared metric, the best of which
one criterion finds (`frame`), or, for directions, counts and rows without elliptical clusters, fits with the Euclidean
metric (`ballot`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import ClassVar

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Block, PerRow, RowSource
from ..core.model import Model
from ..core.sampling import Sampling, label_all
from ..core.sharing import Share
from .ballot import Ballot
from .candidates import Candidates
from .decisions import ConsensusEvidence
from .embedding import Embedder, Embedding, directional, open_embedder
from .frame import Framing
from .members import blocks_of, tightest

Voice = Callable[[list[Block]], list[Array]]  # labels of the rows of a sample, by an earlier fit

DISTANT_POWER = 8  # a mixture would give outliers a cluster of their own even if they counted little
LEAST_RELATED = 0.2  # relatedness to the most similar task below which a task is left alone, with a shared metric


@dataclass(frozen=True)
class ConsensusResult:
    """What a consensus found."""

    labels: PerRow | None  # of all rows; None: there are no elliptical clusters, and a vote should decide
    model: Model  # with what was decided: λ1 of each task (1: left alone), metric, offsets, what tasks hold
    evidence: ConsensusEvidence
    support: Array | None = None  # (m, c) evidence that a task holds a cluster; None: it was not asked
    value: float = 0.0  # of the criterion of candidates


@dataclass(frozen=True)
class Consensus:
    """A consensus of many quick fits, as the start of a fit: for the parameter `init` of `SPMTC` and `LSSMTC`.

    Its members are fitted on a sample of the rows in few dimensions, their clusters are matched, and the majority
    labels each row; rows outside the sample go to the nearest centre. With a shared metric they are the best of many
    Gaussian mixtures that differ in the start, in offsets and in whether tasks have centres of their own. With the
    Euclidean metric they are LSSMTC fits with binary memberships that differ in how much rows are moved towards their
    neighbours, in λ1 and in the kind of start.

    Parameters
    ----------
    sample : int, default=3000
        Rows that the members see, from all tasks together.
    task_sample : int, default=100
        Least number of these rows per task, if it has as many.
    dimensions : int, default=50
        Number of leading singular vectors that rows are embedded in, where there are more features and rows.
    smoothings : tuple of (int, int), default=((5, 2), (5, 4), (10, 2), (10, 4), (15, 4))
        Neighbours and steps of the smoothing Y ← ½ Y + ½ D⁻¹ G Y; one group of members for each.
    within_weights : tuple of float, default=(0.3, 0.5)
        λ1 of the members.
    n_seedings : int, default=12
        k-means++ seedings of each kind, of all rows together and of each task on its own, for every smoothing.
    n_init_member : int, default=4
        Starts of each kind per member: the best seedings after a few iterations of k-means. The start with the lowest
        sum of losses after a few more becomes the member.
    n_starts : int, default=2
        With a shared metric, the seedings of each kind that become starts, after a few iterations of k-means: of the
        rows, of smoothed rows, and one each in coordinates in which tasks are round, and of each task on its own.
    n_kept : int, default=16
        With a shared metric, the candidates that are fitted to the end.
    n_voters : int, default=8
        With a shared metric, the candidates that vote: the best by the criterion.
    n_init_own : int, default=5
        Runs of the k-means of each task on its own, from the best of all seedings, with which the consensus is
        compared.
    n_init_offset : int, default=4
        Runs of pooled k-means with and without offsets, which decide about `task_offset="auto"`.
    min_offset_gain : float, default=0.01
        Share by which removing the means of tasks must tighten pooled k-means before they are removed.
    min_agreement : float, default=0.2
        Adjusted Rand index between a task's own clusters and the consensus below which the task is left alone.
    min_relatedness : float, default=0.4
        Relatedness to the most similar task below which a task is left alone.
    usual_relatedness : float, default=0.6
        With a shared metric a task is left alone if its relatedness to the most similar task is below this share of the
        median of the tasks, or below 0.2; `min_agreement` and `min_relatedness` are for the Euclidean metric.
    min_rows : int, default=5
        Rows per cluster that a task needs before it can be left alone.
    downweight : bool, default=True
        Whether rows far from all others count less, in a vote for `SPMTC` alone.
    distant : float, default=4.0
        Multiple of the usual distance to the neighbour from which on a row counts less.
    distant_neighbor : int, default=5
        The neighbour whose distance is compared.
    match_tasks : bool, default=True
        Whether clusters are matched across tasks once more after the vote.
    min_gain : float, default=0.3
        With a shared metric, by how much the criterion must be lower than that of one cluster for all rows: else there
        are no elliptical clusters to speak of, and a vote with the Euclidean metric decides.
    within_weight : float, default=0.5
        λ1 of the fit that follows, in tasks that share, where `within_weight="auto"`.
    max_iter : int, default=1
        Iterations per stage of the fit that follows, where `max_iter="auto"`: longer loops drift from the consensus.
    warmup_iter : int, default=0
        Warm-up iterations of the fit that follows, where `warmup_iter="auto"`.
    full_weight_share : float, default=0.95
        Share of the selected rows with full weight in the fit that follows, where `full_weight_share="auto"`.
    n_init : int, default=1
        How often the consensus is formed, where `n_init="auto"`.

    Examples
    --------
    >>> from mtcluster import SPMTC, Consensus
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> X, y, tasks = make_multitask_blobs(n_tasks=3, n_clusters=4, random_state=0)
    >>> model = SPMTC(4, init=Consensus(smoothings=((5, 1), (5, 2))), random_state=0).fit(X, tasks=tasks)
    >>> model.decisions_.consensus.n_members
    8
    """

    name: ClassVar[str] = "consensus"

    sample: int = 3000
    task_sample: int = 100
    dimensions: int = 50
    smoothings: tuple[tuple[int, int], ...] = ((5, 2), (5, 4), (10, 2), (10, 4), (15, 4))
    within_weights: tuple[float, ...] = (0.3, 0.5)
    n_seedings: int = 12
    n_init_member: int = 4
    n_starts: int = 2
    n_kept: int = 16
    n_voters: int = 8
    n_init_own: int = 5
    n_init_offset: int = 4
    min_offset_gain: float = 0.01
    min_agreement: float = 0.2
    min_relatedness: float = 0.4
    usual_relatedness: float = 0.6
    min_rows: int = 5
    downweight: bool = True
    distant: float = 4.0
    distant_neighbor: int = 5
    match_tasks: bool = True
    min_gain: float = 0.3
    within_weight: float = 0.5
    max_iter: int = 1
    warmup_iter: int = 0
    full_weight_share: float = 0.95
    n_init: int = 1

    def __post_init__(self) -> None:
        whole = ("sample", "task_sample", "dimensions", "n_seedings", "n_init_member", "n_starts", "n_kept", "n_voters",
                 "n_init_own", "n_init_offset",
                 "min_rows", "distant_neighbor", "max_iter", "n_init")  # fmt: skip
        for name in whole:
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name}={value!r} of Consensus should be a whole number of at least 1.")
        pairs = all(len(pair) == 2 and pair[0] >= 1 and pair[1] >= 0 for pair in self.smoothings)
        if not self.smoothings or not pairs:
            raise ValueError(
                f"smoothings={self.smoothings!r} of Consensus should be pairs of a number of neighbours, at least 1, "
                "and a number of steps, at least 0."
            )
        for name, values in (("within_weights", self.within_weights), ("within_weight", (self.within_weight,))):
            if not values or not all(0 <= value <= 1 for value in values):
                raise ValueError(f"{name}={getattr(self, name)!r} of Consensus should lie between 0 and 1.")

    def embedder(self, rows: RowSource, seeds: tuple[int, int], scaled: bool = False) -> Embedder:
        """Return the sample and its embeddings; `scaled`: the units of columns do not matter."""
        n_neighbors = max([self.distant_neighbor, *(k for k, _ in self.smoothings)])
        return open_embedder(rows, Sampling(self.sample, self.task_sample), self.dimensions, n_neighbors, seeds, scaled)

    def locate(
        self, rows: RowSource, n_clusters: int, random_state: np.random.RandomState
    ) -> tuple[str, float | None, Embedder | None]:
        """Tell whether the means of tasks are removed, by what share that tightens clusters, and the embeddings used.

        It is not asked of one task, nor of directions: they have no location.
        """
        if len(rows.origins) == 1 or directional(rows.summary):
            return "none", None, None
        seed = random_state.randint(np.iinfo(np.int32).max)
        embedder = self.embedder(rows, (seed, seed))
        gain = self.offset_gain(embedder, n_clusters, seed)
        return ("mean" if gain >= self.min_offset_gain else "none"), gain, embedder

    def offset_gain(self, embedder: Embedder, n_clusters: int, seed: int) -> float:
        """Tell by what share k-means of all rows gets tighter when the mean of each task is removed.

        Much, where tasks lie apart. Not at all where they lie together and their means differ because they hold
        different shares of the clusters: then removing the means would tear the clusters apart.
        """
        frames = [embedder.embedding(kind) for kind in ("none", "mean")]
        before, after = (
            tightest(
                blocks_of(found.Ys, found.us, found.unit), n_clusters, self.n_init_offset, np.random.default_rng(seed)
            )
            for found in frames
        )
        return 1 - after / before if before > 0 else 0.0

    def form(
        self,
        rows: RowSource,
        model: Model,
        *,
        offset: str,
        embedder: Embedder | None,
        downweight: bool,
        random_state: np.random.RandomState,
        voice: Voice | None = None,
    ) -> ConsensusResult:
        """Let the members vote, and leave alone the tasks that the vote does not concern.

        `model` says where the tasks lie and λ1 of those that share; `voice` is one more member.
        """
        c = model.n_clusters
        seeds = random_state.randint(np.iinfo(np.int32).max, size=3).tolist()
        embedder = embedder or self.embedder(rows, (seeds[0], seeds[1]))
        embedding = embedder.embedding(offset)
        if downweight and self.downweight:
            embedding = embedding.downweighted(self.distant_neighbor, self.distant)
        rng = np.random.default_rng(seeds[2])
        ballot, known = Ballot(self, embedding, c, rng), None if voice is None else voice(embedder.sample)
        shares, owns = ballot.vote(embedding, known)
        labels, agreement, kinship, alone = ballot.compare(shares, owns)
        if alone.any():
            labels = ballot.again(shares, owns, alone, known)
        shared = replace(model, sharing=Share.of(np.where(alone, 1.0, model.sharing.within[0])))
        evidence = ConsensusEvidence(
            agreement=agreement,
            relatedness=kinship,
            unanimity=float(np.concatenate([share.max(axis=1) for share in shares]).mean()),
            n_members=ballot.n_members,
            n_rows=sum(map(len, embedding.Ys)),
            n_dimensions=embedding.Ys[0].shape[1],
            n_distant_rows=_fewer(embedding, embedder.embedding(offset)),
            min_agreement=self.min_agreement,
            min_relatedness=self.min_relatedness,
            min_rows=self.min_rows,
        )
        return ConsensusResult(label_all(rows, embedder.sample, embedder.positions, labels, shared), shared, evidence)

    def frame(
        self,
        rows: RowSource,
        model: Model,
        *,
        offset: str,
        measured: bool,
        per_task: Array | None,
        random_state: np.random.RandomState,
        voice: Voice | None = None,
    ) -> ConsensusResult:
        """Let candidates with a shared metric decide where tasks lie, what they hold, and how much they share.

        `offset`: "auto", or what is known about the location of tasks; `measured`: whether the fit that follows has a
        shared metric too; `per_task` (m,): the number of clusters of each task, where it is known; `voice`: one more
        start of candidates.
        """
        seeds = random_state.randint(np.iinfo(np.int32).max, size=3).tolist()
        framing = self._framing(rows, model, offset, per_task, seeds)
        if voice is not None:
            framing = replace(framing, known=voice(framing.embedder.sample))
        found = framing.find()
        if framing.embedder.gaps:  # once more, with what these clusters expect in place of missing values
            known, framing = (
                framing.known,
                self._framing(rows, model, offset, per_task, seeds, framing.completed(found)),
            )
            framing = replace(framing, known=known)
            found = framing.find()
        embedder, m = framing.embedder, len(rows.origins)
        frame = replace(
            model, offsets=replace(model.offsets, free=np.array([found.chosen.matched])), holds=found.holds[None]
        )
        within = found.within_weight
        if measured:
            frame = replace(frame, geometry=found.geometry, log_shares=found.log_shares[None])
        else:
            within = np.where(within == 1, 1.0, model.sharing.within[0])
        frame = replace(frame, sharing=Share.of(within))
        evidence = ConsensusEvidence(
            agreement=None,
            relatedness=found.kinship,
            unanimity=float(np.concatenate([share.max(axis=1) for share in found.chosen.shares]).mean()),
            n_members=found.chosen.n_members,
            n_candidates=found.chosen.n_candidates,
            criterion=found.chosen.values if m > 1 else None,
            gain=found.chosen.gain,
            shrinkage=found.chosen.shrinkage,
            n_rows=sum(map(len, framing.embedding.Ys)),
            n_dimensions=framing.embedding.Ys[0].shape[1],
            n_distant_rows=_fewer(framing.embedding, framing.plain),
            min_agreement=self.min_agreement,
            min_relatedness=found.least,
            min_rows=self.min_rows,
        )
        value = min(found.chosen.values.values())
        if found.chosen.gain < self.min_gain:
            return ConsensusResult(None, model, evidence, value=value)
        start = label_all(rows, embedder.sample, embedder.positions, found.labels, frame)
        return ConsensusResult(start, frame, evidence, found.support, value)

    def metric(self, rows: RowSource, model: Model, random_state: np.random.RandomState) -> Model:
        """Return the model with a shared metric, where nothing else is left open."""
        seeds = random_state.randint(np.iinfo(np.int32).max, size=3).tolist()
        return replace(model, geometry=self._framing(rows, model, "none", None, seeds).geometry)

    def _framing(
        self, rows: RowSource, model: Model, offset: str, per_task: Array | None, seeds: list[int],
        embedder: Embedder | None = None,
    ) -> Framing:  # fmt: skip
        embedder = embedder or self.embedder(rows, (seeds[0], seeds[1]), scaled=True)
        embedding = plain = embedder.embedding(offset if offset in ("mean", "scale") else "none").counted()
        if self.downweight:
            embedding = embedding.downweighted(self.distant_neighbor, self.distant, DISTANT_POWER)
        tried = {"auto": (False, True), "matched": (True,)}.get(offset, (False,))
        how = Candidates(self.n_seedings, self.n_starts, self.n_kept, self.n_voters)
        return Framing(
            how=how,
            embedder=embedder,
            plain=plain,
            embedding=embedding,
            n_clusters=model.n_clusters,
            frames=tried,
            min_relatedness=LEAST_RELATED,
            usual=self.usual_relatedness,
            min_rows=self.min_rows,
            per_task=per_task,
            rng=np.random.default_rng(seeds[2]),
        )


def _fewer(now: Embedding, before: Embedding) -> int:
    """Return the number of rows that count less because they lie far from all others; of directions none do."""
    if now.kept is not None:
        return 0
    return sum(int(np.sum(u < known)) for u, known in zip(now.us, before.us, strict=True))
