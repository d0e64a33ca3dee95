"""Samples of the rows of each task, and labels of all rows from those of a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .arrays import Array, Picked
from .blocks import Block, Blocks, PerRow, RowSource, make_block
from .centers import Centers
from .couplings import Reconstruction
from .gaps import completed
from .memberships import Binary
from .model import Model
from .readout import read_out
from .solver import first_state

FEW_NUMBERS, FEWEST_SAMPLED = 2**17, 300  # numbers of a sample of which copies are made, and rows that it has at least


@dataclass(frozen=True)
class Sampling:
    """How many rows are sampled."""

    sample: int  # rows of all tasks together
    task_sample: int  # rows of each task, where it has as many


def draw_by_task(counts: list[int], how: Sampling, rng: np.random.Generator) -> list[Array]:
    """Return positions of sampled rows of each task, in order, by its share of all rows; all rows, if they are few."""
    total = max(sum(counts), 1)
    positions = []
    for count in counts:
        size = max(min(count, how.task_sample), round(how.sample * count / max(total, 1)))
        some = total > how.sample and size < count
        positions.append(np.sort(rng.choice(count, size=size, replace=False)) if some else np.arange(count))
    return positions


def take_sample(rows: RowSource, how: Sampling, rng: np.random.Generator) -> tuple[list[Block], list[Array]]:
    """Make a sample of the rows with u > 0 of each task, and which of these they are."""
    positions = draw_by_task(rows.summary.counting.tolist(), how, rng)
    return rows.take(positions), positions


def take_few(rows: RowSource, how: Sampling, rng: np.random.Generator) -> list[Block]:
    """Make a sample as matrices in memory, of fewer rows where these are dense and wide."""
    if rows.summary.entries.shape[1] == 1:  # entries are counted of sparse rows alone
        few = max(FEW_NUMBERS // rows.n_features, FEWEST_SAMPLED)
        how = Sampling(min(how.sample, few), min(how.task_sample, few))
    return [
        replace(block, X=block.X[:]) if isinstance(block.X, Picked) else block
        for block in take_sample(rows, how, rng)[0]
    ]


def take_whole(
    rows: RowSource, how: Sampling, rng: np.random.Generator, model: Model, centers: Centers
) -> tuple[list[Block], list[Array]]:
    """Make a sample of the rows, with what the clusters at the centres of one run expect in place of missing values."""
    sample, positions = take_sample(rows, how, rng)
    if not rows.gaps:
        return sample, positions
    labels = read_out(Blocks(sample).place, model=model, centers=centers)[0]
    terms = model.terms(centers.take("R", None), rows.origins, gaps=True).gaps
    assert terms is not None
    found = []
    for k, (block, P) in enumerate(zip(sample, labels, strict=True)):
        own = P if P.ndim == 1 else P.argmax(axis=1)
        found.append(make_block(completed(block, terms.of_task(k, block.sq, np), own), block.u, block.origin))
    return found, positions


def centers_at(sample: list[Block], labels: list[Array], model: Model) -> tuple[Model, Centers]:
    """Return the model with labels, and its centres of one run, that labels of a sample lead to."""
    binary = replace(model, coupling=Reconstruction(), membership=Binary())
    return binary, first_state(Blocks(sample), binary, [labels]).centers.take("R", 0)


def label_all(
    rows: RowSource, sample: list[Block], positions: list[Array], labels: list[Array], model: Model
) -> PerRow:
    """Return labels of all rows from those of a sample; a row that is not in it goes to the nearest centre."""
    if [len(at) for at in positions] == rows.summary.rows.tolist():
        return rows.scatter(labels)
    binary, centers = centers_at(sample, labels, model)
    nearest = rows.apply(partial(read_out, model=binary, centers=centers), outputs=2)[0]
    return rows.scatter(labels, positions, nearest)
