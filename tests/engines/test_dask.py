"""A Dask cluster gives what one process gives, reads the data once an iteration, and survives the loss of a worker."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster import ASI, LSSMTC, SPMTC
from mtcluster.core import calibration, novelty, ordinary, projecting
from mtcluster.core.pacing import Stages
from mtcluster.core.sampling import Sampling
from mtcluster.datasets import make_multitask_blobs
from mtcluster.engines import DaskClusterError

pytestmark = pytest.mark.dask

da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'mtcluster[dask]'")
distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'mtcluster[dask]'")
dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'mtcluster[dask]'")
dask_store = pytest.importorskip("mtcluster.engines.dask_store")
engine = pytest.importorskip("mtcluster.engines.dask", reason="Dask is not installed: pip install 'mtcluster[dask]'")


@pytest.fixture(scope="module")
def client():
    """A cluster of processes on the loopback, as small as it can be."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1"}
    with distributed.LocalCluster(dashboard_address=None, **options) as cluster, distributed.Client(cluster) as found:
        yield found


@pytest.fixture(scope="module")
def rows():
    """Three tasks in any order, with names."""
    X, _, tasks = make_multitask_blobs(n_tasks=3, n_samples=100, n_clusters=4, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], np.array(["north", "south", "west"])[tasks[order]]


def counts_of(X):
    """Rows that are mostly zeros."""
    return sparse.csr_matrix(np.where(X > 2, X, 0))


CHUNKS = {"one": (300,), "through tasks": (120, 180), "empty": (0, 100, 0, 150, 50), "many": (30,) * 10}
MODELS = {
    "default": SPMTC(4, random_state=0),
    "hard": SPMTC(4, within_weight=0.5, weighting="hard", n_init=1, random_state=0),
    "nonnegative": LSSMTC(4, within_weight=0.5, membership="nonnegative", n_init=1, max_iter=5, random_state=0),
    "random": LSSMTC(4, within_weight=0.5, init="random", random_state=0),
    "offsets": SPMTC(4, within_weight=0.5, task_offset="scale", n_init=1, random_state=0),
}


def fresh(model, **parameters):
    return type(model)(**{**model.get_params(), **parameters})


def assert_same(ours, theirs, atol=1e-9):
    """Everything that is of rows is a Dask array with the same values."""
    assert_array_equal(ours.labels_.compute(), theirs.labels_)
    there, here = ours.fitted_.rows, theirs.fitted_.rows
    pairs = {name: (getattr(there, name), getattr(here, name)) for name in ("losses", "weights", "admitted")}
    for name, (found, wanted) in (pairs | {"memberships": (ours.memberships_, theirs.memberships_)}).items():
        assert isinstance(found, da.Array), name
        assert_allclose(found.compute(), wanted, atol=atol, err_msg=name)
    for name in ("task_centers_", "cluster_sizes_", "task_relatedness_"):
        assert isinstance(getattr(ours, name), np.ndarray), name
        assert_allclose(getattr(ours, name), getattr(theirs, name), atol=atol, err_msg=name)
    assert_allclose(ours.fitted_.within_weight, theirs.fitted_.within_weight, atol=atol)
    assert ours.tasks_.tolist() == theirs.tasks_.tolist()
    assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_the_labels_of_one_process_whatever_the_chunks(client, rows, chunks):
    X, tasks = rows
    start = np.random.default_rng(1).random((300, 4))
    model = SPMTC(4, within_weight=0.5, init=start)
    there = fresh(model).fit(da.from_array(X, chunks=(chunks, 10)), tasks=tasks)
    assert_same(there, fresh(model).fit(X, tasks=tasks))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_labels_of_one_process_whatever_the_model(client, rows, name, kind):
    X, tasks = rows
    X = X if kind == "dense" else counts_of(X)
    blocks = da.from_array(np.arange(300), chunks=70)
    parts = [da.from_array(X[a : a + 70], asarray=False) if kind == "sparse" else X[a : a + 70] for a in blocks[::70]]
    there = da.concatenate(parts) if kind == "sparse" else da.from_array(X, chunks=(70, 4))
    model = MODELS[name]
    assert_same(fresh(model).fit(there, tasks=da.from_array(tasks, chunks=41)), fresh(model).fit(X, tasks=tasks), 1e-6)


