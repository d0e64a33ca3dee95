"""What the defaults decide: related tasks share, unrelated ones are left alone, and nobody reads y."""

from contextlib import nullcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from mtcluster import LSSMTC, SPMTC, Consensus, PerTask, Schedule
from mtcluster.datasets import load_digits_tasks, make_multitask_blobs
from mtcluster.metrics import clustering_accuracy, joint_accuracy, task_scores

pytestmark = pytest.mark.slow


def accuracy(data, labels):
    return np.mean(task_scores(data.y, labels, data.tasks)["accuracy"])


@pytest.fixture(scope="module", params=[2, 3, 5])
def unrelated(request):
    """Two tasks of unit rows whose clusters differ in features that the other task does not vary in."""
    rng = np.random.default_rng(1)
    Xs, ys = [], []
    for k in range(2):
        y = rng.integers(request.param, size=150)
        X = 0.3 * rng.random((150, 40))
        X[:, 20 * k] += 2
        X[np.arange(150), 20 * k + 1 + y] += 1.5
        Xs.append(normalize(X))
        ys.append(y)
    return np.vstack(Xs), np.concatenate(ys), np.repeat([0, 1], 150)


@pytest.mark.parametrize("n_features", [5, 10])
def test_a_fifth_of_the_rows_far_out_do_little_harm_to_the_others(n_features):
    X, y, tasks = make_multitask_blobs(
        150, n_features, n_tasks=3, n_clusters=4, separation=9, outliers=0.2, random_state=3
    )
    model, real = SPMTC(4, random_state=0).fit(X, tasks=tasks), y >= 0
    assert joint_accuracy(y[real], model.labels_[real], tasks[real]) > 0.9
    assert model.decisions_.consensus.n_distant_rows > 0


@pytest.mark.slow
def test_a_task_left_alone_has_no_say_in_what_becomes_of_the_others():
    X, _, tasks = make_multitask_blobs(120, 5, n_tasks=2, n_clusters=4, random_state=1)
    Z, _, _ = make_multitask_blobs(120, 5, n_tasks=1, n_clusters=4, random_state=101)
    both = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    three = SPMTC(4, random_state=0).fit(np.concatenate([X, Z]), tasks=[*tasks, *[2] * len(Z)])
    assert (three.fitted_.within_weight == 1).tolist() == [False, False, True]
    assert adjusted_rand_score(both.labels_, three.labels_[: len(X)]) > 0.95


def test_a_vote_on_a_sample_labels_all_rows():
    data = make_multitask_blobs(n_samples=400, n_tasks=3, n_clusters=4, random_state=0)
    model = SPMTC(4, init=Consensus(sample=150, task_sample=40), random_state=0).fit(data.X, tasks=data.tasks)
    assert accuracy(data, model.labels_) > 0.95
    assert joint_accuracy(data.y, model.labels_, data.tasks) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [SPMTC, LSSMTC])
def test_a_row_of_weight_0_is_no_part_of_the_vote(estimator):
    """Also where clusters overlap and a start at the nearest centres would differ from the vote."""
    data = make_multitask_blobs(60, n_tasks=3, n_clusters=3, separation=2.0, random_state=0)
    weights = np.ones(180)
    weights[5] = 0
    kept = weights > 0
    weighted = estimator(3, random_state=0).fit(data.X, tasks=data.tasks, sample_weight=weights)
    without = estimator(3, random_state=0).fit(data.X[kept], tasks=data.tasks[kept])
    assert_array_equal(weighted.labels_[kept], without.labels_)


@pytest.mark.slow
def test_tasks_with_other_shares_of_the_clusters_keep_their_location():
    """Their means differ because of what they hold, not because of where they lie."""
    for seed in range(3):
        X, y, tasks = make_multitask_blobs(150, n_tasks=2, n_clusters=3, random_state=seed)
        rates = np.array([[1, 0.08, 0.08], [0.08, 0.08, 1]])
        kept = np.random.default_rng(seed).random(len(y)) < rates[tasks, y]
        model = SPMTC(3, random_state=0).fit(X[kept], tasks=tasks[kept])
        assert model.fitted_.task_offset == "none"


