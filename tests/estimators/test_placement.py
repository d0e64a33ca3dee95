"""Rows of tasks that were not in fit: they are placed as `adapt` does, or by the shared centres if they are few."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mtcluster import ASI, LSSMTC, SPMTC
from mtcluster.datasets import make_multitask_blobs
from mtcluster.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def blobs():
    return make_multitask_blobs([40, 30, 50], 6, n_tasks=3, n_clusters=4, separation=9, task_shift=2, random_state=0)


@pytest.fixture(scope="module", params=["mean", "scale"])
def placed(request, blobs):
    """A model of tasks that lie apart."""
    model = SPMTC(4, within_weight=0.5, task_offset=request.param, n_init=1, random_state=0)
    return model.fit(blobs.X, tasks=blobs.tasks)


@pytest.fixture(scope="module")
def plain(blobs):
    return LSSMTC(4, within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks)


def told(call):
    """What a call returns, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    return found, [str(warning.message) for warning in caught]


def test_rows_of_known_tasks_get_their_labels_again_without_a_word(placed, plain, blobs):
    for model in (placed, plain):
        found, notes = told(lambda model=model: model.predict(blobs.X, tasks=blobs.tasks))
        assert_array_equal(found, model.labels_)
        assert notes == []


@pytest.mark.parametrize("shift", [0.0, 300.0])
def test_a_new_task_is_placed_by_its_mean_wherever_it_lies(placed, blobs, shift):
    X, y = blobs.X[blobs.tasks == 2], blobs.y[blobs.tasks == 2]
    found, notes = told(lambda: placed.predict(X + shift, tasks=["new"] * len(X)))
    assert clustering_accuracy(y, found) > 0.9
    [note] = notes
    assert note.startswith("tasks holds 'new', not in fit.")
    assert note.endswith("Where 'new' lies, and what it holds, was estimated from its rows.")


def test_where_a_new_task_lies_does_not_matter_for_its_losses(placed, blobs):
    X = blobs.X[blobs.tasks == 0]
    with pytest.warns(UserWarning, match="not in fit"):
        here = placed.score_samples(X, tasks=["new"] * len(X))
    with pytest.warns(UserWarning, match="not in fit"):
        there = placed.score_samples(X - 50, tasks=["new"] * len(X))
    assert_allclose(here, there, rtol=1e-3, atol=1e-3)  # the smaller offset is a little more likely


def test_a_new_task_of_few_rows_is_taken_to_lie_in_the_middle(placed, blobs):
    X = blobs.X[blobs.tasks == 0][:19]  # 5 rows per cluster would be 20
    found, notes = told(lambda: placed.predict(X, tasks=["new"] * 19, novelty="none"))
    assert "'new' has too few rows to tell where it lies: the shared centres decide about them." in notes[0]
    shared = placed.fitted_.centers.M @ placed.fitted_.centers.W.T
    nearest = ((X[:, None] - shared) ** 2).sum(axis=2).argmin(axis=1)
    assert_array_equal(found, nearest)
    _, enough = told(lambda: placed.predict(blobs.X[:20], tasks=["new"] * 20))
    assert "Where 'new' lies, and what it holds, was estimated" in enough[0]


def test_a_number_against_its_text_is_the_usual_cause_and_is_told(plain, blobs):
    _, [note] = told(lambda: plain.predict(blobs.X, tasks=blobs.tasks.astype(str)))
    assert "fit knows 0 (int), and '0' is a str: if they are the same, give both as one type." in note


def test_rows_without_tasks_are_those_of_a_task_in_the_middle_and_nothing_is_said(plain, placed, blobs):
    for model in (plain, placed):
        found, notes = told(lambda model=model: model.predict(blobs.X))
        shared = model.fitted_.centers.M @ model.fitted_.centers.W.T
        assert_array_equal(found, ((blobs.X[:, None] - shared) ** 2).sum(axis=2).argmin(axis=1))
        assert notes == []


def test_known_and_new_tasks_do_not_disturb_each_other(placed, blobs):
    mixed = np.where(blobs.tasks == 1, 9, blobs.tasks)
    with pytest.warns(UserWarning, match="not in fit"):
        found = placed.predict(blobs.X, tasks=mixed)
    known = blobs.tasks != 1
    assert_array_equal(found[known], placed.labels_[known])
    with pytest.warns(UserWarning, match="not in fit"):
        alone = placed.predict(blobs.X[~known], tasks=mixed[~known])
    assert_array_equal(found[~known], alone)


