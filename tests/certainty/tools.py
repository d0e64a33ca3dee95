"""Views of small data sets, and refits that are written down by hand."""

import numpy as np

from mtcluster import SPMTC
from mtcluster.certainty import view_of
from mtcluster.certainty.refits import Part, Refitted, Setting
from mtcluster.consensus import Consensus
from mtcluster.estimators.input import open_rows


def view(X, tasks=None, measured=True, seed=0):
    """The rows as refits see them."""
    with open_rows(SPMTC(), X, tasks, reset=True) as engine:
        return view_of(engine, Consensus(), "none", measured, (seed, seed))


def setting(labels, c, *, share=None, present=None, dimensions=2, **others):
    """Labels of each task, which lie where they are."""
    labels, m = [np.asarray(own) for own in labels], len(labels)
    share = np.zeros(m) if share is None else np.asarray(share, dtype=float)
    present = np.ones((m, c), dtype=bool) if present is None else np.asarray(present, dtype=bool)
    return Setting(labels, c, np.zeros((m, dimensions)), share, present, **others)


def by_task(labels, tasks):
    return [labels[tasks == k] for k in np.unique(tasks)]


def refitted(given, labels, left_out=None):
    """What refits found, as if they had."""
    labels = np.atleast_2d(labels)
    out = left_out or [[] for _ in labels]
    parts = [Part([np.full(len(own), float(k not in one)) for k, own in enumerate(given.labels)], one) for one in out]
    return Refitted(given, parts, labels, model=None, centers=None)


def blobs(centers, size, seed=0, scale=1.0):
    """So many rows around each centre, and their labels."""
    centers = np.asarray(centers, dtype=float)
    y = np.repeat(np.arange(len(centers)), size)
    return centers[y] + scale * np.random.default_rng(seed).normal(size=(len(y), centers.shape[1])), y
