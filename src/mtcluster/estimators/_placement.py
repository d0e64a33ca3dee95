"""Rows of new tasks: where their centres lie, and which of them are new."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .._utils.tasks import positions
from ..core.arrays import Array
from ..core.centers import TINY, Centers
from ..core.jobs import energies
from ..core.joining import Joined, Known, in_the_middle, join
from ..core.model import Model
from ..core.novelty import Usual, Verdict, counted, loss_scales, next_groups, outlying
from ..core.readout import read_out
from ..engines import Engine

MOST = 0.5  # share of outlying rows from which on a task as a whole is odd, and not its rows
NARROW = 1 / 16  # of the usual variance within clusters: a task of less is odd too


@dataclass(frozen=True)
class Fitted:
    """What a fitted model knows about its tasks."""

    model: Model
    centers: Centers
    labels: list[Hashable]
    known: Known
    usual: Usual
    width: float  # usual squared distance of a row from its centre


@dataclass(frozen=True)
class Placement:
    """The model of the tasks of an engine, in its order."""

    model: Model
    centers: Centers
    at: list[int | None]  # which of the tasks of the model each task is; None: it is new
    joined: Joined | None  # None: no task is new
    verdict: Verdict  # on the rows of new tasks
    scales: Array  # (m,) median losses of new tasks; 0: unknown
    named: list[str]  # sentences that name what is new
    notes: list[str]  # and on what is unusual about it

    @property
    def new(self) -> list[int]:
        """The tasks that are new."""
        return [i for i, k in enumerate(self.at) if k is None]


def place_tasks(engine: Engine, fitted: Fitted, rate: float) -> Placement:
    """The model of the tasks of an engine; those that were not in fit join.

    A new task of enough rows has a location, clusters that it holds, and centres of its own. For others, and for rows
    without a task, the shared centres decide, as they lie in the middle of the tasks.
    """
    model, centers, known = fitted.model, fitted.centers, fitted.known
    m = len(fitted.labels)
    at = positions(engine.labels.tolist(), fitted.labels) if engine.named else [0 if m == 1 else None]
    new, here = [i for i, k in enumerate(at) if k is None], [0 if k is None else k for k in at]
    model, centers = model.for_tasks(here), centers.for_tasks(here)
    limits = np.full(len(at), np.inf)
    if not new:
        return Placement(model, centers, at, None, Verdict(limits, {}, known.held), np.zeros(len(at)), [], [])
    if not engine.named:
        model, centers = in_the_middle(model, centers, new, known)
        return Placement(model, centers, at, None, Verdict(limits, {}, known.held), np.zeros(len(at)), [], [])
    with engine:
        found = join(engine, model, centers, new, known)
        limits[new] = fitted.usual.loss(rate)
        share, scales = _outlying(engine, found, limits), loss_scales(engine, found, np.random.default_rng(0))
        limits[new] = [fitted.usual.loss(rate, scales[k]) for k in new]
        narrow = _spread(engine) < NARROW * fitted.width
        odd = [k for k in new if share[k] > MOST or (narrow[k] and found.enough[k])]
        limits[odd] = np.inf
        sound = [k for k in new if k not in odd]
        groups: dict[int, Array] = {}
        verdict = Verdict(limits, groups, known.held)
        while True:
            if groups or (share[sound] > 0).any():
                found = join(engine, model, centers, new, known, counted(engine, found.model, found.centers, verdict))
            more = next_groups(engine, found, groups, sound, known.held, fitted.usual)
            if all(len(own) == len(groups.get(k, ())) for k, own in more.items()):
                break
            groups, verdict = more, replace(verdict, groups=more)
    notes = _notes(engine, fitted, new, found, odd, share)
    return Placement(found.model, found.centers, at, found, verdict, scales, _named(engine, new, found), notes)


def _outlying(engine: Engine, found: Joined, limits: Array) -> Array:
    Ls = engine.apply(partial(read_out, model=found.model, centers=found.centers), outputs=2)[1]
    return outlying(engine, Ls, limits)


def _spread(engine: Engine) -> Array:
    """(m,) the mean squared distance of the rows of a task from their mean."""
    summary = engine.summary
    apart = np.sum((summary.means - engine.origins) ** 2, axis=1)
    return np.maximum(engine.apply(energies)[-1] / np.maximum(summary.sizes, TINY) - apart, 0)


def _named(engine: Engine, new: list[int], found: Joined) -> list[str]:
    """Which tasks are new, and that they were placed."""
    names = engine.labels.tolist()
    notes = [f"tasks holds {_listed([names[i] for i in new])}, not in fit."]
    able = [names[i] for i in new if found.enough[i]]
    return [*notes, f"Where {_listed(able)} lies, and what it holds, was estimated from its rows."] if able else notes


def _notes(engine: Engine, fitted: Fitted, new: list[int], found: Joined, odd: list[int], share: Array) -> list[str]:
    """What is unusual about new tasks."""
    names, notes = engine.labels.tolist(), []
    texts = {str(label): label for label in fitted.labels}
    for label in [names[i] for i in new if str(names[i]) in texts][:1]:
        other = texts[str(label)]
        notes.append(
            f"fit knows {other!r} ({type(other).__name__}), and {label!r} is {_a(type(label).__name__)}: "
            "if they are the same, give both as one type."
        )
    few = [names[i] for i in new if not found.enough[i]]
    if few:
        notes.append(f"{_listed(few)} has too few rows to tell where it lies: the shared centres decide about them.")
    for k in odd:
        what = f"The rows of {names[k]!r} lie much closer together than those of any cluster"
        if share[k] > MOST:
            what = f"{100 * share[k]:.0f} % of the rows of {names[k]!r} lie outside of what the tasks of fit hold"
        notes.append(
            f"{what}: it may be in other units, or have nothing in common with them. None of its rows is labelled -1."
        )
    return notes


def _listed(names: list[Hashable]) -> str:
    return ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
