"""What a fit leaves open is decided from the data: the metric, where tasks lie, how much they share, the start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..consensus import Consensus, ConsensusResult, Decisions, Voice
from ..consensus.embedding import task_offsets
from ..core.arrays import Array, host
from ..core.couplings import COUPLINGS
from ..core.memberships import MEMBERSHIPS
from ..core.model import Model
from ..core.starts import STARTS, Start, tried
from ..engines import Engine, engine_of
from ._metric import candidates_decide, clusters_per_task, metric_of, unused_clusters_per_task
from ._multistart import Maker
from ._previous import Previous
from ._progress import warn_user
from ._validation import check_start


@dataclass(frozen=True)
class Way:
    """How open questions are answered."""

    model: Model  # with what is known
    metric: tuple[str, str]  # of the fit, and why
    offset: tuple[str, str]  # what is done about the location of tasks, and why
    form: Callable[[int, Voice | None], list[ConsensusResult]]  # from so many tries; the first decides
    gain: float | None = None  # by what share removing the means of tasks tightens clusters, where it was measured


@dataclass(frozen=True)
class Settled:
    """Nothing is left open."""

    model: Model
    decisions: Decisions
    makers: list[tuple[str, Maker]]  # names of the starts, and what draws them
    lead: Any  # the kind of start that the fit follows
    support: Array | None  # (m, c) evidence that a task holds a cluster; None: nobody asked


class DecidingMixin:
    """The steps before the solver."""

    n_clusters: Any
    n_clusters_: int
    coupling: str
    membership: str
    init: Any
    n_init: Any
    _paced: ClassVar[bool]

    def _within_weight(self) -> Any:
        """λ1, or "auto"."""
        return 0.0

    def _task_offset(self) -> str:
        return "none"

    def _metric(self) -> str:
        return "euclidean"

    def _n_clusters_per_task(self) -> Any:
        return None

    def _parts(self) -> tuple[Any, Any]:
        """The coupling and the form of memberships."""
        return COUPLINGS[self.coupling], MEMBERSHIPS["binary" if self.membership == "auto" else self.membership]

    def _consensus(self) -> Consensus:
        """How a consensus is formed."""
        return self.init if isinstance(self.init, Consensus) else Consensus()

    @staticmethod
    def _or(value: Any, recommended: Any) -> Any:
        return recommended if isinstance(value, str) else value

    @property
    def _undecided(self) -> bool:
        """Whether it is left open how much tasks share."""
        return isinstance(self._within_weight(), str)

    @property
    def _voted(self) -> bool:
        """Whether the fit starts from a consensus."""
        named = self.init if isinstance(self.init, str) else ""
        return isinstance(self.init, Consensus) or named == "consensus" or (self._undecided and named == "auto")

    def _prepare(
        self, engine: Engine, random_state: np.random.RandomState, previous: Previous | None = None
    ) -> Settled:
        """Settle what is left open, from the data; an earlier fit has a voice."""
        how = self._consensus()
        model = self._plain_model(engine, how)
        way = self._way(engine, model, how, random_state)
        n_tries = self._or(self.n_init, how.n_init) if self._voted else 1
        voice = None if previous is None else previous.labels_of
        results = way.form(n_tries, voice) if self._undecided or self._voted else []
        if results and results[0].labels is None:
            way, results = self._otherwise(engine, model, how, results[0], n_tries, voice, random_state)
        first = results[0] if results else None
        model, (offset, reason) = self._decided(way, first), way.offset
        if reason == "criterion":
            offset = "matched" if model.matched else "none"
        makers, lead = self._starts(engine, model, how, results if self._voted else [], previous)
        decisions = Decisions(
            start=" and ".join(dict.fromkeys(name for name, _ in makers)),
            n_starts=n_tries if self._voted else len(makers),
            coupling=model.coupling.name,
            membership=model.membership.name,
            membership_reason="default" if self.membership == "auto" else "set",
            within_weight_reason=self._reason_of_share(engine, model),
            task_offset=offset,
            task_offset_reason=reason,
            offset_gain=way.gain,
            metric=way.metric[0],
            metric_reason=way.metric[1],
            consensus=None if first is None else first.evidence,
        )
        return Settled(model, decisions, makers, lead, first.support if first is not None and self._voted else None)

    def _plain_model(self, engine: Engine, how: Consensus, n_clusters: int | None = None) -> Model:
        """The model before anything is decided."""
        c = n_clusters or self.n_clusters_
        n_components = getattr(self, "n_components", None) or min(c, engine.n_features)
        share = how.within_weight if self._undecided else self._within_weight()
        return Model(c, share, n_components, *self._parts())

    def _way(self, engine: Engine, model: Model, how: Consensus, random_state: np.random.RandomState) -> Way:
        """Candidates with a shared metric, or a vote."""
        metric = metric_of(self, engine, model, how.dimensions)
        framed = candidates_decide(*metric)
        per_task = clusters_per_task(self._n_clusters_per_task(), self.n_clusters_, engine.labels)
        if per_task is not None and not (framed and self._voted):
            raise ValueError(unused_clusters_per_task(metric[1] if self._voted else "start"))
        if framed:
            return self._by_candidates(engine, model, how, metric, per_task, random_state)
        return self._by_vote(engine, model, how, metric, random_state)

    def _otherwise(
        self,
        engine: Engine,
        model: Model,
        how: Consensus,
        weak: ConsensusResult,
        n_tries: int,
        voice: Voice | None,
        random_state: np.random.RandomState,
    ) -> tuple[Way, list[ConsensusResult]]:
        """A vote, where candidates found no elliptical clusters."""
        reason = "no clear clusters"
        if self._n_clusters_per_task() is not None:
            warn_user(unused_clusters_per_task(reason))
        way = self._by_vote(engine, model, how, ("euclidean", reason), random_state)
        first, *others = way.form(n_tries, voice)
        return way, [replace(first, evidence=replace(first.evidence, gain=weak.evidence.gain)), *others]

    def _decided(self, way: Way, result: ConsensusResult | None) -> Model:
        """The model with what a consensus decided."""
        if result is None or not (self._undecided or candidates_decide(*way.metric)):
            return way.model
        model = result.model
        if not self._voted:  # clusters of other starts have other numbers
            model = replace(model, present=None, log_shares=None)
        if not (self._undecided and model.coupling.supports.task_shares):
            model = replace(model, within_weight=way.model.within_weight)
        return model

    def _reason_of_share(self, engine: Engine, model: Model) -> str:
        """Where λ1 comes from."""
        if not hasattr(self, "within_weight"):
            return "none"
        if not self._undecided:
            return "set"
        if len(engine.labels) == 1:
            return "one task"
        return "consensus" if model.coupling.supports.task_shares else "coupling"

    def _by_vote(
        self,
        engine: Engine,
        model: Model,
        how: Consensus,
        metric: tuple[str, str],
        random_state: np.random.RandomState,
    ) -> Way:
        """With the Euclidean metric, offsets are known before the consensus."""
        offset, gain, embedder = self._offset_asked(engine, model), None, None
        if offset[1] == "":
            kind, gain, embedder = how.locate(engine, model.n_clusters, random_state)
            offset = kind, "gain" if gain is not None else "unit rows"
        matched = offset[0] == "matched"
        model = replace(model, matched=matched, offsets=None if matched else task_offsets(engine, offset[0]))
        form = partial(
            how.form, engine, model, offset=offset[0], downweight=self._paced, random_state=random_state
        )  # fmt: skip

        def several(n: int, voice: Voice | None) -> list[ConsensusResult]:
            others = [None] * (n - 1)  # see other samples
            return [form(embedder=one, voice=voice) for one in (embedder, *others)]

        return Way(model, metric, offset, several, gain)

    def _by_candidates(
        self,
        engine: Engine,
        model: Model,
        how: Consensus,
        metric: tuple[str, str],
        per_task: Array | None,
        random_state: np.random.RandomState,
    ) -> Way:
        """Candidates decide about offsets, unless they are known; of several tries the best by the criterion counts."""
        offset, measured = self._offset_asked(engine, model), metric[0] == "shared"
        if offset[1] == "":
            offset = "auto", "criterion"
        if offset[0] == "mean":
            model = replace(model, offsets=task_offsets(engine, "mean"))
        if not self._undecided and measured:
            model = replace(how.metric(engine, model, random_state), matched=offset[0] == "matched")
        frame = partial(
            how.frame, engine, model, offset=offset[0], measured=measured, per_task=per_task, random_state=random_state
        )

        def best(n: int, voice: Voice | None) -> list[ConsensusResult]:
            return [min((frame(voice=voice) for _ in range(n)), key=lambda one: one.value)]

        return Way(model, metric, offset, best)

    def _offset_asked(self, engine: Engine, model: Model) -> tuple[str, str]:
        """How the location of tasks is treated, and why; no reason: it is left to the data."""
        if self._task_offset() != "auto":
            return self._task_offset(), "set"
        if len(engine.labels) == 1:
            return "none", "one task"
        if not self._undecided:
            return "none", "fixed within_weight"
        able = model.coupling.supports.offsets and model.membership.supports.offsets
        return ("none", "") if able else ("none", "unsupported")

    def _starts(
        self,
        engine: Engine,
        model: Model,
        how: Consensus,
        results: list[ConsensusResult],
        previous: Previous | None = None,
    ) -> tuple[list[tuple[str, Maker]], Any]:
        """Names of the starts and what draws them, and the kind of start that the fit follows where left open."""
        if results:
            seen = results[0].evidence
            how = replace(how, full_weight_share=how.full_weight_share * (1 - seen.n_distant_rows / seen.n_rows))
            return [("consensus", partial(_given, result.labels)) for result in results], how
        if not isinstance(self.init, str):
            given = self._given(engine, model)
            return [("given", partial(_given, given))], Start
        kinds = tried(len(engine.labels)) if self.init == "auto" else [self.init]
        lead = STARTS[kinds[0]]
        n_init = (model.coupling.n_init or lead.n_init) if isinstance(self.n_init, str) else self.n_init
        makers: list[tuple[str, Maker]] = [(kind, partial(STARTS[kind], engine, model)) for kind in kinds * n_init]
        if previous is not None:
            makers.append(("previous", partial(previous.start, engine, model)))
        return makers, lead

    def _given(self, engine: Engine, model: Model) -> Any:
        """The memberships that were passed as `init`."""
        wanted, shape = (sum(engine.sizes), self.n_clusters_), getattr(self.init, "shape", np.shape(self.init))
        if tuple(shape) != wanted:
            raise ValueError(f"init has shape {tuple(shape)}, but memberships of shape {wanted} are needed.")
        check = partial(check_start, dtype=engine.dtype, labels_only=model.membership.labels_only)
        if not model.membership.diagonal and engine_of(self.init) is None and bool(np.any(host(self.init) == 0)):
            warn_user("init holds zeros, which membership='nonnegative' never leaves: add a small number such as 0.2.")
        return engine.split(self.init, check)


def _given(Ps: Any, rng: np.random.Generator) -> Any:
    """A start that is there already."""
    return Ps