@pytest.mark.slow
def test_a_task_of_few_rows_shares_whatever_they_look_like():
    data = make_multitask_blobs([60, 60, 8], n_tasks=3, n_clusters=4, random_state=0)
    for seed in range(4):
        model = SPMTC(4, random_state=seed).fit(data.X, tasks=data.tasks)
        assert model.fitted_.within_weight[2] < 1


def test_unrelated_tasks_are_left_alone(unrelated):
    X, y, tasks = unrelated
    c = len(set(y))
    model = SPMTC(c, random_state=0).fit(X, tasks=tasks)
    assert_array_equal(model.fitted_.within_weight, 1)
    alone = PerTask(KMeans(c, n_init=10, random_state=0)).fit(X, tasks=tasks)
    for k in (0, 1):
        rows = tasks == k
        ours, theirs = (clustering_accuracy(y[rows], l[rows]) for l in (model.labels_, alone.labels_))
        assert ours >= theirs - 0.01
    forced = SPMTC(c, within_weight=0.3, random_state=0).fit(X, tasks=tasks)
    assert clustering_accuracy(y[tasks == 0], forced.labels_[tasks == 0]) < 0.8


def test_related_tasks_share(blobs):
    for metric, weight in (("euclidean", 0.5), ("auto", 0.0)):
        model = SPMTC(4, metric=metric, random_state=0).fit(blobs.X, tasks=blobs.tasks)
        assert_array_equal(
            model.fitted_.within_weight, weight
        )  # with a shared metric, no centres of their own are needed
        assert model.task_relatedness_.min() > 0.7


@pytest.mark.slow
def test_sharing_helps_small_tasks():
    data = make_multitask_blobs(
        40, n_tasks=6, n_clusters=6, separation=4.0, task_shift=0.5, balance=0.8, random_state=0
    )
    alone = PerTask(KMeans(6, n_init=10, random_state=0)).fit(data.X, tasks=data.tasks)
    for estimator in (LSSMTC, SPMTC):
        model = estimator(6, random_state=0).fit(data.X, tasks=data.tasks)
        assert accuracy(data, model.labels_) > accuracy(data, alone.labels_) + 0.05


@pytest.mark.slow
def test_tasks_that_are_moved_as_a_whole_are_clustered_as_before(blobs):
    offsets = np.random.default_rng(1).normal(scale=100, size=(3, 6))
    for metric, offset in (("euclidean", "mean"), ("auto", "matched")):
        how = {"metric": metric, "task_offset": offset, "random_state": 0}
        before = SPMTC(4, **how).fit(blobs.X, tasks=blobs.tasks)
        moved = SPMTC(4, **how | {"task_offset": "auto"}).fit(blobs.X + offsets[blobs.tasks], tasks=blobs.tasks)
        assert moved.fitted_.task_offset == offset
        assert clustering_accuracy(moved.labels_, before.labels_) == 1
        if metric == "euclidean":  # else other starts may be the best, and centres of their own be needed or not
            assert_allclose(moved.losses_, before.losses_, rtol=1e-6, atol=1e-8)


def test_scale_takes_out_the_spread_of_a_task(blobs):
    factors = np.array([1.0, 5.0, 0.2])[blobs.tasks]
    before = SPMTC(4, task_offset="scale", random_state=0).fit(blobs.X, tasks=blobs.tasks)
    scaled = SPMTC(4, task_offset="scale", random_state=0).fit(factors[:, None] * blobs.X, tasks=blobs.tasks)
    assert_allclose(scaled.fitted_.centers.offsets.s / before.fitted_.centers.offsets.s, [1.0, 5.0, 0.2], rtol=1e-6)
    assert clustering_accuracy(before.labels_, scaled.labels_) > 0.95