def test_chunks_are_what_they_are_whatever_the_array_says_of_them(client, rows):
    """Sparse chunks of an array that takes them for dense, with a column without zeros, far from zero."""
    X, tasks = rows
    thin = sparse.csr_matrix(np.where(X > 2, X, 0) + 50 * np.eye(1, 10))
    delayed = pytest.importorskip("dask").delayed
    chunks = [da.from_delayed(delayed(thin[a : a + 100]), (100, 10), dtype=X.dtype) for a in (0, 100, 200)]
    there = da.concatenate(chunks)
    assert isinstance(there._meta, np.ndarray)
    model = SPMTC(4, within_weight=0.5, init=np.random.default_rng(1).random((300, 4)))
    ours, theirs = fresh(model).fit(there, tasks=tasks), fresh(model).fit(thin, tasks=tasks)
    assert_same(ours, theirs)
    assert_allclose(np.concatenate(ours.objective_trace_), np.concatenate(theirs.objective_trace_))


def test_a_vote_on_a_sample_is_the_vote_of_one_process(client):
    X, _, tasks = make_multitask_blobs(n_tasks=2, n_samples=3000, n_clusters=3, random_state=0)
    weights = np.random.default_rng(0).integers(3, size=len(X)).astype(float)
    here = LSSMTC(3, random_state=0).fit(X, tasks=tasks, sample_weight=weights)
    there = LSSMTC(3, random_state=0).fit(
        da.from_array(X, chunks=(1234, -1)), tasks=tasks, sample_weight=da.from_array(weights, chunks=777)
    )
    assert_same(there, here)


def test_float32_stays_float32(client, rows):
    X, tasks = rows
    model = SPMTC(4, within_weight=0.5, n_init=1, random_state=0)
    there = fresh(model).fit(da.from_array(X.astype(np.float32), chunks=(100, -1)), tasks=tasks)
    assert there.losses_.dtype == there.memberships_.dtype == np.float32 == there.losses_.compute().dtype
    assert_array_equal(there.labels_.compute(), fresh(model).fit(X.astype(np.float32), tasks=tasks).labels_)


def test_data_frames_and_dicts_of_arrays(client, rows):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="dask[dataframe] is not installed")
    X, tasks = rows
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(10)]).assign(place=tasks)
    table = dd.from_pandas(frame, npartitions=4)
    here = LSSMTC(4, random_state=0).fit(frame.drop(columns="place"), tasks=frame["place"])
    there = LSSMTC(4, random_state=0).fit(table.drop(columns="place"), tasks=table["place"])
    assert_same(there, here)
    assert there.feature_names_in_.tolist() == here.feature_names_in_.tolist()
    apart = {name: da.from_array(X[tasks == name], chunks=(33, -1)) for name in ("north", "south", "west")}
    as_dict = LSSMTC(4, random_state=0).fit(apart)
    assert_array_equal(as_dict.labels_.compute(), np.concatenate([here.labels_[tasks == name] for name in apart]))


def test_tasks_are_one_data_set_to_asi(client, rows):
    X, tasks = rows
    there = ASI(4, n_init=1, random_state=0).fit(da.from_array(X, chunks=(90, -1)), tasks=tasks)
    assert_array_equal(there.labels_.compute(), ASI(4, n_init=1, random_state=0).fit(X, tasks=tasks).labels_)


def test_what_is_read_off_a_fitted_model_is_computed_when_it_is_asked_for(client, rows):
    X, tasks = rows
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    there = da.from_array(X, chunks=((150, 0, 150), (10,)))
    new = np.where(tasks == "west", "elsewhere", tasks)
    for given in (tasks, None, new, da.from_array(new, chunks=50)):
        labels = model.predict(there, tasks=given)
        assert isinstance(labels, da.Array)
        here = None if given is None else np.asarray(given)
        assert_array_equal(labels.compute(), model.predict(X, tasks=here))
    assert_allclose(model.predict_proba(there, tasks=tasks).compute(), model.predict_proba(X, tasks=tasks))
    assert_allclose(model.score_samples(there, tasks=tasks).compute(), model.score_samples(X, tasks=tasks))
    assert_allclose(model.transform(there).compute(), model.transform(X))
    assert_allclose(model.score(there, tasks=tasks), model.score(X, tasks=tasks))


