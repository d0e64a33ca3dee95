"""Two labellings: which cluster of one is which of the other, and how well they agree."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from .arrays import Array


def match(gain: Array) -> Array:
    """For each row of a table of gains the column it is matched with, by the Hungarian method."""
    return linear_sum_assignment(gain, maximize=True)[1]


def renumber(labels: Array, reference: Array) -> Array:
    """Labels under the numbers that agree best with a reference: shares (n, c) of each row in its clusters."""
    overlap = np.zeros((reference.shape[1], reference.shape[1]))
    np.add.at(overlap, labels, reference)
    return match(overlap)[labels]


def adjusted_rand(a: Array, b: Array) -> float:
    """The adjusted Rand index of two labellings, whole numbers from 0 (Hubert and Arabie), as scikit-learn has it.

    Without a look at what the labels are, which takes scikit-learn longer than the index.
    """
    size = int(b.max(initial=0)) + 1
    table = np.bincount(a.astype(np.intp) * size + b).astype(np.float64)
    both, n = float(table @ table), len(a)
    firsts, seconds = (float(np.sum(np.bincount(labels).astype(np.float64) ** 2)) for labels in (a, b))
    together, apart = both - n, n * n - firsts - seconds + both  # ordered pairs that are so in both labellings
    only_first, only_second = firsts - both, seconds - both
    if only_first == only_second == 0:
        return 1.0
    below = (together + only_first) * (only_first + apart) + (together + only_second) * (only_second + apart)
    return 2 * (together * apart - only_first * only_second) / below
