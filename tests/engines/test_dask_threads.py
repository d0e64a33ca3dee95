"""Chunks without a cluster, on Dask's threads: the results of one process, and errors that name what came."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster import LSSMTC, SPMTC, Consensus

pytestmark = pytest.mark.dask
da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'mtcluster[dask]'")
engine = pytest.importorskip("mtcluster.engines.dask", reason="Dask is not installed: pip install 'mtcluster[dask]'")

SAMPLED = Consensus(
    sample=60, task_sample=10, smoothings=((5, 1),), n_seedings=2, n_init_member=1, n_init_own=2, n_init_offset=1
)
MODELS = {
    "given": LSSMTC(4, within_weight=0.5, init=np.random.default_rng(1).random((120, 4)), random_state=0),
    "sampled": SPMTC(4, init=SAMPLED, random_state=0),
    "nonnegative": LSSMTC(4, within_weight=0.5, membership="nonnegative", n_init=1, max_iter=3, random_state=0),
    "scale": SPMTC(4, within_weight=0.5, task_offset="scale", n_init=1, max_iter=3, random_state=0),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_chunks_on_threads_give_the_results_of_one_process(model, blobs):
    X, weights = da.from_array(blobs.X, chunks=((50, 70), -1)), np.arange(120) % 3 + 0.5
    there = model.fit(X, tasks=blobs.tasks, sample_weight=weights)
    labels, losses, centers = there.labels_.compute(), there.losses_.compute(), there.task_centers_
    probabilities, coordinates = there.predict_proba(X, tasks=blobs.tasks).compute(), there.transform(X).compute()
    score = there.score(X, tasks=blobs.tasks, sample_weight=weights)
    here = model.fit(blobs.X, tasks=blobs.tasks, sample_weight=weights)
    assert_array_equal(labels, here.labels_)
    assert_allclose(losses, here.losses_, atol=1e-8)
    assert_allclose(centers, here.task_centers_, atol=1e-8)
    assert_allclose(probabilities, here.predict_proba(blobs.X, tasks=blobs.tasks), atol=1e-6)
    assert_allclose(coordinates, here.transform(blobs.X), atol=1e-8)
    assert score == pytest.approx(here.score(blobs.X, tasks=blobs.tasks, sample_weight=weights))


def test_sparse_chunks_and_a_dict_of_arrays_are_read(counts):
    X, _, tasks = counts
    model = LSSMTC(3, within_weight=0.5, n_init=1, random_state=0)
    thin = da.from_array(X, chunks=(30, -1)).map_blocks(sparse.csr_matrix)
    assert_array_equal(model.fit(thin, tasks=tasks).labels_.compute(), model.fit(X, tasks=tasks).labels_)
    parts = {k: X[tasks == k] for k in (0, 1)}
    chunked = {k: da.from_array(part, chunks=(20, -1)) for k, part in parts.items()}
    assert_array_equal(model.fit(chunked).labels_.compute(), model.fit(parts).labels_)


def test_wrong_input_is_refused_by_name(blobs):
    X = da.from_array(blobs.X, chunks=(50, -1))
    model = LSSMTC(4, within_weight=0.5, n_init=1)
    with pytest.raises(ValueError, match="tasks must be None"):
        model.fit({"a": X}, tasks=blobs.tasks)
    with pytest.raises(TypeError, match="tasks must be a sequence"):
        model.fit(X, tasks="abc")
    with pytest.raises(ValueError, match="init has shape"):
        LSSMTC(4, within_weight=0.5, init=np.ones((5, 4))).fit(X, tasks=blobs.tasks)
    with pytest.raises(ValueError, match="coupling='projection' works on NumPy arrays in one process only"):
        LSSMTC(4, coupling="projection", within_weight=0.5).fit(X, tasks=blobs.tasks)


# Partitions that are not as the frame says


def framed(blobs, change):
    """A frame of four partitions, of which the third is changed, and the task of each row."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, _, tasks = blobs
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    parts = [frame.iloc[rows] for rows in np.array_split(np.arange(len(frame)), 4)]
    parts[2] = change(parts[2].copy())
    return dd.from_map(lambda i: parts[i], range(4), meta=frame.iloc[:0], enforce_metadata=False), np.asarray(tasks)


def with_text(part):
    part["x1"] = part["x1"].astype(object)
    part.iloc[4, 1] = "text"
    return part


def test_columns_of_partitions_are_matched_by_name(blobs):
    there, tasks = framed(blobs, lambda part: part[part.columns[::-1]])
    found = SPMTC(3, random_state=0).fit(there, tasks=tasks)
    plain, _ = framed(blobs, lambda part: part)
    wanted = SPMTC(3, random_state=0).fit(plain, tasks=tasks)
    assert_array_equal(np.asarray(found.labels_), np.asarray(wanted.labels_))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda part: part.drop(columns="x1"), r"partition 2 of X lacks the column\(s\) 'x1'"),
        (with_text, "partition 2 of X holds what is no number in column 'x1'"),
    ],
)
def test_what_is_wrong_in_a_partition_is_named(blobs, change, message):
    there, tasks = framed(blobs, change)
    with pytest.raises(ValueError, match=message):
        SPMTC(3, random_state=0).fit(there, tasks=tasks)


def test_the_partition_of_a_missing_task_is_named(blobs):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    there, tasks = framed(blobs, lambda part: part)
    names = pd.Series(tasks.astype(object))
    names.iloc[-3] = None
    with pytest.raises(ValueError, match=r"missing label at row .*Rows are counted in partition 3"):
        SPMTC(3, random_state=0).fit(there, tasks=dd.from_pandas(names, npartitions=4))
