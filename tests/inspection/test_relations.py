"""Relations of clusters and tasks: the table follows from the fitted attributes, and says what is in the data."""

import os

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from mtcluster import ASI, LSSMTC, SPMTC, Pooled
from mtcluster.datasets import load_task_set, make_multitask_blobs
from mtcluster.inspection import LabelDescription, relations
from mtcluster.inspection._relations import relation_sentences, relation_words
from mtcluster.inspection._subject import subject_of

from ..changed import altered

TRUE = np.array([[True, True, False], [True, False, True], [True, True, False]])


def described(**changes):
    """A model of three tasks and three clusters, the last one in the second task alone; with other values."""
    tasks, labels = np.repeat(np.argwhere(TRUE), 20, axis=0).T
    model = LabelDescription().fit(labels[:, None], labels, tasks=np.array(["a", "b", "c"])[tasks])
    values = {"support": np.where(TRUE, 0.9, 0.1)} | changes
    return altered(subject_of(model, "a test"), fitted=altered(model.fitted_, **values))


def said(**changes):
    return relation_sentences(described(**changes), ["task 'a'", "task 'b'", "task 'c'"])


def test_a_cluster_is_shared_private_or_absent():
    words = [["shared", "shared", "absent"], ["shared", "absent", "private"], ["shared", "shared", "absent"]]
    assert relation_words(described().fitted).tolist() == words
    assert said() == [
        "Present in every task: cluster 0.",
        "Private to task 'b': cluster 2 (20 rows); no other task holds it.",
        "Absent: cluster 2 in task 'a'; cluster 1 in task 'b'; cluster 2 in task 'c'.",
    ]


@pytest.mark.parametrize(
    ("support", "present", "word"),
    [(0.61, True, "shared"), (0.59, True, "uncertain"), (0.2, True, "uncertain"), (0.41, False, "uncertain"),
     (0.39, False, "absent"), (0.8, False, "uncertain")],
)  # fmt: skip
def test_support_near_one_half_or_against_what_was_decided_is_uncertain(support, present, word):
    supports, holds = np.where(TRUE, 0.9, 0.1), TRUE.copy()
    supports[0, 0], holds[0, 0] = support, present
    assert relation_words(described(support=supports, holds=holds).fitted)[0, 0] == word


def test_uncertain_clusters_are_told_with_what_was_decided():
    support = np.where(TRUE, 0.9, 0.1)
    support[0, 1], support[2, 2] = 0.55, 0.45
    lines = said(support=support)
    assert (
        "Uncertain: cluster 1 (held, support 0.55) in task 'a'; cluster 2 (not held, support 0.45) in task 'c'."
        in lines
    )


def test_clusters_of_a_task_that_was_left_alone_are_its_own():
    words = relation_words(described(within=np.array([0.0, 1.0, 0.0])).fitted)
    assert words[1].tolist() == ["own", "absent", "own"]
    assert words[0].tolist() == ["shared", "shared", "absent"]
    assert said(within=np.ones(3)) == []


def test_every_cluster_in_every_task_is_one_sentence():
    everywhere = {"holds": np.ones((3, 3), bool), "support": np.ones((3, 3)), "sizes": np.full((3, 3), 5.0)}
    assert said(**everywhere) == ["Every cluster is present in every task."]
    lines = said(**everywhere, within=np.array([0, 0, 1.0]))
    assert lines == ["Every cluster is present in every task that shares."]


def test_clusters_without_rows_are_told_apart_from_absent_ones():
    present, sizes = TRUE.copy(), np.where(TRUE, 20.0, 0.0)
    present[:, 2], sizes[:, 2] = False, 0
    lines = said(holds=present, sizes=sizes)
    assert lines[-1] == "Without rows in any task: cluster 2. The data may hold fewer groups."
    assert "Absent: cluster 1 in task 'b'." in lines


def test_location_is_not_told_from_composition_with_fewer_than_two_common_clusters():
    assert not any("Fewer than two" in line for line in said())
    lines = said(task_offset="matched")
    told = (
        "Fewer than two clusters in common with the other tasks: task 'b'. Where such a task lies cannot be told from"
    )
    assert lines[-1] == f"{told} what it holds, and the smaller offset was taken."


@pytest.fixture(scope="module")
def lacking():
    """Two tasks; the second lacks the third cluster."""
    X, y, tasks = make_multitask_blobs(n_tasks=2, n_clusters=3, separation=9, random_state=0)
    kept = (tasks == 0) | (y != 2)
    return X[kept], y[kept], np.array(["left", "right"])[tasks[kept]]


