"""Explanations: one sentence per decision, for every reason that a fit can record."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from mtcluster import ASI, LSSMTC, SPMTC, Pooled
from mtcluster.certainty import VERDICTS
from mtcluster.core.geometry import Tied
from mtcluster.inspection import _explanation, explain
from mtcluster.inspection._certainty import plain_stability
from mtcluster.inspection._subject import subject_of
from mtcluster.model_selection import stability
from mtcluster.search.decisions import Decisions, SearchEvidence

from ..changed import altered

EVIDENCE = SearchEvidence(
    n_candidates=42,
    n_rows=120,
    n_dimensions=5,
    n_distant_rows=0,
    smoothing=0.0,
    gain=2.5,
    centers=10.0,
    offsets=0.0,
    own=0.0,
    scaled=False,
    relatedness=np.array([0.7, -0.2, 0.6]),
    margins=np.full((3, 2), 30.0),
)
DECISIONS = Decisions(
    start="search",
    n_starts=1,
    coupling="reconstruction",
    membership="binary",
    membership_reason="default",
    within_weight_reason="evidence",
    task_offset="none",
    task_offset_reason="evidence",
    weighting="soft",
    full_weight_share=0.95,
    max_iter=1,
    warmup_iter=0,
    search=EVIDENCE,
)
PLAIN = replace(DECISIONS, within_weight_reason="set", task_offset_reason="fixed within_weight", search=None)


@pytest.fixture(scope="module")
def model():
    """A model of three tasks, to be given other decisions and values."""
    rng = np.random.default_rng(0)
    X, tasks = rng.normal(size=(120, 4)), np.array(["a", "b", "c"])[np.arange(120) % 3]
    return subject_of(LSSMTC(2, within_weight=0.5, random_state=0).fit(X, tasks=tasks), "a test")


ALIKE = np.array([[1, 0, 0.7], [0, 1, 0], [0.7, 0, 1]])  # two of three tasks are alike


def said(model, decisions=DECISIONS, **changes):
    """The explanation of these decisions; `changes` replace values of what was fitted."""
    told = _explanation.describe(replace(model, fitted=altered(model.fitted, **changes)), decisions)
    return "\n".join(line for lines in told.values() for line in lines)


def with_evidence(**changes):
    return replace(DECISIONS, search=replace(EVIDENCE, **changes))


@pytest.mark.parametrize(
    ("decisions", "sentence"),
    [
        (replace(DECISIONS, start="given"), "Start: the memberships given as init."),
        (
            replace(PLAIN, start="per-task and pooled", n_starts=6),
            "Start: per-task and pooled; of 6 starts, the fit with the lowest sum of losses was kept.",
        ),
        (replace(PLAIN, start="random"), "Start: random."),
        (
            DECISIONS,
            "Start: the most probable of 42 labellings of all 120 rows in 5 dimensions; it explains a row by 2.5 nats "
            "better than one cluster for all does.\n",
        ),
        (with_evidence(n_rows=50, n_dimensions=1), "of 50 of the 120 rows in 1 dimension;"),
        (with_evidence(smoothing=0.9), " Rows were moved towards their neighbours first, by 90 % of a step."),
        (with_evidence(n_distant_rows=3), " 3 rows far from all others did not count in it."),
        (with_evidence(n_distant_rows=1), " 1 row far from all others did not count in it."),
    ],
)
def test_every_start_has_its_sentence(model, decisions, sentence):
    assert sentence in said(model, decisions)


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("set", "Sharing: within_weight=0.5, as set."),
        ("one task", "Sharing: none, because there is one task."),
        ("coupling", "Sharing: within_weight=0.5 for all tasks; coupling='projection' allows one value only."),
    ],
)
def test_every_reason_for_sharing_has_its_sentence(model, reason, sentence):
    told = said(model, replace(DECISIONS, within_weight_reason=reason, coupling="projection"))
    assert sentence in told
    assert "Left alone" not in told


def test_sharing_by_evidence_names_tasks_with_their_relatedness(model):
    told = said(model, with_evidence(own=0.1), within=np.array([0.7, 1.0, 0.7]), relatedness=ALIKE)
    assert "within_weight 0.70, estimated: centres of tasks are drawn to the shared ones as by 10 rows, in" in told
    assert "tasks 'a' (relatedness 0.70) and 'c' (relatedness 0.70)." in told
    assert "Left alone: task 'b' (relatedness 0.00). The rows of such a task are more probable" in told
    assert "Relatedness is that to the most similar task, at most 1" in told
    assert "Left alone" not in said(model, within=np.full(3, 0.7))
    apart = said(model, within=np.ones(3))
    assert "Sharing" not in apart
    assert "Left alone: tasks 'a'" in apart
    assert "present in every task" not in apart


def test_an_estimator_without_a_within_task_term_says_nothing_of_sharing(model):
    told = said(model, replace(DECISIONS, within_weight_reason="none"))
    assert "Sharing" not in told
    assert "Task offsets" not in told


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"task_offset_reason": "set", "task_offset": "scale"}, "Task offsets: task_offset='scale', as set."),
        ({}, "Task offsets: none; the rows are more probable without them."),
        (
            {"task_offset": "matched"},
            "Task offsets: estimated from the clusters that tasks have in common; the rows are more probable if tasks "
            "lie apart. Task 'b' has the largest offset (5).",
        ),
        (
            {"task_offset": "matched", "search": replace(EVIDENCE, scaled=True)},
            "if tasks lie apart, and differ in the spread of their columns.",
        ),
        ({"task_offset_reason": "unit rows"}, "not removed, because all rows have the same length"),
        ({"task_offset_reason": "one task"}, "not removed, because there is one task."),
        (
            {"task_offset_reason": "fixed within_weight"},
            "not removed, because a number for within_weight gives the plain model.",
        ),
        (
            {"task_offset_reason": "unsupported"},
            "not removed, because only binary memberships with coupling='reconstruction' support offsets.",
        ),
    ],
)
def test_every_reason_for_offsets_has_its_sentence(model, changes, sentence):
    offsets = np.array([[0.0, 0, 0, 0], [3, 4, 0, 0], [1, 0, 0, 0]])
    assert sentence in said(model, replace(DECISIONS, **changes), centers__offsets__b=offsets)


def test_memberships_are_set_or_the_default(model):
    assert "Rows and clusters: Each row has one cluster" in said(model)
    by_user = replace(DECISIONS, membership="nonnegative", membership_reason="set")
    assert "(membership='nonnegative', as set)" in said(model, by_user)


def test_the_fit_says_its_stages_and_iterations(model):
    stages = {"rows__fractions": np.array([0.5, 0.75, 1.0]), "n_iter": 3}
    first = "Fit: 3 stages, from the easiest 50 % of the rows of each task to all rows, "
    assert f"{first}one iteration each: more would drift away from the start." in said(model, **stages)
    assert "At each stage the hardest 5 % of the selected rows have a smaller weight." in said(model, **stages)
    longer = said(model, replace(DECISIONS, full_weight_share=1.0), **stages | {"n_iter": 9})
    assert f"{first}9 iterations in total.\n" in longer
    once = said(model, rows__fractions=np.ones(1), n_iter=1)
    assert "Fit: all rows at once, one iteration: more would" in once
    drawn = said(model, replace(DECISIONS, start="random"), rows__fractions=np.ones(1), n_iter=1)
    assert "Fit: all rows at once, 1 iteration in total." in drawn


def test_relatedness_is_told_of_the_most_and_least_alike(model):
    R = np.array([[1, 0.9, 0.2], [0.9, 1, 0.4], [0.2, 0.4, 1]])
    told = said(model, relatedness=R)
    assert (
        "Relatedness: 1 of 3 pairs of tasks are alike (relatedness of 0.5 or more, of at most 1). It is highest for "
        "'a' and 'b' (0.90) and lowest for 'a' and 'c' (0.20)." in told
    )
    assert "Relatedness: All pairs of tasks are alike" in said(model, relatedness=np.ones((3, 3)))


@pytest.mark.parametrize(
    ("value", "words"), [(0.6, "alike: relatedness 0.60"), (0.498, "not alike: relatedness 0.498")]
)
def test_two_tasks_are_alike_or_not(model, value, words):
    two, R = replace(model, fitted=model.fitted.take("m", [0, 1])), np.array([[1, value], [value, 1]])
    told = said(two, replace(DECISIONS, within_weight_reason="set"), relatedness=R)
    assert f"Relatedness: The two tasks are {words} of 1." in told


def test_clusters_with_little_support_are_listed_for_tasks_that_share(model):
    support = np.array([[0.9, 0.2], [0.1, 0.9], [0.9, 0.9]])
    told = said(model, support=support, within=np.array([0.7, 1.0, 0.7]))
    assert "Uncertain: cluster 1 (held, support 0.20) in task 'a'." in told
    assert "Present in every task that shares: cluster 0." in told
    assert "Every cluster is present in every task." in said(model, support=np.ones((3, 2)))


def with_metric(**changes):
    """Decisions of a fit with a shared metric."""
    return replace(DECISIONS, metric="shared", metric_reason="default", **changes)


def test_a_shared_metric_and_shared_centres_are_told(model):
    told = said(model, with_metric(), within=np.zeros(3), relatedness=ALIKE)
    assert "Metric: shared by default. Distances are relative to the scatter within clusters" in told
    assert "within_weight=0, estimated: the shared centres alone describe tasks 'a' (relatedness 0.70)" in told


def test_the_largest_offset_is_in_widths_of_a_cluster_with_a_shared_metric(model):
    b = np.array([[0.0, 0, 0, 0], [3, 4, 0, 0], [9, 0, 0, 0]])
    matched, moved = with_metric(task_offset="matched"), {"centers__offsets__b": b, "within": np.zeros(3)}
    told = said(model, matched, **moved, centers__geometry=Tied.of(np.diag([100.0, 1, 1, 1])).take("R", 0))
    assert "Task 'b' has the largest offset (4.01 times the width of a cluster)." in told
    wide = Tied.of(np.array([[100.0]]), np.eye(4)[:, :1]).take("R", 0)
    assert "(4.01 times" in said(model, matched, **moved, centers__geometry=wide)


@pytest.mark.parametrize("reason", [*_explanation.EUCLIDEAN])
def test_every_reason_for_a_metric_has_its_sentence(model, reason):
    line = f"Metric: Euclidean, because {_explanation.EUCLIDEAN[reason]}."
    told = said(model, replace(DECISIONS, metric_reason=reason))
    assert line in told


def test_a_metric_that_was_set_is_told_as_set(model):
    assert "Metric: Euclidean, as set." in said(model)
    assert "Metric: shared, as set." in said(model, replace(DECISIONS, metric="shared"))


def test_tasks_without_two_clusters_in_common_are_not_compared(model):
    present = np.array([[True, True], [True, False], [True, True]])
    told = said(model, holds=present, relatedness=np.ones((3, 3)))
    assert "Relatedness: 'a' and 'c' are alike: relatedness 1.00 of 1. 2 other pairs with fewer than two" in told
    none = said(model, holds=np.array([[True, False], [True, False], [False, True]]))
    assert "No two tasks have two clusters in common, so it cannot be told how alike they are." in none


@pytest.mark.parametrize("estimator", [SPMTC(4, random_state=0), LSSMTC(4, random_state=0), ASI(4, random_state=0)])
def test_real_fits_are_explained_and_left_as_they_are(blobs, estimator):
    fitted = estimator.fit(blobs.X, tasks=blobs.tasks)
    before = set(vars(fitted))
    lines = str(explain(fitted)).splitlines()
    m = len(fitted.tasks_)  # ASI pools all rows into one task
    assert lines[0] == f"{type(estimator).__name__}: 4 clusters in {m} task{'s' * (m > 1)}, 120 rows."
    assert [line.split(":")[0] for line in lines].count("Start") == 1
    assert any(line.startswith("Relatedness: ") for line in lines) == (m > 1)
    assert set(vars(fitted)) == before


def test_how_sure_one_can_be_is_told_if_it_was_measured(blobs, capsys):
    model = SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    [last] = [line for line in str(explain(model)).splitlines() if "How sure" in line]
    assert last.startswith("How sure: not measured. mtcluster.model_selection.stability(model, X, tasks=tasks)")
    found = stability(model, blobs.X, tasks=blobs.tasks, n_refits=4, random_state=0)
    told = str(explain(model, found)).splitlines()
    assert told[-len(found.sentences) :] == found.sentences
    assert str(explain(model, plain_stability(found))).splitlines() == told
    print(model.explain(stability=found))
    assert capsys.readouterr().out.splitlines() == told


def test_no_other_sentence_uses_the_words_of_a_verdict(blobs):
    told = str(explain(SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)))
    for word in VERDICTS:
        assert not re.search(rf"\b{word}\b", told)
    for reason in _explanation.EUCLIDEAN.values():
        assert "clear" not in reason


def test_the_number_of_clusters_is_told_if_it_was_chosen(blobs):
    model = SPMTC(n_clusters=(3, 5), random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert str(explain(model)).splitlines()[1] == f"Number of clusters, chosen from the data: {model.selection_.reason}"
    model.selection_ = replace(model.selection_, n_clusters=None, reason="No number.")
    assert str(explain(model)).splitlines()[1] == "Number of clusters: No number. The sharpest number, 4, was taken."
    assert "Number of clusters" not in str(explain(SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)))


def test_the_stability_of_another_model_is_refused(blobs):
    model = SPMTC(2, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    other = SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    found = stability(other, blobs.X, tasks=blobs.tasks, n_refits=2, random_state=0)
    with pytest.raises(ValueError, match="stability is that of 4 clusters and 120 rows, but model has 2 and 120"):
        explain(model, found)
    for wrong in (0.9, {"agreement": 0.9}):
        with pytest.raises(TypeError, match=r"stability should be a result of mtcluster\.model_selection\.stability"):
            explain(model, wrong)


def test_one_task_has_no_relations(blobs):
    told = str(explain(SPMTC(4, random_state=0).fit(blobs.X)))
    assert "Relatedness" not in told
    assert re.search(r"Start: the most probable of \d+ labellings of all 120 rows in 6 dimensions", told)
    assert "Sharing: none, because there is one task." in told


@pytest.mark.dask
def test_a_fit_on_dask_is_explained_as_one_in_memory(blobs):
    dask = pytest.importorskip("dask.array")
    model = LSSMTC(4, within_weight=0.5, random_state=0)
    here = str(explain(model.fit(blobs.X, tasks=blobs.tasks)))
    there = str(explain(model.fit(dask.from_array(blobs.X, chunks=(50, -1)), tasks=blobs.tasks)))
    assert there.splitlines()[0] == here.splitlines()[0]
    assert "within_weight=0.5, as set" in there


def test_an_explanation_shows_itself_and_is_a_frame_of_decisions(model):
    told = _explanation.Explanation(_explanation.describe(model, DECISIONS))
    assert repr(told) == str(told) == said(model)
    frame = told.to_frame()
    assert list(frame.columns) == ["decision", "explanation"]
    assert frame["decision"].tolist() == list(told.told)
    assert frame["decision"].is_unique
    for line in (*frame["decision"], *frame["explanation"]):
        assert line == line.strip() != ""
    found = frame.set_index("decision")["explanation"]
    assert found["Model"] == "LSSMTC: 2 clusters in 3 tasks, 120 rows."
    assert found["Shared centres"].startswith("The shared centres")
    assert found["Sharing"].count("elatedness") > 1  # its lines are one
    assert "\n" not in found["Sharing"]
    assert told._repr_html_().count("<tr>") == len(frame) + 1
    odd = _explanation.Explanation({"Model": ["<b>: 1 cluster."]})
    assert "&lt;b&gt;: 1 cluster." in odd._repr_html_()


def test_decisions_are_printed_as_a_table():
    lines = str(DECISIONS).splitlines()
    assert lines[0].split() == ["decision", "value"]
    assert [line.split()[0] for line in lines[1:]] == [
        "start", "coupling", "membership", "within_weight", "task_offset", "n_starts", "weighting",
        "full_weight_share", "max_iter", "warmup_iter", "metric", "search",
    ]  # fmt: skip
    told = {line.split()[0]: line[17:].strip() for line in lines[1:]}
    assert (told["membership"], told["within_weight"]) == ("binary (default)", "(evidence)")
    assert told["task_offset"] == "none (evidence)"
    assert told["search"] == "42 labellings of 120 rows in 5 dimensions"
    assert DECISIONS._repr_html_().count("<tr>") == len(lines)
    assert str(replace(DECISIONS, search=None)).splitlines()[-1].split() == ["search", "None"]


def test_what_has_no_decisions_is_refused(blobs):
    with pytest.raises(NotFittedError):
        explain(SPMTC(4))
    with pytest.raises(TypeError, match="explain needs a fitted SPMTC, LSSMTC or ASI; got Pooled"):
        explain(Pooled(KMeans(4, random_state=0)).fit(blobs.X, tasks=blobs.tasks))
