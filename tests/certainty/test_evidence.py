"""The evidence: the same for a setting whatever others there are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mtcluster.certainty import gather
from mtcluster.certainty.bases import find_bases
from mtcluster.certainty.evidence import reference_values
from tests.certainty.tools import blobs, by_task, setting, view

TASKS = np.arange(150) % 3


@pytest.fixture(params=[True, False], ids=["measured", "plain"])
def seen(request):
    X, y = blobs([[0, 0, 0], [4, 0, 0], [0, 4, 0]], 50)
    return view(X, TASKS, measured=request.param), y


def test_clusters_that_are_found_again_everywhere():
    X, y = blobs([[0, 0], [12, 0], [0, 12]], 50)
    [found] = gather(view(X, TASKS), [setting(by_task(y, TASKS), 3)], 4, 5, 2, seed=0)
    assert found.overall == found.across == found.plain == 1
    assert_array_equal(found.cluster_stability, 1)
    assert_array_equal(found.cell_stability, np.ones((3, 3)))
    assert_array_equal(found.halves, [True] * 4 + [False] * 3)
    assert found.reference.shape == (5,)
    assert found.reference.max() < 1


def test_what_is_found_for_a_setting_does_not_depend_on_the_others(seen):
    rows, y = seen
    settings = [setting(by_task(labels, TASKS), c, dimensions=3) for labels, c in ((y, 3), (np.minimum(y, 1), 2))]
    settings.append(setting(by_task(np.arange(150) % 7, TASKS), 7, dimensions=3))
    together, alone = gather(rows, settings, 4, 2, 2, seed=0), gather(rows, settings[:1], 4, 2, 2, seed=0)
    assert_array_equal(together[0].fits.labels, alone[0].fits.labels)
    assert_array_equal(together[0].counts, alone[0].counts)
    assert_array_equal(together[0].reference, alone[0].reference)
    assert together[0].plain == alone[0].plain


def test_a_base_depends_on_its_number_and_the_seed_alone(seen):
    rows, _ = seen
    first, second = find_bases(rows, [3], 0)[0], find_bases(rows, [2, 3, 5], 0)[1]
    assert first.n_clusters == 3
    for a, b in zip(first.labels, second.labels, strict=True):
        assert_array_equal(a, b)
    assert first.value == second.value
    assert first.holds.shape == (3, 3)


@pytest.mark.parametrize("measured", [True, False])
def test_the_base_of_clusters_far_apart_is_these(measured):
    X, y = blobs([[0, 0], [12, 0], [0, 12]], 50)
    found = find_bases(view(X, TASKS, measured), [3], 0)[0]
    table = np.zeros((3, 3), dtype=int)
    np.add.at(table, (np.concatenate(found.labels), np.concatenate(by_task(y, TASKS))), 1)
    assert_array_equal(np.sort(table, axis=None), [0] * 6 + [50] * 3)


def test_the_base_finds_offsets_and_absent_clusters():
    X, y = blobs([[0, 0], [12, 0], [0, 12]], 60)
    tasks = np.arange(180) % 2
    kept = (tasks == 0) | (y < 2)
    X, y, tasks = X[kept], y[kept], tasks[kept]
    found = find_bases(view(X + 30 * tasks[:, None], tasks), [3], 0)[0]
    assert found.offsets.any()
    assert found.holds.sum() == 5
    assert found.holds[0].all()


def test_a_single_cluster_in_common_cannot_be_predicted():
    X, y = blobs([[0, 0], [12, 0]], 50)
    given = setting([y, y[:50]], 2, present=[[1, 1], [1, 0]])
    [found] = gather(view(np.r_[X, X[:50]], np.repeat([0, 1], [100, 50])), [given], 2, 0, 2, seed=0)
    assert found.across is None


def test_data_without_clusters_are_drawn_anew_each_time():
    X, y = blobs([[0, 0], [2, 0]], 75)
    values = reference_values(view(X, TASKS), [setting(by_task(y, TASKS), 2)], 4, 2, seed=0)
    assert values.shape == (5, 1)
    assert len(np.unique(values[1:])) > 1
    assert np.all((values >= 0) & (values <= 1))


def test_one_cluster_is_always_found_again():
    X, _ = blobs([[0, 0]], 150)
    [found] = gather(view(X, TASKS), [setting(by_task(np.zeros(150, int), TASKS), 1)], 2, 2, 2, seed=0)
    assert found.overall == 1
    assert_array_equal(found.reference, 1)
    assert found.across is None
