"""Models that live on: new tasks are placed and join, rows of theirs are new, and an earlier model is continued."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real

import numpy as np

from .._utils.tasks import label_array, positions
from ..core.arrays import Array, Matrix, is_sparse
from ..core.blocks import Block, Blocks, PerRow, Place, RowSource
from ..core.centers import TINY, Centers
from ..core.fitted import Fitted, Groups
from ..core.jobs import nearest, unit_weights
from ..core.joining import JOIN_ROWS, Joined, followed, in_the_middle, join, merged_groups, with_clusters
from ..core.model import Model
from ..core.mstep import whole_sums
from ..core.novelty import Flags, counted, label_rows, new_share
from ..core.projecting import task_indices
from ..core.readout import read_out
from ..core.renumbering import Numbering, contingency, continued, labelled, resized, spacing
from ..core.sampling import Sampling, label_all, take_few, take_whole
from ..core.solver import totals_of
from ..core.streaming import n_cells
from ..core.units import Units, guessed_units
from ..engines import Engine
from .changes import Changes
from .publish import row_results, settled, with_map

RATE = 0.01  # of ordinary rows that are flagged
MOST_NEW = 0.5  # share of new rows from which on the user is told
RESIZED = Sampling(sample=3000, task_sample=100)  # rows that a start is made on, where the number of clusters differs
DIMENSIONS = 50  # in which wide rows are joined and cut


# ------------------------------------------------------------------------------------------------ new tasks
@dataclass(frozen=True)
class Placement:
    """The model of the tasks of an engine, in its order."""

    model: Model
    centers: Centers
    at: list[int | None]  # which of the tasks of the model each task is; None: it is new
    verdict: Flags  # on the rows of new tasks
    joined: Joined | None = None  # None: no task is new, or none is named
    named: tuple[str, ...] = ()  # sentences that name what is new
    notes: tuple[str, ...] = ()  # and on what is unusual about it

    @property
    def new(self) -> list[int]:
        """The tasks that are new."""
        return [i for i, k in enumerate(self.at) if k is None]


def place_tasks(engine: Engine, fitted: Fitted, rate: float, names: list[str] | None = None) -> Placement:
    """Make the model of the tasks of an engine; those that were not in fit join.

    A new task of enough rows has a location, clusters that it holds, and centres of its own. For others, and for rows
    without a task, the shared centres decide, as they lie in the middle of the tasks. `names` of the features.
    """
    prior, labels = fitted.prior, fitted.tasks.tolist()
    at = positions(engine.labels.tolist(), labels) if engine.named else [0 if len(labels) == 1 else None]
    new, here = [i for i, k in enumerate(at) if k is None], [0 if k is None else k for k in at]
    model, centers = fitted.model.take("m", here), fitted.centers.take("m", here)
    if not new or not engine.named:
        if new:
            model, centers = in_the_middle(model, centers, new, prior)
        return Placement(model, centers, at, Flags(np.full(len(at), np.inf), {}, prior.exists))
    with engine:
        found = join(engine, model, centers, new, prior, fitted.ordinary)
        verdict = replace(found.flags, limits=fitted.ordinary.limits(rate, found.scales, new))
        notes = tuple(_notes(engine, fitted, new, found, names or list(map(str, range(engine.n_features)))))
    return Placement(found.model, found.centers, at, verdict, found, _named(engine, new, found), notes)


def _named(engine: Engine, new: list[int], found: Joined) -> tuple[str, ...]:
    """Tell which tasks are new, and that they were placed."""
    names = engine.labels.tolist()
    told = f"tasks holds {_listed([names[i] for i in new])}, not in fit."
    able = [names[i] for i in new if found.enough[i]]
    return (told, f"Where {_listed(able)} lies, and what it holds, was estimated from its rows.") if able else (told,)


def _notes(engine: Engine, fitted: Fitted, new: list[int], found: Joined, columns: list[str]) -> list[str]:
    """Tell what is unusual about new tasks."""
    names, notes = engine.labels.tolist(), []
    texts = {str(label): label for label in fitted.tasks.tolist()}
    for label in [names[i] for i in new if str(names[i]) in texts][:1]:
        other = texts[str(label)]
        notes.append(
            f"fit knows {other!r} ({type(other).__name__}), and {label!r} is {_a(type(label).__name__)}: "
            "if they are the same, give both as one type."
        )
    few = [names[i] for i in new if not found.enough[i]]
    if few:
        notes.append(f"{_listed(few)} has too few rows to tell where it lies: the shared centres decide about them.")
    share = new_share(engine, found.model, found.centers, found.flags)
    for k in (k for k in new if found.enough[k]):
        units = _units(engine, fitted, k, found, float(share[k]))
        why = "it may be in other units, or have nothing in common with them" if units is None else units.told(columns)
        if share[k] <= MOST_NEW:
            notes += [] if units is None else [f"{names[k]!r} {why}."]
            continue
        notes.append(
            f"{100 * share[k]:.0f} % of the rows of {names[k]!r} lie outside of what the tasks of fit hold: {why}. "
            "These rows are labelled -1."
        )
    return notes


def _units(engine: Engine, fitted: Fitted, k: int, found: Joined, share: float) -> Units | None:
    """Guess the units of a new task of which a share of the rows is new."""
    if not fitted.model.membership.diagonal:
        return None
    block, prior = take_few(engine, JOIN_ROWS, np.random.default_rng(0))[k], fitted.prior
    model, centers = fitted.model.take("m", [0]), fitted.centers.take("m", [0])
    return guessed_units(block, model, centers, prior, fitted.ordinary, share, MOST_NEW)


def _listed(names: list[Hashable]) -> str:
    return ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def check_novelty(novelty: object, rate: object, choices: tuple[str | None, ...]) -> None:
    """Refuse what is no way to treat new rows."""
    if novelty not in choices:
        shown = ", ".join(repr(choice) for choice in choices if choice is not None)
        raise ValueError(f"novelty={novelty!r} should be one of {shown}.")
    if rate is not None and not (isinstance(rate, Real) and 0 < float(rate) < 1):
        raise ValueError(f"novelty_rate={rate!r} should be a number between 0 and 1.")


def rate_of(fitted: Fitted) -> float:
    """Return the share of ordinary rows of new tasks that get −1, as set when tasks joined."""
    return RATE if fitted.groups is None or fitted.groups.rate is None else fitted.groups.rate


def verdict_of(fitted: Fitted, placed: Placement, novelty: str | None = None, rate: float | None = None) -> Flags:
    """Say what makes rows of new tasks, and of those that joined after the fit, new."""
    known, limits = fitted.groups, placed.verdict.limits.copy()
    flags = known is None or known.flags if novelty is None else novelty != "none"
    if not flags:
        return Flags(np.full_like(limits, np.inf), {}, placed.verdict.held)
    groups = dict(placed.verdict.groups)
    for i, k in enumerate(placed.at if known is not None else ()):
        if known is None or k is None or not known.joined[k]:
            continue
        limits[i] = fitted.ordinary.loss(rate_of(fitted) if rate is None else rate, known.scales[k])
        if (known.tasks == k).any():
            groups[i] = known.centers[known.tasks == k]
    return Flags(limits, groups, placed.verdict.held)


# ------------------------------------------------------------------------------------------------ they join
def adapted(engine: Engine, fitted: Fitted, placed: Placement, novelty: str, rate: float, update: bool) -> Fitted:
    """Make the model of all tasks, those that joined after the others; the old one stays as it is."""
    m, n, new = len(fitted.tasks), len(placed.new), placed.new
    whole, groups, support = _all_tasks(fitted, placed, open_groups=novelty == "new")
    order = {i: m + j for j, i in enumerate(new)}
    where = [order[i] if k is None else k for i, k in enumerate(placed.at)]
    known = fitted.groups or Groups(
        np.zeros(m, dtype=bool), np.zeros(m), np.zeros((0, engine.n_features)), np.zeros(0, dtype=np.intp)
    )
    whole = replace(whole, groups=replace(known.grow("m", n), flags=novelty != "none", rate=float(rate)))
    verdict = verdict_of(whole, placed)
    left = {i: own for i, own in verdict.groups.items() if i in groups or placed.at[i] is not None}
    S, T = _sums(engine, placed, whole, where, replace(verdict, groups=left, held=whole.exists))
    if update:
        whole = replace(whole, centers=_updated(whole, where, m, S, T))
    sizes = whole.sizes.copy()
    np.add.at(sizes, where, S)
    holds = whole.holds.copy()
    if whole.model.membership.labels_only:
        holds[m:] &= sizes[m:] > 0
        holds[np.arange(m, m + n), sizes[m:].argmax(axis=1)] = True
    names = [*fitted.tasks.tolist(), *(engine.labels.tolist()[i] for i in new)]
    total = whole.support.copy()
    total[m:] = support
    temperatures = whole.temperatures.copy()
    temperatures[m:] = fitted.temperature
    model = replace(whole.model, holds=holds[None], sharing=whole.model.sharing.weighed(sizes))
    centers = settled(whole.centers.astype(fitted.centers.Ms.dtype), m + n, engine.n_features)
    whole = replace(
        whole, tasks=label_array(names), model=model, centers=centers, sizes=sizes, support=total, n_asked=None,
        temperatures=temperatures, groups=_with_groups(whole, placed, groups, where), traces=fitted.traces[-1:],
        stage_sizes=fitted.stage_sizes[-1:],
    )  # fmt: skip
    whole = _with_features(replace(whole, relatedness=whole.related()), engine, where, fitted.sizes.sum(axis=1))
    return _with_rows(whole, engine, where)


def _all_tasks(fitted: Fitted, placed: Placement, *, open_groups: bool) -> tuple[Fitted, dict[int, Array], Array]:
    """Return the old tasks as they are, and the new ones as they were placed; groups may become clusters.

    Also the groups of tasks of the engine that are no clusters, and the support (tasks that joined, c) of clusters.
    """
    model, centers, here, there = fitted.model, fitted.centers, placed.model, placed.centers
    m, c, n, new, groups = len(fitted.tasks), fitted.model.n_clusters, len(placed.at), placed.new, placed.verdict.groups
    support, opened = np.ones((n, c)) if placed.joined is None else placed.joined.support, 0
    if open_groups and groups:
        Z, numbers = merged_groups(groups, there)
        opened, held = len(Z), np.zeros((n, len(Z)), dtype=bool)
        for k, own in numbers.items():
            held[k, own] = True
        model, centers = with_clusters(model, centers, Z, np.zeros((m, opened), dtype=bool))
        here, there = with_clusters(here, there, Z, held)
        for k, own in numbers.items():
            there.Ms[k, [c + i for i in own]] = groups[k]
        support, groups = np.c_[support, held], {}
    model = model.whole(m=m).concat("m", here.whole(m=n).take("m", new))
    grown = fitted.grow("m", len(new)).grow("c", opened)
    return replace(grown, model=model, centers=centers.concat("m", there.take("m", new))), groups, support[new]


def _with_features(whole: Fitted, engine: Engine, where: list[int], rows: Array) -> Fitted:
    """Say which task has which features, and how much of them is missing; `rows` (m,) are weights of the old tasks."""
    has, missing, weights = whole.has.copy(), whole.missing.copy(), np.zeros(len(whole.has))
    weights[: len(rows)] = rows
    np.logical_or.at(has, where, np.broadcast_to(engine.summary.observed > 0, (len(where), engine.n_features)))
    for k, n, found in zip(where, engine.summary.sizes, engine.summary.missing, strict=True):
        missing[k] = (weights[k] * missing[k] + n * found) / (weights[k] + n)
    return replace(whole, has=has, missing=missing)


def _sums(engine: Engine, placed: Placement, whole: Fitted, where: list[int], verdict: Flags) -> tuple[Array, Array]:
    """Compute S (m, c) and T (m, c, d) of the rows that are not new."""
    model, centers = whole.model.take("m", where), whole.centers.take("m", where)
    weights = engine.apply(unit_weights, outputs=1)[0]
    if np.isfinite(verdict.limits).any() or verdict.groups:
        weights = counted(engine, model, centers, verdict)
    centers = centers.take("R", None)
    terms = model.terms(centers, engine.origins, gaps=engine.gaps)
    Ps = engine.apply(partial(nearest, terms=terms, membership=model.membership), outputs=2)[0]
    found = totals_of(engine, model, Ps, weights, centers)
    S = found.S[0] if found.S.ndim == 3 else np.einsum("kcc->kc", found.S[0])
    return S, whole_sums(model, found)[0]


def _updated(whole: Fitted, where: list[int], m: int, S: Array, T: Array) -> Centers:
    """Let centres follow the sums of the rows: the shared ones, and those of known tasks that have more rows now."""
    model, centers, sizes = whole.model, whole.centers, whole.sizes
    weights = model.sharing.pull(sizes[None])[0].sum(axis=0)
    Z = followed(model.take("m", where), centers.take("m", where), weights, S, T)
    Ms = np.array(centers.Ms, dtype=np.float64)
    for i, k in enumerate(where):
        if k < m:
            total = sizes[k] + S[i]
            moved = (sizes[k][:, None] * Ms[k] + T[i]) / np.where(total > 0, total, 1)[:, None]
            Ms[k] = np.where((S[i] > 0)[:, None], moved, Ms[k])
    if model.coupling.energy_basis(centers.W) is not None:  # the subspace is made from rows that are gone
        assert centers.W is not None
        return replace(centers, Ms=Ms, M=Z @ centers.W, Z=Z, Q=Z)
    total = np.maximum(weights + S.sum(axis=0), TINY)
    open_ = replace(centers, Ms=Ms, Z=Z, Q=np.sqrt(total)[:, None] * Z, W=None, M=None)
    return model.complete(open_.take("R", None)).take("R", 0)


def _with_groups(whole: Fitted, placed: Placement, groups: dict[int, Array], where: list[int]) -> Groups:
    """Say what decides which rows of the tasks that joined are new."""
    known = whole.groups
    assert known is not None
    joined, scales, centers, owners = known.joined.copy(), known.scales.copy(), known.centers, known.tasks
    for i in placed.new:
        k, own = where[i], groups.get(i, centers[:0])
        joined[k] = True
        assert placed.joined is not None
        scales[k] = placed.joined.scales[i]
        centers, owners = np.concatenate([centers, own]), np.r_[owners, np.full(len(own), k)]
    return replace(known, joined=joined, scales=scales, centers=centers, tasks=owners)


def _with_rows(fitted: Fitted, engine: Engine, where: list[int]) -> Fitted:
    """Add what `predict` says of the rows of an engine; `where`: their tasks among all."""
    placed, xp = place_tasks(engine, fitted, rate_of(fitted)), engine.xp
    model, centers, verdict = placed.model, placed.centers, verdict_of(fitted, placed)
    labels, Ps, Ls, _ = engine.apply(partial(label_rows, model=model, centers=centers, verdict=verdict), outputs=3)
    indices = engine.apply(partial(numbered, numbers=where), outputs=1, lazy=True)[0]
    weights = xp.stack([engine.gather(engine.apply(_ones, outputs=1)[0])])
    rows = row_results(engine, model, Ps, Ls, weights, np.ones(1), labels, indices)
    return with_map(engine, replace(fitted, rows=rows), centers, fitted.sizes.sum(axis=0), np.random.default_rng(0))


def numbered(place: Place, *, numbers: list[int]) -> tuple[list[Array], None]:
    """Return the index of each row's task among all tasks of the model."""
    own, _ = task_indices(place)
    return [values - k + number for k, (values, number) in enumerate(zip(own, numbers, strict=True))], None