class Reads:
    """A Dask array that counts how often its chunks are read, with Dask's own threads: no cluster."""

    def __init__(self, X, size):
        self.count, self.lock = 0, threading.Lock()

        def read(block):
            with self.lock:
                self.count += 1
            return block

        self.array = da.from_array(X, chunks=(size, -1)).map_blocks(read, dtype=X.dtype, meta=X[:0])


def test_an_iteration_reads_the_data_once(rows):
    X, tasks = rows
    start, found = np.random.default_rng(1).random((300, 4)), {}
    import dask

    with dask.config.set(scheduler="threads"):
        for n_iter in (2, 5):
            reads = Reads(X, 60)
            model = LSSMTC(4, within_weight=0.5, init=start, max_iter=n_iter, tol=0.0).fit(reads.array, tasks=tasks)
            found[model.n_iter_] = reads.count
    assert (found[5] - found[2]) / 3 == 5  # chunks


def test_the_task_of_each_row_is_a_number_that_can_be_computed_with(rows):
    X, tasks = rows
    model = SPMTC(4, within_weight=0.5, random_state=0).fit(da.from_array(X, chunks=(70, -1)), tasks=tasks)
    found = model.fitted_.rows.tasks.compute()
    assert found.dtype == np.intp
    np.testing.assert_array_equal(model.tasks_[found], tasks)


def test_only_small_arrays_come_back(rows, monkeypatch):
    """Nothing that a fit from a given start brings to the client grows with the number of rows."""
    X, tasks = (np.concatenate([part] * 30) for part in rows)
    largest = []
    plain = engine.run

    def watched(how, *collections):
        out = plain(how, *collections)
        if how is engine.dask.compute:
            largest.append(max(size_of(item) for item in out))
        return out

    monkeypatch.setattr(engine, "run", watched)
    monkeypatch.setattr(projecting, "MAP", Sampling(100, 10))  # else it grows with the rows
    monkeypatch.setattr(calibration, "CALIBRATION_ROWS", Sampling(100, 10))  # else up to 3,000 rows come back
    for room in (novelty, ordinary):
        monkeypatch.setattr(room, "NOVELTY_ROWS", Sampling(100, 10))  # likewise
    start = np.random.default_rng(1).random((9000, 4))
    SPMTC(4, within_weight=0.5, init=start, max_iter=2).fit(da.from_array(X, chunks=(1500, -1)), tasks=tasks)
    histograms = 8 * 2 * 3 * 2**11  # of two quantiles of three tasks
    assert max(largest) <= max(histograms, 8 * 3 * 4 * 10)


def size_of(item):
    """Bytes of the arrays in something."""
    if isinstance(item, np.ndarray):
        return item.nbytes
    if isinstance(item, list | tuple):
        return sum(map(size_of, item))
    return sum(map(size_of, vars(item).values())) if hasattr(item, "__dict__") else 8


def test_a_worker_killed_in_the_middle_of_a_fit_changes_nothing(client, rows, monkeypatch):
    X, tasks = rows
    calls, plain = [], engine.run

    def killing(how, *collections):
        calls.append(how)
        if len(calls) == 12:
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
        return plain(how, *collections)

    start = np.random.default_rng(1).random((300, 4))
    model = SPMTC(4, within_weight=0.5, init=start)
    with monkeypatch.context() as patch:
        patch.setattr(engine, "run", killing)
        there = fresh(model).fit(da.from_array(X, chunks=(50, -1)), tasks=tasks)
    assert len(calls) > 20
    assert_same(there, fresh(model).fit(X, tasks=tasks))


