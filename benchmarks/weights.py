"""Weights of rows against copies of rows: `python -m benchmarks.weights`.

Rows get random whole weights from 0 to 4. One fit has the weights, another as many copies of each row. Printed is the
share of rows that have the same cluster in both, over 20 seeds. What random numbers alone change is told by two more
fits to the copies: in another order, and with another seed. k-means of scikit-learn, pooled and with ten starts, is
compared in the same way. `--quick` takes two seeds.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from mtcluster import SPMTC, MultiTaskGaussianMixture, Pooled
from mtcluster._utils.tables import Table
from mtcluster.datasets import load_digits_tasks, make_multitask_blobs
from mtcluster.metrics import clustering_accuracy

SEEDS = 20
LARGEST = 4  # weight
COLUMNS = ("weights", "another order", "another seed")
METHODS: dict[str, Callable[[int, int], Any]] = {
    "SPMTC": lambda c, seed: SPMTC(c, random_state=seed),
    "MultiTaskGaussianMixture": lambda c, seed: MultiTaskGaussianMixture(c, random_state=seed),
    "k-means pooled": lambda c, seed: Pooled(KMeans(c, n_init=10, random_state=seed)),
}


def data_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray, int]]:
    """Name, rows, tasks and number of clusters."""
    for name, separation in (("blobs, clear", 6), ("blobs, overlapping", 3)):
        X, _, tasks = make_multitask_blobs(100, n_tasks=3, n_clusters=4, separation=separation, random_state=0)
        yield name, X, tasks, 4
    iris = load_iris()
    yield "iris, one task", iris.data, np.zeros(len(iris.data), dtype=int), 3
    digits = load_digits_tasks()
    yield "digits, three tasks", digits.X, digits.tasks, digits.n_classes


def agreements(make: Callable[[int, int], Any], X: np.ndarray, tasks: np.ndarray, c: int, seed: int) -> list[float]:
    """Shares of equal labels: weights and copies, copies in another order, copies with another seed."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, LARGEST + 1, size=len(X))
    copies = np.repeat(np.arange(len(X)), weights)
    shuffled = rng.permutation(copies)
    model = make(c, seed).fit(X, tasks=tasks, sample_weight=weights.astype(float))
    found = [model.labels_[copies]]
    for rows, own in ((copies, seed), (shuffled, seed), (copies, seed + 1000)):
        labels = np.empty(len(X), dtype=int)
        labels[rows] = make(c, own).fit(X[rows], tasks=tasks[rows]).labels_
        found.append(labels[copies])
    weighted, repeated, reordered, reseeded = found
    return [clustering_accuracy(repeated, other) for other in (weighted, reordered, reseeded)]


def measure(seeds: int) -> Table:
    """One row for each set and method."""
    rows = []
    for name, X, tasks, c in data_sets():
        for method, make in METHODS.items():
            shares = 100 * np.array([agreements(make, X, tasks, c, seed) for seed in range(seeds)])
            mean, low = shares.mean(axis=0), shares.min(axis=0)
            cells = [f"{a:.1f} ({b:.1f})" for a, b in zip(mean, low, strict=True)]
            rows.append({"data": name, "method": method} | dict(zip(COLUMNS, cells, strict=True)))
    return Table.from_rows(rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two seeds")
    seeds = 2 if parser.parse_args().quick else SEEDS
    warnings.simplefilter("ignore")
    print(f"Rows with the same cluster as in a fit to copies, in per cent: mean (lowest) of {seeds} seeds.\n")
    print(measure(seeds))


if __name__ == "__main__":
    main()
