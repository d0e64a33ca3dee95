"""A task in other units: which columns, and by which factor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Array, is_sparse
from .blocks import Block, Blocks, make_block
from .centers import TINY, Centers
from .gaps import by_itself
from .geometry import Tied
from .joining import Prior, join
from .model import Model
from .novelty import Ordinary, new_share

FACTORS = {
    25.4: ("millimetres", "inches"), 2.54: ("centimetres", "inches"), 10.0: ("millimetres", "centimetres"),
    100.0: ("centimetres", "metres"), 1000.0: ("thousandths", "wholes"), 12.0: ("inches", "feet"),
    3.2808: ("feet", "metres"), 2.2046: ("pounds", "kilograms"), 1.6093: ("kilometres", "miles"),
    60.0: ("minutes", "hours"), 3600.0: ("seconds", "hours"),
    4.184: ("kilojoules", "kilocalories"),
}  # fmt: skip
# How far the logarithm of a spread may be from that of a factor, where it is no longer usual, and where it is strange.
CLOSE, CLEAR, STRANGE = np.log(2.0), np.log(1.4), np.log(6.0)
TRIED = 6  # guesses
FAR = 0.1  # share of the rows at either end of a column that count as the rows next to them
CHANCE = 0.05  # share of the rows that may be new in other units beside those that are anyway


@dataclass(frozen=True)
class Units:
    """What the rows of a task look like."""

    columns: Array  # of the features
    factor: float

    def told(self, names: list[str]) -> str:
        """Write it down, with the names of all columns."""
        inverse = self.factor < 1
        a, b = FACTORS[min(FACTORS, key=lambda f: abs(np.log(f) - abs(np.log(self.factor))))]
        what, times = (f"{b} for {a}", f"÷{1 / self.factor:g}") if inverse else (f"{a} for {b}", f"×{self.factor:g}")
        if len(self.columns) == len(names):
            return f"looks like {what}: all columns, {times}"
        shown = ", ".join(names[i] for i in self.columns)
        return f"looks like {what}: column{'s' * (len(self.columns) > 1)} {shown}, {times}"


def guessed_units(
    block: Block, model: Model, centers: Centers, prior: Prior, ordinary: Ordinary, before: float, most: float
) -> Units | None:
    """Find the units in which fewer than `most` of the rows of a task would be new, of a share `before`.

    `model` and `centers` have one task. If most are not new anyway, some column must be strange, and no more rows may
    be new in other units.
    """
    if is_sparse(block.X):
        return None
    block = by_itself(block)
    X, u = np.asarray(block.X, dtype=np.float64), np.asarray(block.u, dtype=np.float64)
    ratios = np.log(np.maximum(_spread(X, u), TINY) / np.maximum(_usual(centers, prior, ordinary), TINY))
    strange = np.flatnonzero(np.abs(ratios) > STRANGE)
    if before <= most:
        if not len(strange):
            return None
        most = before + CHANCE
    best, least = None, most
    for units in _guesses(ratios):
        if not np.isin(strange, units.columns).all():
            continue
        Y = X.copy()
        Y[:, units.columns] /= units.factor
        rows = Blocks([make_block(Y, block.u, Y.mean(axis=0))])
        found = join(rows, model, centers, [0], prior, ordinary)
        if found.model.holds[0, 0].sum() < min(2, int(prior.exists.sum())):  # anything fits into one cluster
            continue
        share = float(new_share(rows, found.model, found.centers, found.flags)[0])
        if share < least:
            best, least = units, share
    return best


def _guesses(ratios: Array) -> list[Units]:
    """Return columns whose spread differs by about the same factor of units, the nearest factors first."""
    d = len(ratios)
    logs = np.log(np.array([*FACTORS, *(1 / f for f in FACTORS)]))
    found: dict[tuple[float, tuple[int, ...]], float] = {}
    for log in logs.tolist():
        for columns in (np.flatnonzero((np.abs(ratios - log) < CLOSE) & (np.abs(ratios) > CLEAR)), np.arange(d)):
            apart = float(np.max(np.abs(ratios[columns] - log))) if len(columns) else np.inf
            if apart < CLOSE:
                found[float(np.exp(log)), tuple(columns.tolist())] = apart
    order = sorted(found, key=lambda one: found[one])
    return [Units(np.array(columns), factor) for factor, columns in order[:TRIED]]


def _spread(X: Array, u: Array) -> Array:
    """Compute (d,) the standard deviation of the rows, in which a few that lie far away hardly count."""
    counting = X[u > 0] if (u > 0).any() else X
    X = np.clip(X, *np.quantile(counting, [FAR, 1 - FAR], axis=0))
    mean = u @ X / u.sum()
    return np.asarray(np.sqrt(u @ (X - mean) ** 2 / u.sum()))


def _usual(centers: Centers, prior: Prior, ordinary: Ordinary) -> Array:
    """Compute (d,) the usual standard deviation of the rows of a task."""
    tied, Z, n = centers.geometry.tied, centers.shared, prior.sizes / prior.sizes.sum()
    within = tied.take("R", None).variances()[0] if isinstance(tied, Tied) else ordinary.usual / Z.shape[1]
    return np.asarray(np.sqrt(within + n @ (Z - n @ Z) ** 2))
