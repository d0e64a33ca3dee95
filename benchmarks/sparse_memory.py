"""Peak memory of a default fit of a large sparse matrix, the data included: `python benchmarks/sparse_memory.py`."""

import argparse
import resource
import time

import numpy as np
from scipy import sparse

from mtcluster import SPMTC


def make_rows(n: int, d: int, nonzeros: int, n_clusters: int, rng: np.random.Generator) -> sparse.csr_matrix:
    """Rows of about the same number of non-zeros; half of them among the words of a topic, half anywhere."""
    per_row = nonzeros // n
    topic = rng.integers(n_clusters, size=n)
    words = d // n_clusters
    own = topic[:, None] * words + rng.integers(words, size=(n, per_row // 2))
    indices = np.concatenate([own, rng.integers(d, size=(n, per_row - per_row // 2))], axis=1).astype(np.int32)
    indices.sort(axis=1)
    data = np.ones(n * per_row)
    return sparse.csr_matrix((data, indices.ravel(), np.arange(0, n * per_row + 1, per_row)), shape=(n, d))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=100_000)
    parser.add_argument("--nonzeros", type=int, default=10_000_000)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X = make_rows(arguments.rows, arguments.features, arguments.nonzeros, 8, rng)
    tasks = rng.integers(4, size=arguments.rows)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    began = time.perf_counter()
    model = SPMTC(8, random_state=0).fit(X, tasks=tasks)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{X.shape[0]} x {X.shape[1]}, {X.nnz} non-zeros, 4 tasks, 8 clusters; {model.n_iter_} iterations")
    print(f"peak {peak:.2f} GiB in all, {before:.2f} GiB before the fit, {seconds:.0f} s")


if __name__ == "__main__":
    main()
