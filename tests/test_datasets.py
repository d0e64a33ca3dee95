"""Task sets: what is promised is in them, and damaged files are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mtcluster.datasets import load_digits_tasks, load_task_set, make_multitask_blobs


def test_blobs_are_repeatable_and_of_the_asked_shape():
    a = make_multitask_blobs([20, 30], 5, n_tasks=2, n_clusters=3, random_state=1)
    b = make_multitask_blobs([20, 30], 5, n_tasks=2, n_clusters=3, random_state=1)
    assert a.X.shape == (50, 5)
    assert_array_equal(a.X, b.X)
    assert np.bincount(a.tasks).tolist() == [20, 30]
    assert a.n_classes == 3
    for k in range(2):
        assert set(a.y[a.tasks == k]) == {0, 1, 2}


def test_blobs_share_their_clusters_up_to_the_shift():
    near = make_multitask_blobs(500, 5, n_tasks=2, n_clusters=3, task_shift=0, cluster_std=0.01, random_state=0)
    means = [[near.X[(near.tasks == k) & (near.y == j)].mean(axis=0) for j in range(3)] for k in range(2)]
    assert_allclose(means[0], means[1], atol=0.01)


def test_outliers_are_far_and_marked():
    blobs = make_multitask_blobs(100, n_clusters=3, outliers=0.1, random_state=0)
    strange = blobs.y == -1
    assert strange.sum() == 30
    assert blobs.n_classes == 3
    norms = np.linalg.norm(blobs.X - blobs.X[~strange].mean(axis=0), axis=1)
    assert norms[strange].min() > norms[~strange].max()


def test_unbalanced_clusters_have_unequal_sizes():
    blobs = make_multitask_blobs(1000, n_tasks=1, n_clusters=3, balance=0.3, random_state=0)
    sizes = np.sort(np.bincount(blobs.y))
    assert sizes[0] < 0.2 * sizes[-1]


def test_blobs_of_a_seed_stay_what_they_were():
    """Values of version 0.1."""
    plain = make_multitask_blobs(random_state=0)
    assert_allclose(plain.X[:2, :3], [[1.06379167, -0.266586, 1.01984345], [-3.1343029, 1.34031826, 0.28977225]])
    assert plain.y[:12].tolist() == [0, 2, 2, 3, 2, 2, 1, 3, 2, 3, 0, 1]
    assert plain.tasks[:12].tolist() == [1, 2, 0, 0, 2, 1, 0, 0, 2, 2, 1, 2]
    more = make_multitask_blobs([20, 30, 40], n_clusters=5, balance=0.5, outliers=0.2, task_shift=2.0, random_state=3)
    assert_allclose([more.X.sum(), more.X[5, 2]], [-371.06302616575476, -1.6555477151846272])
    assert more.y[:15].tolist() == [2, 3, 1, 3, 3, 3, -1, 0, 2, -1, 3, -1, 4, 3, 3]


@pytest.mark.parametrize(("absent", "kept"), [(0.0, 6), (0.2, 5), (0.4, 4), (0.6, 2), (0.75, 2)])
def test_each_task_lacks_its_share_and_each_cluster_is_somewhere(absent, kept):
    for seed in range(20):
        _, y, tasks = make_multitask_blobs(30, 3, n_tasks=4, n_clusters=6, absent=absent, random_state=seed)
        held = [set(y[tasks == k].tolist()) for k in range(4)]
        assert [len(own) for own in held] == [kept] * 4
        assert set.union(*held) == set(range(6))


def test_which_clusters_a_task_lacks_differs_between_tasks_and_seeds():
    drawn = set()
    for seed in range(30):
        _, y, tasks = make_multitask_blobs(30, 3, n_tasks=2, n_clusters=3, absent=0.3, random_state=seed)
        drawn |= {(k, *sorted(set(y[tasks == k].tolist()))) for k in range(2)}
    assert drawn == {(k, *pair) for k in range(2) for pair in [(0, 1), (0, 2), (1, 2)]}


def test_the_offset_shifts_whole_tasks_by_its_length():
    options = {"n_samples": 50, "n_features": 7, "cluster_std": 1e-6, "task_shift": 0.0, "random_state": 4}
    still, moved, further = (make_multitask_blobs(**options, offset=offset) for offset in (0.0, 1.0, 2.0))
    assert_array_equal(still.y, moved.y)
    shifts = moved.X - still.X
    centers = np.stack([still.X[still.y == j].mean(axis=0) for j in range(4)])
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(centers) for b in centers[:i]]
    for k in range(3):
        own = shifts[still.tasks == k]
        assert_allclose(own, own[:1].repeat(len(own), axis=0), atol=1e-12)
        assert_allclose(np.linalg.norm(own[0]), np.mean(pairs), rtol=1e-5)
    assert_allclose(further.X - still.X, 2 * shifts, atol=1e-12)


def test_features_are_correlated_and_unequal_as_asked():
    scales = [0.1, 1.0, 10.0]
    blobs = make_multitask_blobs(
        20_000, 3, n_tasks=1, n_clusters=1, correlation=0.6, scales=scales, cluster_std=2.0, random_state=0
    )
    assert_allclose(np.corrcoef(blobs.X.T), np.where(np.eye(3), 1, 0.6), atol=0.02)
    assert_allclose(blobs.X.std(axis=0), 2 * np.array(scales), rtol=0.02)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"absent": 1.0}, r"absent=1.0 should be in \[0, 1\)"),
        ({"absent": -0.1}, r"absent=-0.1 should be in \[0, 1\)"),
        ({"absent": 0.7, "n_clusters": 10}, r"absent=0.7 leaves 3 of n_clusters=10 .* at most 0.60 is needed"),
        ({"offset": -1}, "offset=-1 should be at least 0"),
        ({"offset": float("nan")}, "offset=nan should be at least 0"),
        ({"correlation": 1}, r"correlation=1 should be in \[0, 1\)"),
        ({"scales": [1.0, 2.0]}, "should hold n_features=10 positive numbers"),
        ({"scales": [0.0] * 10}, "should hold n_features=10 positive numbers"),
        ({"n_samples": [10, 10], "n_tasks": 3}, "n_samples has 2 entries, but n_tasks=3"),
        ({"n_samples": 2}, "at least 4, the number of clusters of a task"),
        ({"n_clusters": 0}, "n_clusters=0 should be at least 1"),
        ({"n_samples": 10.5}, "should be whole"),
        ({"n_features": 0}, "n_features=0 should be at least 1"),
        ({"cluster_std": -1}, "cluster_std=-1"),
        ({"balance": 0}, "balance=0 should be in"),
        ({"outliers": 1.0}, r"outliers=1.0 should be in \[0, 1\)"),
    ],
)
def test_impossible_blobs_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        make_multitask_blobs(**parameters)


def test_digits_are_three_tasks_of_the_same_classes():
    digits = load_digits_tasks()
    X, y, tasks = digits
    assert X.shape == (1797, 64)
    assert X.min() >= 0
    assert X.max() <= 1
    assert sorted(set(tasks)) == ["blurred", "plain", "slanted"]
    for task in set(tasks):
        assert set(y[tasks == task]) == set(range(10))
    assert len(digits.feature_names) == 64


def test_the_slant_of_the_digits_changes_one_task_alone():
    mild, strong = load_digits_tasks(), load_digits_tasks(slant=0.35)
    changed = np.any(mild.X != strong.X, axis=1)
    assert set(mild.tasks[changed]) == {"slanted"}


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


def dense_arrays():
    return {
        "task1_X": np.eye(3),
        "task1_y": np.arange(3),
        "task2_X": np.ones((2, 3)),
        "task2_y": np.zeros(2, dtype=int),
    }


def sparse_arrays():
    X = sparse.csr_matrix(np.eye(3))
    return {
        "task1_data": X.data,
        "task1_indices": X.indices,
        "task1_indptr": X.indptr,
        "task1_shape": X.shape,
        "task1_y": np.arange(3),
    }


def test_a_dense_task_set_is_read(tmp_path):
    path = save(tmp_path / "mine.npz", **dense_arrays(), task_names=["left", "right"], class_names=["p", "q", "r"])
    loaded = load_task_set("mine", data_home=tmp_path)
    assert loaded.name == "mine"
    assert loaded.tasks.tolist() == ["left"] * 3 + ["right"] * 2
    assert loaded.class_names == ["p", "q", "r"]
    assert_array_equal(loaded.X, np.vstack([np.eye(3), np.ones((2, 3))]))
    assert_array_equal(load_task_set(path).y, [0, 1, 2, 0, 0])
    assert load_task_set("mine.npz", data_home=tmp_path).name == "mine"


def test_a_sparse_task_set_is_read_as_floats_and_stays_sparse(tmp_path):
    arrays = sparse_arrays()
    arrays["task1_data"] = arrays["task1_data"].astype(np.uint8)
    loaded = load_task_set(save(tmp_path / "s.npz", **arrays))
    assert sparse.issparse(loaded.X)
    assert loaded.X.dtype.kind == "f"
    assert loaded.tasks.tolist() == ["1"] * 3


def test_classes_that_are_not_known_are_minus_1(tmp_path):
    arrays = dense_arrays()
    del arrays["task1_y"]
    assert_array_equal(load_task_set(save(tmp_path / "half.npz", **arrays)).y, [-1, -1, -1, 0, 0])


def test_the_data_folder_comes_from_the_environment(tmp_path, monkeypatch):
    save(tmp_path / "here.npz", **dense_arrays())
    monkeypatch.setenv("MTCLUSTER_DATA", str(tmp_path))
    assert load_task_set("here").name == "here"


def test_a_set_that_is_not_there_says_what_is(tmp_path):
    save(tmp_path / "other.npz", **dense_arrays())
    with pytest.raises(
        FileNotFoundError, match=r"There is no task set 'mine' in .* which holds other. .*MTCLUSTER_DATA"
    ):
        load_task_set("mine", data_home=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nowhere.npz"):
        load_task_set(tmp_path / "nowhere.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict.fromkeys(dense_arrays()), "is not a task set: it needs arrays task1_X"),
        ({"task1_X": None, "task1_y": None}, "it has neither task1_X nor task1_data"),
        ({"task2_X": None}, "it has neither task2_X nor task2_data"),
        ({"task2_X": np.ones((2, 4))}, "is damaged: task 2 has rows of shape"),
        ({"task2_y": np.zeros(5)}, "is damaged: task 2 has rows of shape"),
        ({"task2_X": np.full((2, 3), np.inf)}, "is damaged: task 2 holds infinity"),
        ({"task2_X": np.ones(3)}, "task2_X has shape"),
        ({"task_names": ["a", "a"]}, "it has 2 tasks and the task_names"),
        ({"task1_X": np.array([[{}]], dtype=object)}, "cannot be read as an .npz file without pickled objects"),
    ],
)
def test_a_damaged_task_set_is_refused(tmp_path, change, message):
    arrays = {**dense_arrays(), **change}
    with pytest.raises(ValueError, match=message):
        load_task_set(save(tmp_path / "bad.npz", **{k: v for k, v in arrays.items() if v is not None}))


@pytest.mark.parametrize("part", ["indices", "indptr", "shape"])
def test_csr_parts_that_do_not_fit_together_are_refused(tmp_path, part):
    arrays = sparse_arrays()
    arrays[f"task1_{part}"] = np.asarray(arrays[f"task1_{part}"]) + 7
    with pytest.raises(ValueError, match="is damaged"):
        load_task_set(save(tmp_path / "bad.npz", **arrays))


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ValueError, match=r"cannot be read as an .npz file"):
        load_task_set(tmp_path / "text.npz")
    whole = save(tmp_path / "whole.npz", **dense_arrays()).read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"cannot be read as an .npz file"):
        load_task_set(tmp_path / "half.npz")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "features", "classes"),
    [
        ("comp_vs_sci", [1875, 1827], 2000, 2),
        ("webkb", [226, 252, 255, 307], 2500, 4),
        ("mnist_usps", [2000, 1800], 256, 10),
    ],
)
def test_the_papers_sets_have_the_papers_sizes(task_set, name, sizes, features, classes):
    loaded = task_set(name)
    _, first = np.unique(loaded.tasks, return_index=True)
    assert np.diff([*sorted(first), len(loaded.tasks)]).tolist() == sizes
    assert loaded.X.shape[1] == features
    assert loaded.n_classes == classes


def test_dense_tasks_of_a_file_may_have_gaps_and_sparse_ones_not(tmp_path):
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    np.savez(tmp_path / "gaps.npz", task1_X=X, task2_X=X)
    np.testing.assert_array_equal(load_task_set(tmp_path / "gaps.npz").X, np.vstack([X, X]))
    parts = sparse.csr_matrix(X)
    arrays = {name: getattr(parts, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "thin.npz", **{f"task1_{name}": value for name, value in arrays.items()})
    with pytest.raises(ValueError, match="task 1 is sparse and holds NaN"):
        load_task_set(tmp_path / "thin.npz")


def test_characters_that_do_not_exist_are_refused(tmp_path):
    names = np.array(["a", "b"])
    names.view(np.uint32)[0] = 0x7F000041
    np.savez(tmp_path / "odd.npz", task1_X=np.eye(3), task2_X=np.eye(3), task_names=names)
    with pytest.raises(ValueError, match=r"odd\.npz is damaged: task_names holds characters that do not exist"):
        load_task_set(tmp_path / "odd.npz")