def test_a_scheduler_that_goes_away_is_an_error_and_no_hang(rows, monkeypatch, tmp_path):
    X, tasks = rows
    address, command = tmp_path / "scheduler.json", [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show", "--scheduler-file", str(address)]
    scheduler = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL)
    worker = None
    try:
        deadline = time.monotonic() + 60
        while not address.exists():
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.1)
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(address), "--no-dashboard",
             "--nthreads", "1", "--host", "127.0.0.1", "--death-timeout", "60"],
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        calls, plain = [], engine.run

        def killing(how, *collections):
            calls.append(how)
            if len(calls) == 8:
                scheduler.kill()
            return plain(how, *collections)

        monkeypatch.setattr(engine, "run", killing)
        import dask

        with (
            dask.config.set({"distributed.comm.timeouts.connect": "3s", "scheduler": None}),
            distributed.Client(scheduler_file=str(address), set_as_default=True, timeout=30),
            pytest.raises(DaskClusterError, match="connect a client to a running cluster and repeat the call"),
        ):
            SPMTC(4, within_weight=0.5, n_init=1, random_state=0).fit(da.from_array(X, chunks=(100, -1)), tasks=tasks)
    finally:
        for process in (scheduler, worker):
            if process is not None:
                process.kill()
                process.wait()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"coupling": "projection", "within_weight": 0.5},
            r"coupling='projection' works on NumPy arrays in one process only: take .*compute",
        ),
        ({"init": np.ones((7, 4))}, r"init has shape \(7, 4\), but memberships of shape \(300, 4\) are needed"),
        ({"n_clusters": 500}, r"n_samples=300 should be >= n_clusters=500"),
    ],
)
def test_what_cannot_be_done_is_said(rows, change, message):
    X, tasks = rows
    with pytest.raises(ValueError, match=message):
        SPMTC(**{"n_clusters": 4, **change}).fit(da.from_array(X, chunks=(100, -1)), tasks=tasks)


def test_bad_data_are_refused(rows):
    X, tasks = rows
    holed = X.copy()
    holed[203, 1] = np.inf
    there = da.from_array(holed, chunks=(100, -1))
    with pytest.raises(ValueError, match=rf"infinity in 1 row\(s\).* row 203 of task '{tasks[203]}'"):
        LSSMTC(4).fit(there, tasks=tasks)
    there = da.from_array(X, chunks=(100, -1))
    with pytest.raises(ValueError, match="tasks has 5 values, but X has 300 rows"):
        LSSMTC(4).fit(there, tasks=tasks[:5])
    with pytest.raises(ValueError, match="sample_weight must hold finite numbers that are not negative"):
        LSSMTC(4).fit(there, tasks=tasks, sample_weight=-np.ones(300))
    with pytest.raises(ValueError, match="sample_weight is zero for all 100 rows of task 'south'"):
        LSSMTC(4).fit(there, tasks=tasks, sample_weight=(tasks != "south").astype(float))
    with pytest.raises(ValueError, match="two dimensions"):
        LSSMTC(4).fit(there[:, 0])
    model = LSSMTC(4, within_weight=0.5, n_init=1).fit(X, tasks=tasks)
    with pytest.raises(ValueError, match="features"):
        model.predict(there[:, :5])


@pytest.mark.parametrize("name", ["default", "nonnegative"])
def test_values_per_row_in_files_change_nothing(name, rows, tmp_path):
    X, tasks = rows
    there = da.from_array(X, chunks=(70, -1))
    with dask_store.storing(tmp_path):
        model = fresh(MODELS[name]).fit(there, tasks=tasks)
        assert any(tmp_path.iterdir())
        labels, losses = model.labels_.compute(), model.losses_.compute()
    with dask.config.set(scheduler="threads"):
        other = fresh(MODELS[name]).fit(there, tasks=tasks)
        assert_array_equal(labels, other.labels_.compute())
        assert_array_equal(losses, other.losses_.compute())


def test_files_of_values_are_removed_with_what_they_hold(tmp_path):
    value = dask_store.stored([np.arange(3)], str(tmp_path))
    assert_array_equal(dask_store.loaded(value)[0], np.arange(3))
    del value
    gc.collect()
    assert not any(tmp_path.iterdir())


def test_weights_are_found_without_reading_the_rows(rows, monkeypatch):
    X, tasks = rows
    monkeypatch.setattr(engine.DaskEngine, "few", 0)  # histograms, not the losses themselves
    reads, began = Reads(X, 60), []
    weights = Stages.weights

    def counted(*args, **kwargs):
        before = reads.count
        found = weights(*args, **kwargs)
        began.append(reads.count - before)
        return found

    monkeypatch.setattr(Stages, "weights", counted)
    with dask.config.set(scheduler="threads"):
        SPMTC(4, within_weight=0.5, n_init=1, random_state=0).fit(reads.array, tasks=tasks)
    assert began == [0] * len(began) != []
