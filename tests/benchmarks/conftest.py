"""The six data sets in miniature: counts around class profiles, in files of the same names and form."""

import numpy as np
import pytest
from benchmarks.evaluation.data import FILES, PLAIN_FILES
from scipy import sparse


def write_set(folder, name, n_tasks, n_classes, d, seed):
    rng = np.random.default_rng(seed)
    profiles = rng.gamma(0.4, size=(n_classes, d))
    arrays = {"task_names": [f"t{k}" for k in range(n_tasks)]}
    for k in range(1, n_tasks + 1):
        y = rng.permutation(np.arange(24) % n_classes)
        X = rng.poisson(4 * profiles[y])
        X[:, 0] += 1  # no empty row
        thin = sparse.csr_matrix(X)
        arrays |= {f"task{k}_{part}": getattr(thin, part) for part in ("data", "indices", "indptr", "shape")}
        arrays[f"task{k}_y"] = y
    np.savez(folder / f"{name}.npz", **arrays)


def write_other(folder, name, seed):
    """A set that is not text: positive measurements around two profiles, in three tasks."""
    rng = np.random.default_rng(seed)
    profiles = rng.uniform(1, 5, size=(2, 6))
    arrays = {}
    for k in (1, 2, 3):
        y = rng.permutation(np.arange(20) % 2)
        arrays |= {f"task{k}_X": profiles[y] + rng.uniform(size=(20, 6)), f"task{k}_y": y}
    np.savez(folder / f"{name}.npz", **arrays)


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(FILES.values()):
        write_set(folder, name, *((4, 4) if name.startswith("webkb") else (2, 2)), d=15 + seed, seed=seed)
    for seed, name in enumerate(PLAIN_FILES.values()):
        write_other(folder, name, seed)
    return folder
