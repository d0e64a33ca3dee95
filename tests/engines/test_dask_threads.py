"""Chunks without a cluster, on Dask's threads: the results of one process, and errors that name what came."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster import LSSMTC, SPMTC, Search

pytestmark = pytest.mark.dask
da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'mtcluster[dask]'")
engine = pytest.importorskip("mtcluster.engines.dask", reason="Dask is not installed: pip install 'mtcluster[dask]'")

SAMPLED = Search(sample=60, task_sample=10, n_seedings=2, n_moved=1)
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


def from_map(parts, meta):
    return dd_of().from_map(lambda i: parts[i], range(len(parts)), meta=meta, enforce_metadata=False)


def from_delayed(parts, meta, **options):
    delayed = pytest.importorskip("dask").delayed
    return dd_of().from_delayed([delayed(part) for part in parts], meta=meta, **{"verify_meta": False, **options})


def mapped(parts, meta):
    numbers = dd_of().from_pandas(meta.iloc[:, :0].reindex(range(len(parts))), npartitions=len(parts))
    return numbers.map_partitions(lambda part: parts[part.index[0]], meta=meta, enforce_metadata=False)


def dd_of():
    return pytest.importorskip("dask.dataframe", reason="dask[dataframe] is not installed")


WAYS = {
    "map": from_map,
    "delayed": from_delayed,
    "verified": lambda parts, meta: from_delayed(parts, meta, verify_meta=True),
    "mapped": mapped,
}


def divided(frame, change, way):
    """A frame of four partitions, of which the third is changed."""
    parts = [frame.iloc[rows] for rows in np.array_split(np.arange(len(frame)), 4)]
    parts[2] = change(parts[2].copy())
    return way(parts, frame.iloc[:0])


def table(blobs):
    return pytest.importorskip("pandas").DataFrame(blobs.X, columns=[f"x{j}" for j in range(blobs.X.shape[1])])


def framed(blobs, change, way=from_map):
    """A frame with a partition that is changed, and the task of each row."""
    return divided(table(blobs), change, way), np.asarray(blobs.tasks)


def with_tasks(blobs, change, way):
    """As `framed`, with the tasks as a column of the frame."""
    return divided(table(blobs).assign(place=np.array(["north", "south", "west"])[blobs.tasks]), change, way)


def by_column(blobs, change, way):
    return with_tasks(blobs, change, way), "place"


def by_series(blobs, change, way):
    there = with_tasks(blobs, change, way)
    return there.drop(columns="place"), there["place"]


def as_dict(blobs, change, way):
    return {"a": dd_of().from_pandas(table(blobs), npartitions=2), "b": divided(table(blobs), change, way)}, None


def as_other_dict(blobs, change, way):
    """Data sets whose columns are matched by name."""
    other = table(blobs)[[f"x{j}" for j in reversed(range(6))]]
    return {"a": dd_of().from_pandas(other, npartitions=2), "b": divided(table(blobs), change, way)}, None


GIVEN = {"column": by_column, "series": by_series, "array": framed, "dict": as_dict, "other dict": as_other_dict}


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


def repeated(part, name="x1"):
    return pytest.importorskip("pandas").concat([part, part[[name]]], axis=1)


CHANGES = {
    "lacking": (lambda part: part.drop(columns="x1"), r"^partition 2 of X{} lacks the column\(s\) 'x1': "),
    "repeated": (repeated, r"^partition 2 of X{} has several columns named 'x1': "),
    "both": (lambda part: repeated(part).drop(columns="x2"), r"^partition 2 of X{} lacks the column\(s\) 'x2': "),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_wrong_in_a_partition_is_named(blobs, change, given, way):
    change, message = CHANGES[change]
    there, tasks = GIVEN[given](blobs, change, WAYS[way])
    with pytest.raises(ValueError, match=message.format(r"\['b'\]" if "dict" in given else "")):
        SPMTC(3, random_state=0).fit(there, tasks=tasks)


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("way", ["map", "delayed", "mapped"])  # else Dask refuses it, in its own words
def test_text_in_a_partition_is_named(blobs, given, way):
    there, tasks = GIVEN[given](blobs, with_text, WAYS[way])
    with pytest.raises(ValueError, match=r"partition 2 of X.* holds what is no number in column 'x1'"):
        SPMTC(3, random_state=0).fit(there, tasks=tasks)


@pytest.mark.parametrize("given", ["column", "series"])
@pytest.mark.parametrize("way", ["map", "delayed", "mapped"])
def test_what_is_wrong_with_the_column_of_tasks_in_a_partition_is_named(blobs, given, way):
    for change, message in (
        (lambda part: part.drop(columns="place"), r"^partition 2 of tasks lacks the column\(s\) 'place': "),
        (lambda part: repeated(part, "place"), "^partition 2 of tasks has several columns named 'place': "),
    ):
        there, tasks = GIVEN[given](blobs, change, WAYS[way])
        with pytest.raises(ValueError, match=message):
            SPMTC(3, random_state=0).fit(there, tasks=tasks)


def test_text_in_a_partition_of_weights_is_named(blobs):
    there, tasks = framed(blobs, lambda part: part)
    wrong = divided(table(blobs).abs(), with_text, from_map)
    with pytest.raises(ValueError, match=r"^partition 2 of sample_weight holds what is no number: "):
        SPMTC(3, random_state=0).fit(there, tasks=tasks, sample_weight=wrong["x1"])


def test_columns_that_are_taken_from_a_partition_in_the_middle_of_a_computation_are_named(blobs):
    there, tasks = framed(blobs, lambda part: part.drop(columns="x1"))
    with pytest.raises(ValueError, match=r"^partition 2 of X lacks the column\(s\) 'x1': "):
        SPMTC(3, random_state=0).fit(there[["x0", "x1"]] * 2, tasks=tasks)


def test_other_errors_of_a_partition_stay_what_they_are(blobs):
    def fails(part):
        raise KeyError("x1")

    there, tasks = framed(blobs, lambda part: part)
    with pytest.raises(KeyError, match=r"^'x1'$"):
        SPMTC(3, random_state=0).fit(there.map_partitions(fails, meta=there._meta)[["x0", "x1"]], tasks=tasks)


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("way", WAYS)
def test_however_a_frame_is_made_it_is_fitted(blobs, given, way):
    there, tasks = GIVEN[given](blobs, lambda part: part, WAYS[way])
    found = SPMTC(3, random_state=0).fit(there, tasks=tasks)
    plain, tasks = GIVEN[given](blobs, lambda part: part, from_plain)
    assert_array_equal(found.labels_.compute(), SPMTC(3, random_state=0).fit(plain, tasks=tasks).labels_.compute())


def from_plain(parts, meta):
    return dd_of().from_pandas(pytest.importorskip("pandas").concat(parts), npartitions=4)


@pytest.mark.parametrize("lengths", [None, [30] * 4], ids=["unknown", "known"])
def test_arrays_of_frames_of_delayed_partitions_are_fitted(blobs, lengths):
    """Dask itself cannot compute them."""
    there, tasks = framed(blobs, lambda part: part, from_delayed)
    labels = divided(table(blobs).assign(task=tasks), lambda part: part, from_delayed)["task"]
    found = SPMTC(3, random_state=0).fit(there.to_dask_array(lengths), tasks=labels.to_dask_array(lengths))
    assert_array_equal(found.labels_.compute(), SPMTC(3, random_state=0).fit(blobs.X, tasks=tasks).labels_)


def test_the_partition_of_a_missing_task_is_named(blobs):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    there, tasks = framed(blobs, lambda part: part)
    names = pd.Series(tasks.astype(object))
    names.iloc[-3] = None
    with pytest.raises(ValueError, match=r"missing label at row .*Rows are counted in partition 3"):
        SPMTC(3, random_state=0).fit(there, tasks=dd.from_pandas(names, npartitions=4))
