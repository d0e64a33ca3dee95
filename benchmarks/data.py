"""The rows that the benchmarks run on, generated from the parameters given here.

`python -m benchmarks.data` prints how many iterations k-means needs per start on each shape.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans

Array = NDArray[Any]


KINDS = {"dense": "dense", "blobs": "dense blobs", "counts": "sparse counts", "tfidf": "sparse TF-IDF"}
LARGE = 40_000  # rows from which fixed costs are negligible


@dataclass(frozen=True)
class Shape:
    """Parameters of a generated data set; tasks are interleaved: the task of each row is drawn at random."""

    kind: str  # of KINDS
    n: int
    d: int
    n_tasks: int = 4
    n_clusters: int = 8
    tokens: int = 0  # text: words per row, some of them equal, so that there are fewer non-zeros
    topic_strength: float = 0.0  # text: standard deviation of the log odds of a word between topics
    # dense: standard deviation of the centres; blobs: their usual distance; that of rows around them is 1 in both
    separation: float = 0.0
    latent: int = 0  # dense: dimension of the space the blobs lie in
    noise: float = 0.0  # dense: standard deviation of the noise in every feature
    task_shift: float = 0.0  # difference of the centres (dense) and log odds (text) of a task from the common ones
    seed: int = 0

    def __str__(self) -> str:
        return f"{spaced(self.n)} × {spaced(self.d)} {KINDS[self.kind]}"

    def at_most(self, n: int) -> Shape:
        """The same shape with at most n rows."""
        return replace(self, n=min(n, self.n))


def spaced(number: int) -> str:
    """1234567 as 1 234 567."""
    return f"{number:,}".replace(",", " ")


COUNTS = Shape("counts", 3_400, 2_000, tokens=69, topic_strength=0.4, task_shift=0.2, seed=13)
TFIDF = Shape("tfidf", 40_000, 20_000, tokens=86, topic_strength=0.35, task_shift=0.2, seed=12)
TALL = Shape("dense", 100_000, 128, latent=12, noise=0.3, separation=0.7, task_shift=0.3, seed=3)
WIDE = Shape("dense", 2_000, 5_000, latent=6, noise=0.03, separation=0.7, task_shift=0.3, seed=17)
SHAPES = (COUNTS, TFIDF, TALL, WIDE)

# Separated blobs, on which k-means needs few iterations: nothing is gained there by stopping early.
TABLE = Shape("blobs", 240, 4, n_tasks=3, n_clusters=3, separation=6.0, seed=1)
MEDIUM_BLOBS = Shape("blobs", 5_000, 50, separation=6.0, seed=2)
TALL_BLOBS = Shape("blobs", 100_000, 128, separation=6.0, seed=3)
WIDE_BLOBS = Shape("blobs", 2_000, 5_000, separation=6.0, seed=4)

# The size of the paper's PEOPLEvsPLACES: two tasks, two clusters, 70 non-zeros per row.
PAPER = Shape("counts", 2_154, 4_562, n_tasks=2, n_clusters=2, tokens=77, topic_strength=0.2, task_shift=0.1, seed=5)


def make_tasks(n: int, n_tasks: int, rng: np.random.Generator) -> Array:
    """The task of each row, drawn at random, so that tasks are interleaved."""
    return rng.integers(n_tasks, size=n)


def make_rows(shape: Shape) -> tuple[Any, Array]:
    """X and the task of each row."""
    rng = np.random.default_rng(shape.seed)
    tasks = make_tasks(shape.n, shape.n_tasks, rng)
    topics = rng.integers(shape.n_clusters, size=shape.n)
    if shape.kind == "blobs":
        return _separated_blobs(shape, topics, rng), tasks
    if shape.kind == "dense":
        return _blobs(shape, tasks, topics, rng), tasks
    counts = _text(shape, tasks, topics, rng)
    return (_tfidf(counts) if shape.kind == "tfidf" else counts), tasks


def _blobs(shape: Shape, tasks: Array, topics: Array, rng: np.random.Generator) -> Array:
    """Overlapping Gaussian blobs in a latent space, rotated into the feature space, plus noise."""
    common = rng.normal(scale=shape.separation, size=(shape.n_clusters, shape.latent))
    centers = common + rng.normal(scale=shape.task_shift, size=(shape.n_tasks, shape.n_clusters, shape.latent))
    loadings = np.linalg.qr(rng.normal(size=(shape.d, shape.latent)))[0].T
    X = (centers[tasks, topics] + rng.normal(size=(shape.n, shape.latent))) @ loadings
    X += shape.noise * rng.standard_normal(X.shape)
    return X


def _separated_blobs(shape: Shape, topics: Array, rng: np.random.Generator) -> Array:
    """Gaussian blobs in the feature space, the same in all tasks: the usual distance of two centres is `separation`."""
    centers = rng.normal(scale=shape.separation / np.sqrt(2 * shape.d), size=(shape.n_clusters, shape.d))
    X = rng.standard_normal((shape.n, shape.d))
    X += centers[topics]
    return X


def _text(shape: Shape, tasks: Array, topics: Array, rng: np.random.Generator) -> sparse.csr_matrix:
    """Word counts: a Zipf law whose odds differ between topics and, less, between tasks."""
    zipf = -np.log(np.arange(shape.d) + 10.0)
    of_topic = zipf + shape.topic_strength * rng.normal(size=(shape.n_clusters, shape.d))
    words = np.empty((shape.n, shape.tokens), dtype=np.int32)
    for task in range(shape.n_tasks):
        odds = np.exp(of_topic + shape.task_shift * rng.normal(size=of_topic.shape))
        for topic in range(shape.n_clusters):
            here = (tasks == task) & (topics == topic)
            cumulated = np.cumsum(odds[topic])
            draws = rng.uniform(high=cumulated[-1], size=(np.count_nonzero(here), shape.tokens))
            words[here] = np.searchsorted(cumulated, draws, side="right")
    ends = np.arange(0, words.size + 1, shape.tokens, dtype=np.int32)
    X = sparse.csr_matrix((np.ones(words.size), words.ravel(), ends), shape=(shape.n, shape.d))
    X.sum_duplicates()
    return X


def _tfidf(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Sublinear TF-IDF with unit rows."""
    n, d = counts.shape
    idf = 1 + np.log((1 + n) / (1 + np.bincount(counts.indices, minlength=d)))
    counts.data = (1 + np.log(counts.data)) * idf[counts.indices]
    lengths = np.sqrt(np.add.reduceat(counts.data**2, counts.indptr[:-1]))
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    return counts


