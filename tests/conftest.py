"""Tiny tasks that every test can afford, and the door to data that not everybody has."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from scipy import sparse

from mtcluster.datasets import load_task_set, make_multitask_blobs

HERE = Path(__file__).parent
DATA_HOME = os.environ.get("MTCLUSTER_DATA")
os.environ.setdefault("MPLBACKEND", "agg")  # no test opens a window
settings.register_profile("without a clock", deadline=None)  # a busy machine is no failure
settings.load_profile("without a clock")


@pytest.fixture(autouse=True)
def close_figures():
    """pyplot keeps figures until they are closed."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def forget_lost_clients():
    """A Dask client that loses its cluster may leave its name in the configuration, where others would look it up."""
    if "distributed" in sys.modules and sys.modules["dask"].config.get("scheduler", None) == "dask.distributed":
        try:
            sys.modules["distributed"].default_client()
        except ValueError:
            sys.modules["dask"].config.set(scheduler=None)


@pytest.fixture
def blobs():
    """Three tasks of unequal size with four clusters, rows interleaved."""
    return make_multitask_blobs([40, 30, 50], 6, n_tasks=3, n_clusters=4, separation=9, task_shift=2, random_state=0)


@pytest.fixture
def counts():
    """Two tasks of sparse non-negative counts around three profiles, as term counts are."""
    rng = np.random.default_rng(0)
    profiles = rng.gamma(0.3, size=(3, 20))
    y = rng.integers(3, size=80)
    X = rng.poisson(3 * profiles[y]).astype(float)
    X[X.sum(axis=1) == 0, 0] = 1
    return X, y, np.arange(80) % 2


@pytest.fixture(params=["dense", "sparse"])
def as_container(request):
    """A test that takes this runs on dense and on sparse data."""
    return np.asarray if request.param == "dense" else sparse.csr_matrix


@pytest.fixture
def task_set():
    """Load a task set of the data folder, or skip."""

    def load(name):
        if not DATA_HOME:
            pytest.skip("the environment variable MTCLUSTER_DATA names no folder of task sets")
        if not (Path(DATA_HOME) / f"{name}.npz").is_file():
            pytest.skip(f"the task set {name!r} is not in {DATA_HOME}, which MTCLUSTER_DATA names")
        return load_task_set(name, DATA_HOME)

    return load


def pytest_collection_modifyitems(items):
    """Documents and benchmarks are whole programs that run."""
    for item in items:
        if item.path.is_relative_to(HERE / "benchmarks") or item.path == HERE / "test_docs.py":
            item.add_marker("slow")