@pytest.mark.parametrize("estimator", [SPMTC(3, random_state=0), LSSMTC(3, random_state=0)])
def test_a_cluster_of_one_task_alone_is_private(lacking, estimator):
    X, y, tasks = lacking
    model = estimator.fit(X, tasks=tasks)
    found = model.relations()
    private = int(np.bincount(model.labels_[y == 2]).argmax())
    frame = found.to_frame().set_index(["cluster", "task"])
    assert frame.loc[(private, "left"), "relation"] == "private"
    assert frame.loc[(private, "right"), "relation"] == "absent"
    assert frame.loc[(private, "right"), "rows"] == 0
    assert (frame["relation"] == "shared").sum() == 4
    assert frame["rows"].sum() == len(X)
    assert any(line.startswith("Private to task 'left'") for line in found.sentences)
    assert len(found.rows()) == 6
    text = str(found)
    assert text.splitlines()[0].split() == ["cluster", "left", "right"]
    assert "private" in text
    assert found.sentences[-1] in text


def test_labels_of_other_clusterers_have_relations(lacking):
    X, y, tasks = lacking
    found = relations(LabelDescription().fit(X, y, tasks=tasks))
    assert [row["relation"] for row in found.rows() if row["cluster"] == 2] == ["private", "absent"]


def test_one_task_has_its_own_clusters(blobs):
    found = ASI(4, random_state=0).fit(blobs.X, tasks=blobs.tasks).relations()
    assert set(found.table["relation"]) == {"own"}
    assert found.sentences == []
    assert "own, " in str(found)


def test_many_tasks_are_rows_of_what_is_printed():
    X, _, tasks = make_multitask_blobs(40, 4, n_tasks=5, n_clusters=2, separation=9, random_state=0)
    lines = str(SPMTC(2, random_state=0).fit(X, tasks=tasks).relations()).splitlines()
    assert lines[0].split() == ["task", "cluster", "0", "cluster", "1"]
    assert len(lines) == 7


def test_what_has_no_relations_is_refused(blobs):
    with pytest.raises(NotFittedError):
        SPMTC(4).relations()
    with pytest.raises(TypeError, match=r"relations needs a fitted SPMTC, LSSMTC or ASI; got Pooled.*LabelDescription"):
        relations(Pooled(KMeans(4, random_state=0)).fit(blobs.X, tasks=blobs.tasks))


@pytest.mark.parametrize("seed", range(4))
def test_generated_tasks_that_lack_clusters_are_seen_as_they_are(seed):
    X, y, tasks = make_multitask_blobs(150, n_tasks=4, n_clusters=6, absent=0.4, offset=1, random_state=seed)
    c = len(np.unique(y))
    y = np.unique(y, return_inverse=True)[1]
    model = SPMTC(c, random_state=0).fit(X, tasks=tasks)
    true = np.array([[np.any((tasks == k) & (y == j)) for j in range(c)] for k in range(4)])
    order = [np.bincount(model.labels_[y == j], minlength=c).argmax() for j in range(c)]
    assert sorted(order) == list(range(c))
    np.testing.assert_array_equal(model.cluster_presence_[:, order], true)
    words = relation_words(model.fitted_)[:, order]
    np.testing.assert_array_equal(words == "absent", ~true)
    np.testing.assert_array_equal(words == "private", true & (true.sum(axis=0) == 1))


@pytest.mark.data
def test_penguins_are_where_they_live():
    folder = os.environ.get("MTCLUSTER_DATA")
    if not folder:
        pytest.skip("MTCLUSTER_DATA names no folder with task sets")
    found = load_task_set("penguins_island", folder)
    X, y, tasks = found.X, found.y, found.tasks
    model = SPMTC(3, random_state=0).fit(X, tasks=tasks)
    species = np.unique(y, return_inverse=True)[1]
    order = [np.bincount(model.labels_[species == j], minlength=3).argmax() for j in range(3)]
    islands = model.tasks_.tolist()
    true = np.array([[np.any((np.asarray(tasks) == k) & (species == j)) for j in range(3)] for k in islands])
    np.testing.assert_array_equal(model.cluster_presence_[:, order], true)
    assert sorted(model.relations().table["relation"]) == ["absent"] * 4 + ["private"] * 2 + ["shared"] * 3
    assert sum(line.startswith("Private to") for line in model.relations().sentences) == 2