def test_a_dict_of_tasks_is_read_by_its_keys(placed, blobs):
    parts = {key: blobs.X[blobs.tasks == k] for k, key in ((2, 2), (0, "new"))}
    found, notes = told(lambda: placed.predict(parts))
    assert_array_equal(found[:50], placed.labels_[blobs.tasks == 2])
    assert len(found) == 90
    assert "'new'" in notes[0]
    with pytest.warns(UserWarning, match="not in fit"):
        alone = placed.predict(parts["new"], tasks=["new"] * 40)
    assert_array_equal(found[50:], alone)


def test_many_new_tasks_are_named_in_part(plain, blobs):
    _, [note] = told(lambda: plain.predict(blobs.X, tasks=np.arange(len(blobs.X)) % 12 + 100))
    assert "100, 101, 102, 103, 104, 105, 106, 107, …, not in fit" in note


def test_one_task_in_fit_is_the_task_of_rows_without_a_name(blobs):
    model = LSSMTC(4, within_weight=0.5, random_state=0).fit(blobs.X)
    assert_array_equal(model.predict(blobs.X), model.labels_)
    pooled = ASI(4, n_init=1, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    found, notes = told(lambda: pooled.predict(blobs.X, tasks=["anything"] * len(blobs.X)))
    assert_array_equal(found, pooled.labels_)
    assert notes == []


@pytest.mark.parametrize("shift", [0.0, 40.0])
def test_a_new_task_is_placed_also_where_every_task_was_left_alone(blobs, shift):
    """The sizes that weigh the middle must not add up to nothing."""
    X = blobs.X + shift * blobs.tasks[:, None]
    model = SPMTC(4, within_weight=1.0, task_offset="mean", metric="euclidean", random_state=0)
    model.fit(X, tasks=blobs.tasks)
    assert_array_equal(model.fitted_.within_weight, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        scores = model.score_samples(X[blobs.tasks == 2], tasks=["new"] * 50)
        labels = model.predict(X[blobs.tasks == 2], tasks=["new"] * 50)
    assert np.isfinite(scores).all()
    assert set(labels) <= set(range(-1, 4))


def test_proportions_and_scores_of_new_tasks_agree_with_labels(placed, blobs):
    new = ["new"] * len(blobs.X)
    with pytest.warns(UserWarning, match="not in fit"):
        labels = placed.predict(blobs.X, tasks=new, novelty="none")
    with pytest.warns(UserWarning, match="not in fit"):
        memberships = placed.predict_proba(blobs.X, tasks=new)
    with pytest.warns(UserWarning, match="not in fit"):
        score = placed.score(blobs.X, tasks=new)
    with pytest.warns(UserWarning, match="not in fit"):
        scores = placed.score_samples(blobs.X, tasks=new)
    assert_array_equal(memberships.argmax(axis=1), labels)
    assert score == pytest.approx(scores.mean())


@pytest.mark.dask
def test_new_tasks_in_chunks_are_placed_as_in_memory(placed, blobs):
    da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'mtcluster[dask]'")
    mixed = np.where(blobs.tasks == 1, "new", blobs.tasks.astype(str)).astype(object)
    mixed[blobs.tasks != 1] = blobs.tasks[blobs.tasks != 1]
    here, notes = told(lambda: placed.predict(blobs.X, tasks=mixed.tolist()))
    there, same = told(lambda: placed.predict(da.from_array(blobs.X, chunks=(50, -1)), tasks=mixed.tolist()))
    assert_array_equal(there.compute(), here)
    assert same == notes


@pytest.mark.parametrize("known", [True, False])
def test_a_new_task_of_which_no_row_has_a_value(known, blobs):
    X, _, tasks = blobs
    model = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    rows, names = (
        (np.r_[X[:3], np.full((2, 6), np.nan)], [*tasks[:3], 9, 9]) if known else (np.full((2, 6), np.nan), [9, 9])
    )
    with pytest.warns(UserWarning, match="2 row"):
        labels = model.predict(rows, tasks=names)
    assert labels[-2:].tolist() == [-1, -1]
    np.testing.assert_array_equal(labels[:-2], model.labels_[: len(labels) - 2])
    with pytest.warns(UserWarning, match="not in fit"):
        assert np.isfinite(model.predict_proba(rows, tasks=names)).all()
    with pytest.warns(UserWarning, match="not in fit"):
        assert np.isfinite(model.score_samples(rows, tasks=names)).all()
    with pytest.raises(ValueError, match=r"no value in any of the 2 row\(s\) of task 9"):
        model.adapt(rows[-2:], tasks=names[-2:])
