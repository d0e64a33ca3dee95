"""Engines are chosen by the type of the rows, and no library is imported to choose."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from mtcluster.core.blocks import make_block
from mtcluster.engines import ENGINES, Engine, LocalData, LocalEngine, bring_here, engine_of


def array_of(module):
    """A stand-in for an array of a library."""
    return type("Array", (), {"__module__": f"{module}.core"})()


@pytest.mark.parametrize(
    "X",
    [
        np.ones((2, 2)),
        sparse.csr_matrix((2, 2)),
        [[1, 2], [3, 4]],
        {"a": np.ones((2, 2))},
        {},
        [],
        (),
        None,
        "text",
        3,
    ],
)
def test_rows_of_this_process_need_no_other_engine(X):
    assert engine_of(X) is None


def test_an_engine_is_found_by_the_library_of_all_items(monkeypatch):
    module = type(sys)("engine_of_somewhere")
    module.Somewhere = object()
    monkeypatch.setitem(sys.modules, "engine_of_somewhere", module)
    monkeypatch.setitem(ENGINES, "somewhere", ("engine_of_somewhere", "Somewhere"))
    there, here = array_of("somewhere"), np.ones((2, 2))
    for X in (there, [there, there], (there,), {"a": there}):
        assert engine_of(X) is module.Somewhere
    for mixed in ([there, here], {"a": here, "b": there}):
        assert engine_of(mixed) is None


def test_arrays_and_frames_of_one_library_share_an_engine(monkeypatch):
    for name in ("dask", "dask_expr"):
        assert ENGINES[name] == ENGINES["dask"]
    module = type(sys)("stand_in")
    module.DaskEngine = object()
    monkeypatch.setitem(sys.modules, "mtcluster.engines.dask", module)
    assert engine_of([array_of("dask"), array_of("dask_expr")]) is module.DaskEngine


def test_what_is_no_array_is_brought_as_it_is():
    for value in (3, "text", None, [1, 2], {"a": 1}, np.ones(3), sparse.csr_matrix((2, 2))):
        assert bring_here(value) is value


@pytest.mark.gpu
def test_arrays_of_other_libraries_are_brought_to_numpys_memory():
    xp = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    found = bring_here(xp.asarray([1.0, 2.0]))
    assert isinstance(found, np.ndarray)
    assert_array_equal(found, [1, 2])


@pytest.mark.dask
def test_arrays_of_dask_are_computed():
    da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'mtcluster[dask]'")
    found = bring_here(da.arange(5, chunks=2))
    assert isinstance(found, np.ndarray)
    assert_array_equal(found, np.arange(5))


def test_an_engine_is_what_answers_all_calls():
    with pytest.raises(TypeError, match="abstract"):
        Engine()
    calls = [name for name in Engine.__abstractmethods__ if not isinstance(getattr(Engine, name), property)]
    assert len(calls) <= 8


@pytest.fixture
def local():
    rng = np.random.default_rng(0)
    X, at = rng.normal(size=(10, 3)), np.arange(10) % 2
    parts = [np.flatnonzero(at == k) for k in range(2)]
    return X, LocalEngine(LocalData(np.array(["a", "b"]), [X[p] for p in parts], parts, 10))


def test_dense_rows_of_numpy_need_nothing_of_the_parts_of_a_model(local):
    X, engine = local
    assert engine.needs == ()
    thin = LocalEngine(LocalData(np.array([0]), [sparse.csr_matrix(X)], [slice(0, 10)], 10))
    assert thin.needs == ("sparse",)


def test_values_of_rows_are_split_and_gathered_in_the_users_order(local):
    X, engine = local
    there = engine.split(X, np.asarray)
    assert_array_equal(there[1], X[1::2])
    assert_array_equal(engine.gather(there), X)


def test_rows_are_taken_among_those_that_count():
    rng = np.random.default_rng(0)
    X, u = rng.normal(size=(6, 2)), np.array([0.0, 1, 1, 0, 1, 1])
    engine = LocalEngine(LocalData(np.array([0]), [X], [slice(0, 6)], 6), [u])
    [block] = engine.take([np.array([1, 3])])
    assert_array_equal(block.X, X[[2, 5]])
    assert len(engine.take(None)[0]) == 6
    numbers, Y = engine.locate([np.array([0, 2])], np.eye(2)[:, :1])
    assert_array_equal(numbers[0], [1, 4])
    assert_array_equal(Y[0], X[[1, 4], :1])


def test_scattered_values_replace_others_at_their_positions(local):
    _, engine = local
    old = [np.zeros(5, int), np.ones(5, int)]
    positions = [np.array([0, 3]), np.arange(5)]
    found = engine.scatter([np.array([7, 8]), np.arange(5)], positions, old)
    assert_array_equal(found[0], [7, 0, 0, 8, 0])
    assert_array_equal(found[1], np.arange(5))
    assert_array_equal(old[0], 0)


def test_rows_without_a_source_are_stacked_in_their_order(local):
    X, engine = local
    assert_array_equal(engine.data.stack(), X)
    thin = LocalData(np.array([0, 1]), [sparse.csr_matrix(X[:4]), X[4:]], [slice(0, 4), slice(4, 10)], 10)
    assert_array_equal(thin.stack().toarray(), X)
    pooled = thin.pooled()
    assert pooled.sizes == [10]
    assert not pooled.named


def test_values_that_overflow_are_refused():
    with pytest.raises(ValueError, match=r"squares overflow in float64: the largest is 1.0e\+200. Rescale X"):
        make_block(np.array([[1.0, -1e200]]), np.ones(1), np.zeros(2))
    with pytest.raises(ValueError, match="squares overflow in float32"):
        make_block(sparse.csr_matrix(np.array([[1, -1e30]], dtype=np.float32)), np.ones(1), np.zeros(2))
