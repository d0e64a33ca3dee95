"""Dask calls end with what was asked for, or with one kind of error that says what happened."""

from concurrent.futures import CancelledError

import numpy as np
import pytest

from mtcluster import LSSMTC, DaskClusterError
from mtcluster.datasets import make_multitask_blobs

pytestmark = pytest.mark.dask

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'mtcluster[dask]'")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'mtcluster[dask]'")
Delayed = pytest.importorskip("dask.delayed").Delayed
cluster = pytest.importorskip("mtcluster.engines.dask_cluster")


@pytest.fixture
def client():
    """A cluster in this process."""
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with (
        dask.config.set(scheduler=None),  # a client that is closed leaves its own behind
        distributed.LocalCluster(**options) as found,
        distributed.Client(found) as client,
    ):
        yield client


def named(name, base=Exception):
    """An error of Dask's, by its name."""
    return type(name, (base,), {})("x")


LOST = {
    "connection": (named("CommClosedError", OSError), "is gone"),
    "timeout": (TimeoutError("x"), "is gone"),
    "address": (OSError("cannot connect"), "is gone"),
    "closed": (RuntimeError("the client is closed"), "is gone"),
    "cancelled": (CancelledError("x"), "was restarted or its client was closed"),
    "killed": (named("KilledWorker"), "more memory or fewer threads"),
    "no workers": (type("NoWorkerError", (Exception,), {})("key", 5), "no workers for 5 s"),
}


@pytest.mark.parametrize("error", LOST)
def test_all_ways_of_losing_a_cluster_are_one_error(error):
    error, words = LOST[error]
    with pytest.raises(DaskClusterError, match=words) as caught, cluster.cluster_errors():
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [OSError("no such file"), RuntimeError("something else"), ValueError("client")])
def test_other_errors_stay_what_they_are(error):
    with pytest.raises(type(error)) as caught, cluster.cluster_errors():
        raise error
    assert caught.value is error


class Reads:
    """A chunk whose reading fails some times."""

    def __init__(self, error, failures):
        self.error, self.left, self.n = error, failures, 0

    def __call__(self):
        self.n += 1
        if self.n <= self.left:
            raise self.error
        return np.ones(3)


def test_reading_by_threads_is_tried_three_times():
    with dask.config.set(scheduler="threads"):
        reads = Reads(OSError("the line is down"), 2)
        [found] = cluster.run(dask.compute, dask.delayed(reads, pure=False)())
        assert (found.tolist(), reads.n) == ([1, 1, 1], 3)
        with pytest.raises(OSError, match=r"could not be read \(the line is down\) in 3 attempts; repeat the call"):
            cluster.run(dask.compute, dask.delayed(Reads(OSError("the line is down"), 9), pure=False)())


@pytest.mark.parametrize("error", [ValueError("wrong"), FileNotFoundError(2, "No such file", "a.npy")])
def test_what_another_attempt_does_not_change_is_not_tried_again_by_threads(error):
    reads = Reads(error, 9)
    with dask.config.set(scheduler="threads"), pytest.raises(type(error), match=r"wrong|No such file.*a\.npy"):
        cluster.run(dask.compute, dask.delayed(reads, pure=False)())
    assert reads.n == 1


FAILS = [0]


def fails(times, error):
    """A task that fails some times, on a worker in this process."""
    FAILS[0] += 1
    if FAILS[0] <= times:
        raise error
    return FAILS[0]


def test_what_fails_on_a_cluster_is_tried_again_and_told_as_it_is(client):
    FAILS[0] = 0
    assert cluster.run(dask.compute, [dask.delayed(fails, pure=False)(2, OSError("the line is down"))]) == ([3],)
    for error, words in (
        (TimeoutError("the line is slow"), r"could not be read \(the line is slow\)"),
        (RuntimeError("no client"), "^no client$"),
        (ValueError("wrong"), "^wrong$"),
    ):
        FAILS[0] = 0
        with pytest.raises((OSError, RuntimeError, ValueError), match=words) as caught:
            cluster.run(dask.compute, dask.delayed(fails, pure=False)(99, error))
        assert not isinstance(caught.value, DaskClusterError)
    assert cluster.run(dask.compute, 1, [2]) == (1, [2])


def test_a_cluster_without_workers_is_not_waited_for_for_ever(client):
    client.retire_workers()
    with dask.config.set({cluster.SETTING: "2s"}), pytest.raises(DaskClusterError, match="no workers for 2 s"):
        cluster.run(dask.compute, dask.delayed(int, pure=False)(3))


def test_results_on_a_cluster_whose_client_was_closed(client):
    [held] = cluster.run(dask.persist, dask.delayed(np.ones, pure=False)(3))
    client.close()
    with pytest.raises(DaskClusterError, match="is gone"):
        cluster.run(dask.compute, dask.delayed(np.sum)(held))
    with dask.config.set(scheduler="threads"), pytest.raises(DaskClusterError, match="its client was closed"):
        cluster.run(dask.compute, dask.delayed(np.sum)(held))