def test_a_number_for_within_weight_is_the_plain_single_fit(blobs):
    plain = SPMTC(4, within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    spelled = SPMTC(
        4, within_weight=0.5, task_offset="none", membership="binary", pace=Schedule(warmup_iter=20), max_iter=50,
        random_state=0,
    ).fit(blobs.X, tasks=blobs.tasks)  # fmt: skip
    assert (plain.fitted_.task_offset, plain.decisions_.membership) == ("none", "binary")
    assert_array_equal(plain.losses_, spelled.losses_)
    assert [len(a) for a in plain.objective_trace_] == [len(a) for a in spelled.objective_trace_]
    assert len(plain.objective_trace_) == 7


@pytest.mark.slow
def test_no_decision_reads_y(blobs):
    without = SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    given = SPMTC(4, random_state=0).fit(blobs.X, blobs.y, tasks=blobs.tasks)
    assert_array_equal(without.losses_, given.losses_)


@pytest.mark.slow
def test_n_jobs_changes_nothing(blobs):
    one = SPMTC(4, random_state=0, n_jobs=1).fit(blobs.X, tasks=blobs.tasks)
    two = SPMTC(4, random_state=0, n_jobs=2).fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(one.losses_, two.losses_)


@pytest.mark.slow
def test_pacing_costs_nothing_where_there_is_nothing_to_protect_against():
    data = load_digits_tasks()
    scores = {}
    for name, model in {
        "plain": LSSMTC(10, random_state=0),
        "hard": SPMTC(10, weighting="hard", random_state=0),
        "soft": SPMTC(10, random_state=0),
    }.items():
        scores[name] = accuracy(data, model.fit(data.X, tasks=data.tasks).labels_)
    assert min(scores["hard"], scores["soft"]) > scores["plain"] - 0.02


@pytest.mark.parametrize("more", [{"membership": "nonnegative"}, {"coupling": "projection"}])
def test_an_offset_where_the_model_knows_none_is_refused(blobs, more):
    with pytest.raises(ValueError, match=r"task_offset='mean' cannot go with .*: take task_offset='none'"):
        SPMTC(4, task_offset="mean", **more).fit(blobs.X, tasks=blobs.tasks)
    assert SPMTC(4, random_state=0, **more).fit(blobs.X, tasks=blobs.tasks).fitted_.task_offset == "none"


def test_one_cluster_is_shared_by_all(blobs):
    model = SPMTC(1, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(model.fitted_.within_weight, 0.5)
    assert_array_equal(model.task_relatedness_, 1)
    assert model.decisions_.within_weight_reason == "consensus"


@pytest.mark.parametrize("X", [np.zeros((30, 60)), np.ones((30, 60)), np.eye(60)[:30], np.zeros((70, 70))])
def test_rows_without_structure_get_labels(X):
    """Also where there is nothing to look at in many dimensions."""
    with pytest.warns(ConvergenceWarning) if np.ptp(X) == 0 else nullcontext():
        model = SPMTC(3, random_state=0).fit(X, tasks=np.arange(len(X)) % 2)
    assert np.isfinite(model.losses_).all()
    assert np.isfinite(model.task_relatedness_).all()
    assert np.isfinite(model.fitted_.support).all()


@pytest.mark.slow
def test_votes_of_few_rows_and_many_tasks():
    data = make_multitask_blobs(5, n_tasks=20, n_clusters=3, random_state=0)
    model = SPMTC(3, random_state=0).fit(data.X, tasks=data.tasks)
    assert joint_accuracy(data.y, model.labels_, data.tasks) > 0.8


def test_decisions_tell_what_the_consensus_saw(blobs):
    found = SPMTC(4, metric="euclidean", random_state=0).fit(blobs.X, tasks=blobs.tasks).decisions_
    assert (found.start, found.n_starts) == ("consensus", 1)
    assert (found.max_iter, found.warmup_iter, found.full_weight_share) == (1, 0, 0.95)
    assert (found.task_offset, found.task_offset_reason) == ("mean", "gain")
    assert found.offset_gain >= 0.01
    seen = found.consensus
    assert (seen.n_members, seen.n_rows, seen.n_dimensions) == (20, 120, 6)
    assert seen.agreement.shape == seen.relatedness.shape == (3,)
    assert 0.5 < seen.unanimity <= 1


def test_a_consensus_that_is_given_is_the_one_that_votes(blobs):
    how = Consensus(smoothings=((5, 1),), within_weights=(0.4,), within_weight=0.6, max_iter=3, warmup_iter=2)
    model = SPMTC(4, init=how, metric="euclidean", random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert model.decisions_.consensus.n_members == 2
    assert_array_equal(model.fitted_.within_weight, 0.6)
    assert (model.decisions_.max_iter, model.decisions_.warmup_iter) == (3, 2)
    assert len(model.objective_trace_) == 7


def test_one_task_has_one_member_per_smoothing_and_nothing_to_compare(blobs):
    seen = SPMTC(4, metric="euclidean", random_state=0).fit(blobs.X).decisions_
    assert (seen.within_weight_reason, seen.task_offset_reason) == ("one task", "one task")
    assert seen.consensus.n_members == 5
    assert_array_equal(seen.consensus.agreement, 1)
    assert_array_equal(seen.consensus.relatedness, 1)


@pytest.mark.slow
def test_rows_are_downweighted_in_votes_for_paced_fits_alone_and_only_if_asked():
    X, _, tasks = make_multitask_blobs(80, 4, n_tasks=2, n_clusters=3, outliers=0.1, random_state=0)
    counted = [
        model.fit(X, tasks=tasks).decisions_.consensus.n_distant_rows
        for model in (
            SPMTC(3, random_state=0),
            SPMTC(3, init=Consensus(downweight=False), random_state=0),
            LSSMTC(3, metric="euclidean", random_state=0),
        )
    ]
    assert counted[0] > 0
    assert counted[1:] == [0, 0]


def test_without_a_last_matching_clusters_keep_the_numbers_of_the_vote(blobs):
    how = {"matched": Consensus(), "plain": Consensus(match_tasks=False)}
    labels = {
        name: SPMTC(4, init=init, random_state=0).fit(blobs.X, tasks=blobs.tasks).labels_ for name, init in how.items()
    }
    assert clustering_accuracy(labels["matched"], labels["plain"]) == 1  # these clusters correspond anyway


@pytest.mark.slow
def test_thresholds_decide_who_is_left_alone(blobs):
    never = Consensus(min_agreement=-1.0, min_relatedness=0.0)
    always = Consensus(min_agreement=1.1)
    shared = SPMTC(4, metric="euclidean", init=never, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    alone = SPMTC(4, metric="euclidean", init=always, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(shared.fitted_.within_weight, 0.5)
    assert_array_equal(alone.fitted_.within_weight, 1)
    few = SPMTC(4, metric="euclidean", init=Consensus(min_agreement=1.1, min_rows=1000), random_state=0).fit(
        blobs.X, tasks=blobs.tasks
    )
    assert_array_equal(few.fitted_.within_weight, 0.5)


def test_equal_rows_gain_nothing_from_an_offset():
    how, rows = Consensus(), np.ones((30, 3))
    with pytest.warns(ConvergenceWarning, match="2 of 3 clusters"):
        found = SPMTC(3, init=how, random_state=0).fit(rows, tasks=np.arange(30) % 2)
    assert found.fitted_.task_offset == "none"
    assert found.decisions_.offset_gain in (None, 0.0)


def test_a_number_for_within_weight_and_a_consensus_start_go_together(blobs):
    model = SPMTC(4, init="consensus", within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(model.fitted_.within_weight, 0.5)
    assert model.decisions_.start == "consensus"
    assert (model.decisions_.within_weight_reason, model.decisions_.task_offset) == ("set", "none")
    assert model.decisions_.consensus is not None
    assert joint_accuracy(blobs.y, model.labels_, blobs.tasks) > 0.9


def test_an_open_within_weight_and_another_start_go_together(blobs):
    model = SPMTC(4, init="pooled", metric="euclidean", random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert model.decisions_.start == "pooled"
    assert model.decisions_.consensus is not None
    assert_array_equal(model.fitted_.within_weight, 0.5)


@pytest.mark.slow
def test_a_consensus_may_be_formed_more_than_once(blobs):
    one = SPMTC(4, init="consensus", random_state=0).fit(blobs.X, tasks=blobs.tasks)
    two = SPMTC(4, init="consensus", n_init=2, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert two.decisions_.n_starts == 2
    assert two.decisions_.start == "consensus"
    assert two.losses_.sum() <= one.losses_.sum() * (1 + 1e-6)


def test_a_coupling_with_one_share_for_all_tasks_gets_one(blobs):
    model = SPMTC(4, coupling="projection", random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert model.decisions_.within_weight_reason == "coupling"
    assert_array_equal(model.fitted_.within_weight, 0.5)
