"""The evidence about labels at hand: how stable they are, next to data without clusters, and what lies in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array
from ..core.blocks import Blocks
from .agreement import Agreement, agreement
from .refits import Part, Refitted, Setting, centered, folds, halves, refit_all
from .valleys import counts
from .view import View

N_FOLDS = 5  # parts of the tasks, each of which the others predict
REFERENCE_REFITS = 2  # of each data set without clusters
REFERENCE_SEEDINGS = 3  # of its own clusters


@dataclass(frozen=True)
class Evidence:
    """What refits say about the labels of a sample."""

    fits: Refitted  # to halves of the rows, and to all but some tasks
    agreement: Agreement
    counts: Array  # (c, c, 3) rows between clusters, see `valleys.counts`
    weights: Array  # (n,) what each row counts
    reference: Array  # (B,) `overall` of data without clusters
    plain: float  # likewise of the rows, fitted as if nothing were known about them

    @property
    def halves(self) -> Array:
        """(R,) whether a refit saw a half of all tasks."""
        return np.array([not part.left_out for part in self.fits.parts])

    @property
    def overall(self) -> float:
        """Share of the rows that keep their cluster, mean over halves."""
        return float(self.agreement.kept[self.halves].mean(axis=0) @ self.weights / self.weights.sum())

    @property
    def cluster_stability(self) -> Array:
        """(c,) mean Jaccard index over halves; NaN: a cluster without rows."""
        return _mean(self.agreement.clusters[self.halves])

    @property
    def cell_stability(self) -> Array:
        """(m, c) likewise of each cluster in each task."""
        return _mean(self.agreement.cells[self.halves])

    @property
    def across(self) -> float | None:
        """Share of the rows of tasks that get the same cluster when the other tasks predict it; None: no task can.

        It is about tasks that have at least two clusters in common with the others, and about these: a single cluster
        does not tell where a task lies.
        """
        setting = self.fits.setting
        codes = np.repeat(np.arange(len(setting.labels)), [len(own) for own in setting.labels])
        own = np.concatenate(setting.labels)
        same = total = 0.0
        for r, part in enumerate(self.fits.parts):
            if part.left_out:
                common = setting.holds & setting.held_without(part.left_out)
                judged = [k for k in part.left_out if common[k].sum() > 1]
                at = np.isin(codes, judged) & common[codes, own]
                same += float(self.weights[at] @ self.agreement.kept[r, at])
                total += float(self.weights[at].sum())
        return same / total if total > 0 else None


def gather(
    view: View,
    settings: list[Setting],
    n_refits: int,
    n_references: int,
    n_seedings: int,
    seed: int,
    across: bool = True,
    tell: Callable[[], None] = lambda: None,
) -> list[Evidence]:
    """Return the evidence for each of several settings, on the same halves and the same data without clusters.

    Each refit begins with `n_seedings` seedings, and with the labels at hand.

    What is found for a setting does not depend on which others there are.
    """
    sizes, codes, weights = [len(Y) for Y in view.embedding.Ys], view.codes, view.weights
    parts = [_parts(sizes, setting, n_refits, across, seed) for setting in settings]
    rngs = [_generator(seed, 2, setting.n_clusters) for setting in settings]
    fits = refit_all(view.rows, settings, parts, view.measured, n_seedings, rngs)
    tell()
    references = reference_values(view, settings, n_references, n_seedings, seed, tell)
    found = []
    for fit, values in zip(fits, references.T, strict=True):
        own = agreement(fit, codes, weights)
        between = counts(view.rows, fit, own.orders, codes, weights)
        found.append(Evidence(fit, own, between, weights, values[1:], float(values[0])))
    return found


def reference_values(
    view: View, settings: list[Setting], n: int, n_seedings: int, seed: int, tell: Callable[[], None] = lambda: None
) -> Array:
    """Compute (1 + n, settings) `overall` of the rows and of n data sets without clusters, computed in the same way.

    Each is fitted from seeds, as if nothing were known about it, and again to halves.
    """
    found = np.zeros((1 + n, len(settings)))
    for b in range(1 + n):
        rows = view.without_clusters(_generator(seed, 3, b)) if b else view.rows
        rngs = [_generator(seed, 4, b, setting.n_clusters) for setting in settings]
        found[b] = _blind(view, rows, settings, rngs, n_seedings, seed)
        tell()
    return found


def _blind(
    view: View, rows: Blocks, settings: list[Setting], rngs: list[np.random.Generator], n_seedings: int, seed: int
) -> list[float]:
    """`overall` for each setting, of rows about whose clusters nothing is known."""
    blocks, plain = rows.place.blocks, [_plain(setting, rows) for setting in settings]
    weights = np.concatenate([block.u for block in blocks]).astype(np.float64)
    sizes = [len(block) for block in blocks]
    whole, ends = [Part([np.ones(size) for size in sizes])], np.cumsum(sizes)[:-1]
    fits = refit_all(rows, plain, [whole] * len(plain), view.measured, REFERENCE_SEEDINGS, rngs, given=False)
    own = [replace(s, labels=np.split(fit.labels[0], ends), labelled=True) for fit, s in zip(fits, plain, strict=True)]
    parts = halves(sizes, REFERENCE_REFITS, _generator(seed, 5))
    fits = refit_all(rows, own, [parts] * len(own), view.measured, n_seedings, rngs)
    kept = [agreement(fit, view.codes, weights).kept.mean(axis=0) for fit in fits]
    return [float(share @ weights / weights.sum()) for share in kept]


def _plain(setting: Setting, rows: Blocks) -> Setting:
    """The setting where nothing is known about labels: tasks lie where their means are, if they lie apart at all."""
    b = centered(rows) if setting.offsets.any() else setting.offsets
    return replace(setting, offsets=b, holds=setting.anywhere, labelled=False)


def _parts(sizes: list[int], setting: Setting, n: int, across: bool, seed: int) -> list[Part]:
    found = halves(sizes, n, _generator(seed, 0))
    if across and setting.n_clusters > 1:
        found += folds(sizes, ~setting.alone, N_FOLDS, _generator(seed, 1))
    return found


def _generator(seed: int, *numbers: int) -> np.random.Generator:
    return np.random.default_rng([seed, *numbers])


def _mean(values: Array) -> Array:
    """Return mean over runs of what is known."""
    known = np.isfinite(values)
    total = np.where(known, values, 0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)
