"""Places: every row of every task is fetched exactly once, however the tasks stand in their matrix."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster.core import blocks as blocks_module
from mtcluster.core.arrays import LARGEST_PIECE, Picked
from mtcluster.core.blocks import WINDOW_ROWS, Blocks, Place, make_block
from mtcluster.core.solver import alternate, first_state

from .tools import model_of

N, D, C = 20_000, 20, 3


def parted(X, codes):
    """The rows of each task as an engine holds them: together, or apart in the matrix."""
    found = []
    for k in range(codes.max() + 1):
        at = np.flatnonzero(codes == k)
        together = len(at) == 0 or at[-1] - at[0] + 1 == len(at)
        found.append(X[at[0] : at[-1] + 1] if together and len(at) else X[:0] if together else Picked(X, at))
    return found


def layouts():
    """Names, tasks of a matrix, and whether their rows are fetched together, window by window."""
    rng, half = np.random.default_rng(0), np.arange(N) < N // 2
    X = rng.normal(size=(N, D))
    mixed = rng.integers(3, size=N)
    yield "mixed", parted(X, mixed), True
    yield "mixed, by columns", parted(np.asfortranarray(X), mixed), True
    yield "contiguous", parted(X, np.arange(N) * 3 // N), False
    yield "contiguous before mixed", parted(X, np.where(half, 0, 1 + mixed)), True
    yield "contiguous after mixed", parted(X, np.where(half, mixed, 3)), True
    yield "contiguous amid mixed", parted(X, np.where(np.abs(np.arange(N) - N // 2) < N // 4, 0, 1 + mixed)), True
    yield "one apart", parted(X, (np.abs(np.arange(N) - N // 2) < N // 4).astype(int)), True
    yield "a task without rows", parted(X, np.where(mixed == 1, 2, mixed)), True
    yield "rows that belong to none", parted(X, mixed)[:2], True
    yield "of two matrices", [*parted(X, mixed), *parted(X.copy(), mixed)], False
    yield "many", parted(X, rng.integers(1 + LARGEST_PIECE // (WINDOW_ROWS * D), size=N)), False
    thin = sparse.random(2000, 300, 0.02, format="csr", random_state=0)
    yield "sparse", parted(thin, mixed[:2000]), False
    yield "sparse, both", parted(thin, np.where(np.arange(2000) < 900, 0, 1 + mixed[:2000])), False


LAYOUTS = {name: (Xs, windows) for name, Xs, windows in layouts()}


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_row_of_every_task_is_fetched_once_and_in_order(name):
    Xs, windows = LAYOUTS[name]
    place = Place(Xs)
    assert any(unit.window is not None for unit in place._units(C)) == windows
    rows, parts = [[] for _ in Xs], [[] for _ in Xs]
    for k, (part, X) in place.over_pieces(C, lambda k, part, X: (part, dense(X).copy())):
        assert len(X) > 0
        parts[k].extend(range(part.start, part.stop))
        rows[k].append(X)
    for X, found, at in zip(Xs, rows, parts, strict=True):
        assert at == list(range(X.shape[0]))
        if len(at):
            assert_array_equal(np.concatenate(found), dense(X[:]))


def blocks_of(Xs):
    origins = np.zeros((len(Xs), Xs[0].shape[1]))
    return [make_block(X, np.ones(X.shape[0]), origin) for X, origin in zip(Xs, origins, strict=True)]


@pytest.mark.parametrize("name", LAYOUTS)
def test_tasks_in_one_matrix_have_the_results_of_separate_tasks(name):
    Xs, _ = LAYOUTS[name]
    model, found = model_of(0.4, 3), []
    rng = np.random.default_rng(0)
    labels = [rng.integers(3, size=X.shape[0]) for X in Xs]
    for parts in (Xs, [X[:] for X in Xs]):
        rows = Blocks(blocks_of(parts))
        found.append(alternate(rows, model, first_state(rows, model, [labels]), max_iter=3, tol=0.0))
    ours, theirs = found
    assert_allclose(ours.traces[0], theirs.traces[0], rtol=1e-12)
    assert_allclose(ours.state.centers.Ms, theirs.state.centers.Ms, rtol=1e-9, atol=1e-12)
    for field in ("Ps", "Ls"):
        for a, b in zip(getattr(ours.state, field), getattr(theirs.state, field), strict=True):
            assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["mixed", "contiguous", "contiguous before mixed", "sparse"])
def test_threads_change_nothing(name, monkeypatch):
    monkeypatch.setattr(blocks_module, "WORTH_THREADS", 0)
    Xs, _ = LAYOUTS[name]
    model, rng = model_of(0.4, 3), np.random.default_rng(0)
    starts = [[rng.integers(3, size=X.shape[0]) for X in Xs] for _ in range(2)]
    used = []

    def each(job, jobs):
        used.append(len(jobs))
        return pool.map(job, jobs)

    with ThreadPoolExecutor(3) as pool:
        found = []
        for how in (map, each):
            rows = Blocks(blocks_of(Xs), how)
            found.append(alternate(rows, model, first_state(rows, model, starts), max_iter=3, tol=0.0))
    assert max(used) > 1
    one, several = found
    assert_array_equal(one.traces, several.traces)
    assert_array_equal(one.state.centers.Ms, several.state.centers.Ms)
    for a, b in zip(one.state.Ps + one.state.Ls, several.state.Ps + several.state.Ls, strict=True):
        assert_array_equal(a, b)