def test_results_on_a_cluster_that_a_graph_does_not_show(client):
    [held] = cluster.run(dask.persist, dask.delayed(np.ones, pure=False)(3))
    parts = [dask.delayed(divmod, nout=2)(held, 2)[-1] for _ in range(2)]
    client.close()
    with dask.config.set(scheduler="threads"), pytest.raises(DaskClusterError, match="its client was closed"):
        cluster.run(dask.persist, dask.delayed(list)(parts))


def broken():
    """What needs something that is neither in its graph nor anywhere else."""
    spec = pytest.importorskip("dask._task_spec")
    return dask.delayed(len)(Delayed("kept", {"kept": spec.Task("kept", list, spec.TaskRef(("chunk", 0)))}))


@pytest.mark.parametrize("how", [dask.compute, dask.persist])
def test_what_never_was_on_a_cluster_has_not_lost_it(client, how):
    """A graph that lacks something, while results of a cluster whose client was closed are about."""
    held = dask.persist(dask.delayed(np.ones, pure=False)(3), dask.delayed(np.ones)(3, dask_key_name="chunk"))
    client.close()
    with dask.config.set(scheduler="threads"), pytest.raises(ValueError, match=r"^Missing dependency") as caught:
        cluster.run(how, [broken()])
    assert not isinstance(caught.value, DaskClusterError)
    assert len(held) == 2


def test_rows_on_a_cluster_whose_client_was_closed(client):
    """Dask leaves the futures out of the graph of the chunks."""
    X, _, tasks = make_multitask_blobs(n_tasks=2, n_samples=40, n_clusters=2, random_state=0)
    there = da.from_array(X, chunks=(20, -1)).persist()
    client.close()
    with dask.config.set(scheduler="threads"), pytest.raises(DaskClusterError, match="its client was closed"):
        LSSMTC(2, within_weight=0.5, n_init=1, random_state=0).fit(there, tasks=tasks)


@pytest.mark.parametrize("verify", [False, True], ids=["as it is", "verified"])
@pytest.mark.parametrize("kind", ["delayed", "futures"])
def test_frames_of_delayed_partitions_and_of_futures_are_fitted(client, kind, verify):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, _, tasks = make_multitask_blobs(n_tasks=2, n_samples=40, n_clusters=2, random_state=0)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(task=tasks)
    parts = [frame.iloc[:30], frame.iloc[30:]]
    held = client.scatter(parts) if kind == "futures" else [dask.delayed(part) for part in parts]
    there = dd.from_delayed(held, meta=frame.iloc[:0], verify_meta=verify)
    model, here = (LSSMTC(2, within_weight=0.5, n_init=1, random_state=0) for _ in range(2))
    model.fit(there, tasks="task")
    np.testing.assert_array_equal(model.labels_.compute(), here.fit(X, tasks=tasks).labels_)


def test_a_partition_on_a_cluster_that_lacks_a_column_is_named(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, _, tasks = make_multitask_blobs(n_tasks=2, n_samples=40, n_clusters=2, random_state=0)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(task=tasks)
    parts = [dask.delayed(frame.iloc[:30]), dask.delayed(frame.iloc[30:].drop(columns="x1"))]
    there = dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)
    with pytest.raises(ValueError, match=r"^partition 1 of X lacks the column\(s\) 'x1': "):
        LSSMTC(2, within_weight=0.5, n_init=1, random_state=0).fit(there, tasks="task")


def fails_until(folder):
    """A chunk that cannot be read as long as its folder is empty."""
    if not any(folder.iterdir()):
        raise OSError("the line is down")
    return np.ones(3)


def test_a_fit_can_be_repeated_while_a_model_of_the_same_chunks_lives(client, tmp_path):
    """The scheduler remembers chunks that could not be read, as the model has values that were computed from them."""
    X, _, tasks = make_multitask_blobs(n_tasks=2, n_samples=40, n_clusters=2, random_state=0)
    there = da.from_array(X, chunks=(20, -1)).map_blocks(_read, tmp_path, dtype=X.dtype, meta=X[:0])
    (tmp_path / "there").touch()
    model, again = (LSSMTC(2, within_weight=0.5, n_init=1, random_state=0) for _ in range(2))
    model.fit(there, tasks=tasks)
    (tmp_path / "there").unlink()
    with pytest.raises(OSError, match="could not be read"):
        again.fit(there, tasks=tasks)
    assert not hasattr(again, "labels_")
    (tmp_path / "there").touch()
    again.fit(there, tasks=tasks)
    np.testing.assert_array_equal(again.labels_.compute(), model.labels_.compute())


def _read(block, folder):
    if len(block):
        fails_until(folder)
    return block
