"""An earlier model in a new fit: a start, a voice in the consensus, and the numbers of the clusters."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.arrays import Array, is_sparse
from ..core.blocks import Block, Blocks, PerRow
from ..core.centers import Centers
from ..core.model import Model
from ..core.readout import read_out
from ..core.renumbering import Numbering, contingency, continued, labelled, spacing
from ..core.resizing import resized
from ..core.sampling import Sampling, label_all, take_whole
from ..core.streaming import n_cells
from ..engines import Engine
from ._changes import Changes

if TYPE_CHECKING:
    from ._multistart import Run

SAMPLE = Sampling(sample=3000, task_sample=100)  # rows that a start is made on, where the number of clusters differs
MOST_SHOWN = 80  # letters of what came instead of a model
DIMENSIONS = 50  # in which wide rows are joined and cut


def check_previous(previous: Any) -> Any:
    """A copy of the earlier model, which the fit may overwrite if it is the same object."""
    from ._base import MultiTaskClusterer

    if not isinstance(previous, MultiTaskClusterer):
        hint, shown = "", repr(previous)
        if isinstance(previous, str | PathLike):
            hint = ": mtcluster.interop.load reads a model file"
        elif isinstance(previous, dict) and "model" in previous:
            hint = ': its entry "model" is the model'
        shown = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}…"
        raise TypeError(
            "previous must be a fitted SPMTC, LSSMTC, ASI or MultiTaskGaussianMixture, or None; got "
            f"{shown} of type {type(previous).__name__}{hint}."
        )
    if not hasattr(previous, "task_centers_"):
        raise ValueError(f"previous is a {type(previous).__name__} that is not fitted: call its fit first.")
    return copy(previous)


def check_columns(estimator: Any, previous: Any) -> None:
    """The rows must have the columns of the earlier fit."""
    d, before = estimator.n_features_in_, previous.n_features_in_
    if d != before:
        raise ValueError(f"X has {d} features, but previous was fitted with {before}: the same columns are needed.")
    names, known = (getattr(one, "feature_names_in_", None) for one in (estimator, previous))
    if names is None or known is None or np.array_equal(names, known):
        return
    new, gone = ([repr(str(n)) for n in a if n not in set(b)] for a, b in ((names, known), (known, names)))
    what = f"X has {', '.join(new[:5])} instead of {', '.join(gone[:5])}" if new else "X has them in another order"
    raise ValueError(f"X and previous have other columns: {what}. The same columns in the same order are needed.")


@dataclass(frozen=True)
class Previous:
    """An earlier model, placed in the tasks of a fit."""

    model: Model
    centers: Centers
    living: Array  # (c,) clusters that some task held

    @classmethod
    def of(cls, previous: Any, engine: Engine) -> Previous:
        """Tasks that were not in the earlier fit are placed as `predict` places them."""
        placed = previous._placement(engine)
        return cls(placed.model, placed.centers, previous._living())

    @property
    def n_numbers(self) -> int:
        """Numbers that the earlier model has given, to clusters that are no more too."""
        return len(self.living)

    def read(self, rows: Any) -> tuple[PerRow, PerRow]:
        """Labels and losses of rows."""
        Ps, Ls, _ = rows.apply(partial(read_out, model=self.model, centers=self.centers), outputs=2)
        return rows.apply(labelled, Ps, outputs=1)[0], Ls

    def labels_of(self, sample: list[Block]) -> list[Array]:
        """Labels of a sample."""
        return list(self.read(Blocks(sample))[0])

    def start(self, engine: Engine, model: Model, rng: np.random.Generator) -> PerRow:
        """Labels of all rows as so many clusters as the fit has."""
        sample, positions = take_whole(engine, SAMPLE, rng, self.model, self.centers)
        us = [block.u for block in sample]
        turn = rng.standard_normal((engine.n_features, DIMENSIONS)) if engine.n_features > DIMENSIONS else None
        Ys = [_dense(block.X if turn is None else block.X @ turn) for block in sample]
        labels = resized(Ys, us, self.labels_of(sample), model.n_clusters)
        return label_all(engine, sample, positions, labels, model)

    def numbering(self, engine: Engine, model: Model, run: Run) -> tuple[Numbering, Changes]:
        """The numbers of the clusters of a fit, and what it changed."""
        old, old_losses = self.read(engine)
        new = engine.apply(labelled, run.memberships, outputs=1)[0]
        shape = (self.n_numbers, model.n_clusters)
        job = partial(contingency, shape=shape)
        common, before, after = engine.apply(job, old, old_losses, new, run.losses)[-1]
        room = np.full(self.n_numbers, np.inf)
        if self.model.membership.diagonal and model.membership.diagonal:
            room = spacing(self.model, self.centers, self.living)
        n = np.maximum(common.sum(axis=0), 1)
        # Centres lie nearer to rows that they were fitted to.
        noise = 2 * n_cells(model, run.centers) / (model.n_clusters * n)
        moved = (before - after * (1 + noise)) / np.maximum(common, 1)
        found = Numbering.after(continued(common, moved, room), self.n_numbers)
        counts = found.spread(common, 1, 0).astype(int)
        inside = found.spread(moved <= room[:, None] / 4, 1, False)  # nearer than half of the way to the next cluster
        return found, Changes(counts, self.living, ~found.absent, inside)

    def renumbered(self, engine: Engine, model: Model, run: Run, found: Numbering) -> tuple[Model, Run]:
        """The model and the run in the numbers of the earlier model."""
        centers = found.centers(run.centers, model, self.centers.shared, self.centers.Ms)
        memberships = engine.apply(found.memberships, run.memberships, outputs=1)[0]
        return found.model(model, len(engine.labels)), replace(run, centers=centers, memberships=memberships)


def _dense(Y: Any) -> Array:
    return np.asarray(Y.toarray() if is_sparse(Y) else Y)
