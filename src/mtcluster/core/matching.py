"""Matching clusters: which cluster of one labelling is which of another."""

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