def sparse_noise(n: int, d: int, nonzeros: int, seed: int = 0) -> sparse.csr_matrix:
    """Rows without clusters, with `nonzeros` non-zeros each and equally frequent features."""
    rng = np.random.default_rng(seed)
    step = d // nonzeros  # one non-zero in each of as many equal stretches of features
    indices = np.arange(nonzeros) * step + rng.integers(step, size=(n, nonzeros))
    ends = np.arange(0, n * nonzeros + 1, nonzeros, dtype=np.int32)
    return sparse.csr_matrix(
        (rng.uniform(0.5, 1.5, n * nonzeros), indices.ravel().astype(np.int32), ends), shape=(n, d)
    )


def dense_block(index: int, rows: int, d: int) -> Array:
    """Block `index` of a long single-precision matrix, the same wherever it is generated."""
    rng = np.random.default_rng([6, index])
    centers = np.random.default_rng(6).normal(scale=0.7, size=(8, d)).astype(np.float32)
    X = rng.standard_normal((rows, d), dtype=np.float32)
    X += centers[rng.integers(8, size=rows)]
    return X


def random_memberships(n: int, n_clusters: int, dtype: Any = np.float64, seed: int = 0) -> Array:
    """A cluster drawn for each row, as 0/1 memberships."""
    P = np.zeros((n, n_clusters), dtype=dtype)
    P[np.arange(n), np.random.default_rng(seed).integers(n_clusters, size=n)] = 1
    return P


def kmeans_iterations(X: Any, n_clusters: int, starts: int) -> list[int]:
    """Iterations that scikit-learn's k-means needs from each of several starts."""
    fits = (KMeans(n_clusters, n_init=1, random_state=start).fit(X) for start in range(starts))
    return sorted(int(fit.n_iter_) for fit in fits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=10)
    starts = parser.parse_args().starts
    for shape in (*SHAPES, PAPER):
        X, _ = make_rows(shape)
        filled = X.nnz / shape.n if sparse.issparse(X) else shape.d
        print(f"{shape}, {filled:.0f} non-zeros per row:", *kmeans_iterations(X, shape.n_clusters, starts))


if __name__ == "__main__":
    main()