def _ones(place: Place) -> tuple[list[Array], None]:
    return [b.xp.ones_like(b.sq) for b in place.blocks], None


# ------------------------------------------------------------------------------------------------ a model continued
@dataclass(frozen=True)
class Continued:
    """An earlier model, placed in the tasks of a fit: a start, a voice, and the numbers of the clusters."""

    model: Model
    centers: Centers
    exists: Array  # (c,) clusters that some task held
    names: tuple[tuple[int, str], ...] = ()  # of clusters
    merged: tuple[tuple[int, int], ...] = ()  # of them, and into which

    @classmethod
    def of(cls, fitted: Fitted, engine: Engine) -> Continued:
        """Place tasks that were not in the earlier fit as `predict` places them."""
        placed = place_tasks(engine, fitted, rate_of(fitted))
        return cls(placed.model, placed.centers, fitted.exists, fitted.names, fitted.merged)

    def read(self, rows: RowSource) -> tuple[PerRow, PerRow]:
        """Return labels and losses of rows."""
        Ps, Ls, _ = rows.apply(partial(read_out, model=self.model, centers=self.centers), outputs=2)
        return rows.apply(labelled, Ps, outputs=1)[0], Ls

    def voice(self, sample: list[Block]) -> list[Array]:
        """Return labels of a sample."""
        return list(self.read(Blocks(sample))[0])

    def start(self, engine: Engine, model: Model, rng: np.random.Generator) -> PerRow:
        """Return labels of all rows as so many clusters as the fit has."""
        sample, where = take_whole(engine, RESIZED, rng, self.model, self.centers)
        us = [block.u for block in sample]
        turn = rng.standard_normal((engine.n_features, DIMENSIONS)) if engine.n_features > DIMENSIONS else None
        Ys = [_dense(block.X if turn is None else block.X @ turn) for block in sample]
        labels = resized(Ys, us, self.voice(sample), model.n_clusters)
        return label_all(engine, sample, where, labels, model)

    def numbering(
        self, engine: Engine, fitted: Fitted, memberships: PerRow, losses: PerRow
    ) -> tuple[Numbering, Changes]:
        """Return the numbers of the clusters of a fit, and what it changed."""
        n_old, model = len(self.exists), fitted.model
        old, old_losses = self.read(engine)
        new = engine.apply(labelled, memberships, outputs=1)[0]
        job = partial(contingency, shape=(n_old, model.n_clusters))
        common, before, after = engine.apply(job, old, old_losses, new, losses)[-1]
        room = np.full(n_old, np.inf)
        if self.model.membership.diagonal and model.membership.diagonal:
            room = spacing(self.centers, self.exists)
        n = np.maximum(common.sum(axis=0), 1)
        # Centres lie nearer to rows that they were fitted to.
        noise = 2 * n_cells(model, fitted.centers) / (model.n_clusters * n)
        moved = (before - after * (1 + noise)) / np.maximum(common, 1)
        found = Numbering.after(continued(common, moved, room), n_old)
        counts = found.spread(common, 1, 0).astype(int)
        inside = found.spread(moved <= room[:, None] / 4, 1, False)  # nearer than half of the way to the next cluster
        return found, Changes(counts, self.exists, ~found.absent, inside)

    def renumbered(self, engine: Engine, fitted: Fitted, found: Numbering, weights: Array) -> Fitted:
        """Return the fitted model in the numbers of the earlier one; rows are read as `predict` reads them."""
        centers = found.centers(fitted.centers, fitted.model, self.centers.shared, self.centers.Ms)
        model = found.model(fitted.model, len(fitted.tasks))
        rows = replace(fitted.rows, memberships=None)
        plain = replace(fitted, rows=rows, names=self.names, merged=self.merged)
        whole = replace(found.placed(plain), model=model)
        whole = replace(whole, centers=settled(centers, len(fitted.tasks), engine.n_features))
        Ps, Ls, _ = engine.apply(partial(read_out, model=whole.model, centers=whole.centers), outputs=2)
        rows = row_results(engine, model, Ps, Ls, weights, fitted.rows.fractions)
        return replace(
            whole, rows=replace(rows, map=fitted.rows.map, map_rows=fitted.rows.map_rows), relatedness=whole.related()
        )


def _dense(Y: Matrix) -> Array:
    return np.asarray(Y.toarray() if is_sparse(Y) else Y)
