"""What the defaults decide: related tasks share, unrelated ones are left alone, and nobody reads y."""

from contextlib import nullcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from mtcluster import ASI, LSSMTC, SPMTC, PerTask
from mtcluster.consensus.embedding import directional, look_at, smooth, take_sample, task_frame
from mtcluster.consensus.vote import Vote, vote
from mtcluster.core.blocks import LocalRows
from mtcluster.core.model import Settings, make_block
from mtcluster.datasets import load_digits_tasks, make_multitask_blobs
from mtcluster.metrics import clustering_accuracy, joint_accuracy, task_scores


def block_of(X, u=None):
    origin = np.zeros(X.shape[1])
    return make_block(X, np.ones(X.shape[0]) if u is None else u, origin)


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


def test_the_same_labels_renumbered_are_a_unanimous_vote():
    rng = np.random.default_rng(0)
    labels = [rng.integers(4, size=30), rng.integers(4, size=20)]
    members = [[order[part] for part in labels] for order in (rng.permutation(4) for _ in range(5))]
    shares = vote(members, 4)
    assert [share.shape for share in shares] == [(30, 4), (20, 4)]
    assert_array_equal(np.concatenate(shares).max(axis=1), 1)
    assert clustering_accuracy(np.concatenate(labels), np.concatenate(shares).argmax(axis=1)) == 1


def test_the_majority_wins_the_vote():
    truth = np.arange(60) % 3
    wrong = [truth.copy() for _ in range(5)]
    for i, labels in enumerate(wrong):
        labels[i * 10 : (i + 1) * 10] = 0
    [share] = vote([[labels] for labels in wrong], 3)
    assert clustering_accuracy(truth, share.argmax(axis=1)) == 1
    assert_allclose(share.sum(axis=1), 1)


def test_smoothing_moves_rows_towards_their_neighbours_and_keeps_apart_what_is_apart():
    rng = np.random.default_rng(0)
    Y = np.vstack([rng.normal(size=(40, 3)), 50 + rng.normal(size=(40, 3))])
    smoothed = smooth(Y, 5, 4)
    for part in (slice(40), slice(40, 80)):
        assert np.var(smoothed[part], axis=0).sum() < 0.6 * np.var(Y[part], axis=0).sum()
        assert_allclose(smoothed[part].mean(axis=0), Y[part].mean(axis=0), atol=0.5)
    assert_array_equal(smooth(Y, 5, 0), Y)


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_matrix])
def test_the_frame_gives_all_tasks_the_same_mean_and_spread(as_matrix):
    rng = np.random.default_rng(0)
    Xs = [(k + 1) * rng.random((30 + k, 4)) + 10 * k for k in range(3)]
    us = [rng.random(len(X)) for X in Xs]
    blocks = LocalRows([block_of(as_matrix(X), u) for X, u in zip(Xs, us, strict=True)], 1)
    for kind in ("mean", "scale"):
        offsets, scales = task_frame(blocks, kind)
        settings = Settings(0.5, 2, offsets=offsets, scales=scales)
        moved = [settings.from_task(X, k) for k, X in enumerate(Xs)]
        means = [np.average(Y, axis=0, weights=u) for Y, u in zip(moved, us, strict=True)]
        assert_allclose(means, np.broadcast_to(means[0], (3, 4)))
        assert_allclose(means[0], np.average(np.vstack(Xs), axis=0, weights=np.concatenate(us)))
        widths = [np.average(((Y - m) ** 2).sum(axis=1), weights=u) for Y, m, u in zip(moved, means, us, strict=True)]
        assert np.ptp(widths) < 1e-9 * widths[0] if kind == "scale" else np.ptp(widths) > 0.1
        assert_allclose(settings.in_task(moved[1], 1), Xs[1])
    assert task_frame(blocks, "none") == (None, None)


def test_only_rows_of_one_length_are_directions():
    rng = np.random.default_rng(0)
    X = rng.random((20, 5))
    unit = normalize(X)
    assert directional(LocalRows([block_of(unit)], 1).summary)
    assert directional(
        LocalRows([block_of(sparse.csr_matrix(unit)), block_of(np.vstack([unit, np.zeros(5)]))], 1).summary
    )
    assert not directional(LocalRows([block_of(X)], 1).summary)
    assert not directional(LocalRows([block_of(unit + 1e6)], 1).summary)
    assert not directional(LocalRows([block_of(np.zeros((4, 5)))], 1).summary)


@pytest.mark.parametrize("unit_rows", [False, True])
def test_the_look_at_wide_rows_is_their_leading_subspace(unit_rows):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(80, 3)))[0].T
    X = rng.normal(size=(90, 3)) * [5, 4, 3] @ basis + 1e-3 * rng.normal(size=(90, 80))
    X = normalize(X) if unit_rows else X + 100
    for as_matrix in (np.asarray, sparse.csr_matrix):
        blocks = [block_of(as_matrix(X[:40])), block_of(as_matrix(X[40:]))]
        look = look_at(blocks, Settings(0.5, 2), 3, paced=True, unit_rows=unit_rows, seed=0)
        Y = np.vstack(look.Ys)
        seen = X if unit_rows else X - X.mean(axis=0)
        assert Y.shape == (90, 3)
        assert_allclose(Y @ Y.T, seen @ seen.T, atol=0.05 * np.abs(seen @ seen.T).max())


def test_rows_that_the_leading_directions_hardly_show_count_less():
    rng = np.random.default_rng(0)
    X = np.zeros((120, 100))
    X[:, :3] = rng.random((120, 3)) + 0.2
    X[:10] = 0
    X[np.arange(10), 50 + np.arange(10)] = 1  # each row in a direction of its own
    settings, blocks = Settings(0.5, 2), [block_of(normalize(X))]
    paced = look_at(blocks, settings, 3, paced=True, unit_rows=True, seed=0)
    assert paced.us[0][:10].max() < 0.01 < 0.5 < paced.us[0][10:].min()
    assert_array_equal(look_at(blocks, settings, 3, paced=False, unit_rows=True, seed=0).us[0], 1)


def test_rows_far_from_all_others_count_less_whatever_the_scale():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 3)), [[40, 0, 0], [0, -60, 0]]])

    def weights(X, paced):
        blocks = [make_block(X, np.ones(len(X)), X.mean(axis=0))]
        return look_at(blocks, Settings(0.5, 1), 50, paced=paced, unit_rows=False, seed=0).us[0]

    found = weights(X, paced=True)
    assert found[-2:].max() < 0.1
    assert found.min() > 0
    assert np.mean(found[:-2] == 1) > 0.95
    np.testing.assert_allclose(weights(1000 * X + 7, paced=True), found)
    np.testing.assert_array_equal(weights(X, paced=False), 1)


@pytest.mark.parametrize("n_features", [5, 10])
def test_a_fifth_of_the_rows_far_out_do_little_harm_to_the_others(n_features):
    X, y, tasks = make_multitask_blobs(
        150, n_features, n_tasks=3, n_clusters=4, separation=9, outliers=0.2, random_state=3
    )
    model, real = SPMTC(4, random_state=0).fit(X, tasks=tasks), y >= 0
    assert joint_accuracy(y[real], model.labels_[real], tasks[real]) > 0.9
    assert model._evidence.decision.n_far > 0


def test_a_task_left_alone_has_no_say_in_what_becomes_of_the_others():
    X, _, tasks = make_multitask_blobs(120, 5, n_tasks=2, n_clusters=4, random_state=1)
    Z, _, _ = make_multitask_blobs(120, 5, n_tasks=1, n_clusters=4, random_state=101)
    both = SPMTC(4, random_state=0).fit(X, tasks=tasks)
    three = SPMTC(4, random_state=0).fit(np.concatenate([X, Z]), tasks=[*tasks, *[2] * len(Z)])
    assert (three.within_weight_ == 1).tolist() == [False, False, True]
    assert adjusted_rand_score(both.labels_, three.labels_[: len(X)]) > 0.95


def test_a_sample_has_each_tasks_share_and_no_row_of_weight_0():
    rng = np.random.default_rng(0)
    blocks = [block_of(rng.random((n, 2)), np.r_[np.zeros(5), np.ones(n - 5)]) for n in (3000, 6000, 40)]
    sample, rows = take_sample(LocalRows(blocks, 1), Vote(sample=900), rng)
    assert [len(b.sq) for b in sample] == [299, 598, 35]
    assert all(b.u.min() == 1 for b in sample)
    for part, chosen, block in zip(sample, rows, blocks, strict=True):
        assert_array_equal(part.X, block.X[5:][chosen])
    whole = [block_of(rng.random((30, 2)))]
    assert take_sample(LocalRows(whole, 1), Vote(), rng)[0][0] is whole[0]


def test_a_vote_on_a_sample_labels_all_rows():
    data = make_multitask_blobs(n_samples=400, n_tasks=3, n_clusters=4, random_state=0)
    sampled = type("Sampled", (SPMTC,), {"_vote": Vote(sample=150, task_sample=40)})
    model = sampled(4, random_state=0).fit(data.X, tasks=data.tasks)
    assert accuracy(data, model.labels_) > 0.95
    assert joint_accuracy(data.y, model.labels_, data.tasks) > 0.95


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


def test_tasks_with_other_shares_of_the_clusters_keep_their_location():
    """Their means differ because of what they hold, not because of where they lie."""
    for seed in range(3):
        X, y, tasks = make_multitask_blobs(150, n_tasks=2, n_clusters=3, random_state=seed)
        rates = np.array([[1, 0.08, 0.08], [0.08, 0.08, 1]])
        kept = np.random.default_rng(seed).random(len(y)) < rates[tasks, y]
        model = SPMTC(3, random_state=0).fit(X[kept], tasks=tasks[kept])
        assert model.task_offset_ == "none"


def test_a_task_of_few_rows_shares_whatever_they_look_like():
    data = make_multitask_blobs([60, 60, 8], n_tasks=3, n_clusters=4, random_state=0)
    for seed in range(4):
        model = SPMTC(4, random_state=seed).fit(data.X, tasks=data.tasks)
        assert model.within_weight_[2] < 1


def test_unrelated_tasks_are_left_alone(unrelated):
    X, y, tasks = unrelated
    c = len(set(y))
    model = SPMTC(c, random_state=0).fit(X, tasks=tasks)
    assert_array_equal(model.within_weight_, 1)
    alone = PerTask(KMeans(c, n_init=10, random_state=0)).fit(X, tasks=tasks)
    for k in (0, 1):
        rows = tasks == k
        ours, theirs = (clustering_accuracy(y[rows], l[rows]) for l in (model.labels_, alone.labels_))
        assert ours >= theirs - 0.01
    forced = SPMTC(c, within_weight=0.3, random_state=0).fit(X, tasks=tasks)
    assert clustering_accuracy(y[tasks == 0], forced.labels_[tasks == 0]) < 0.8


def test_related_tasks_share(blobs):
    model = SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(model.within_weight_, 0.7)
    assert model.task_relatedness_.min() > 0.7


def test_sharing_helps_small_tasks():
    data = make_multitask_blobs(
        40, n_tasks=6, n_clusters=6, separation=4.0, task_shift=0.5, balance=0.8, random_state=0
    )
    alone = PerTask(KMeans(6, n_init=10, random_state=0)).fit(data.X, tasks=data.tasks)
    for estimator in (LSSMTC, SPMTC):
        model = estimator(6, random_state=0).fit(data.X, tasks=data.tasks)
        assert accuracy(data, model.labels_) > accuracy(data, alone.labels_) + 0.05


def test_tasks_that_are_moved_as_a_whole_are_clustered_as_before(blobs):
    offsets = np.random.default_rng(1).normal(scale=100, size=(3, 6))
    before = SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    moved = SPMTC(4, random_state=0).fit(blobs.X + offsets[blobs.tasks], tasks=blobs.tasks)
    assert moved.task_offset_ == "mean"
    assert_array_equal(moved.labels_, before.labels_)
    assert_allclose(moved.losses_, before.losses_, rtol=1e-6, atol=1e-8)


def test_scale_takes_out_the_spread_of_a_task(blobs):
    factors = np.array([1.0, 5.0, 0.2])[blobs.tasks]
    before = SPMTC(4, task_offset="scale", random_state=0).fit(blobs.X, tasks=blobs.tasks)
    scaled = SPMTC(4, task_offset="scale", random_state=0).fit(factors[:, None] * blobs.X, tasks=blobs.tasks)
    assert_allclose(scaled.task_scales_ / before.task_scales_, [1.0, 5.0, 0.2], rtol=1e-6)
    assert clustering_accuracy(before.labels_, scaled.labels_) > 0.95


def test_a_number_for_within_weight_is_the_plain_single_fit(blobs):
    plain = SPMTC(4, within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    spelled = SPMTC(
        4, within_weight=0.5, task_offset="none", membership="binary", warmup_iter=20, max_iter=50, random_state=0
    ).fit(blobs.X, tasks=blobs.tasks)
    assert (plain.task_offset_, plain.membership_) == ("none", "binary")
    assert_array_equal(plain.losses_, spelled.losses_)
    assert [len(a) for a in plain.objective_trace_] == [len(a) for a in spelled.objective_trace_]
    assert len(plain.objective_trace_) == 7


def test_no_decision_reads_y(blobs):
    without = SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    given = SPMTC(4, random_state=0).fit(blobs.X, blobs.y, tasks=blobs.tasks)
    assert_array_equal(without.losses_, given.losses_)


def test_n_jobs_changes_nothing(blobs):
    one = SPMTC(4, random_state=0, n_jobs=1).fit(blobs.X, tasks=blobs.tasks)
    two = SPMTC(4, random_state=0, n_jobs=2).fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(one.losses_, two.losses_)


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
    assert SPMTC(4, random_state=0, **more).fit(blobs.X, tasks=blobs.tasks).task_offset_ == "none"


def said(model, capsys):
    assert model.explain() is None
    return capsys.readouterr().out


def test_explain_says_what_was_decided(unrelated, blobs, capsys):
    X, y, tasks = unrelated
    alone = SPMTC(len(set(y)), random_state=0).fit(X, tasks=np.array(["first", "second"])[tasks])
    assert "Left alone: tasks 'first' (agreement" in said(alone, capsys)
    assert "directions" in said(alone, capsys)
    shared = said(SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks), capsys)
    assert "Sharing: within_weight=0.7 for tasks 0 (agreement" in shared
    assert "the mean of each task was taken out" in shared
    assert "one iteration each" in shared
    assert "the hardest 5 % of the rows let in count less" in shared


def test_explain_says_what_was_set(blobs, capsys):
    plain = said(LSSMTC(4, within_weight=0.3, random_state=0).fit(blobs.X, tasks=blobs.tasks), capsys)
    assert "within_weight=0.3, as set" in plain
    assert "count less" not in plain
    assert "Start: per-task and pooled; of several" in plain
    given = said(SPMTC(4, init=np.eye(4)[blobs.y], task_offset="none").fit(blobs.X, tasks=blobs.tasks), capsys)
    assert "Start: the memberships given as init." in given
    assert "task_offset='none', as set" in given
    assert "there is one task" in said(SPMTC(4, random_state=0).fit(blobs.X), capsys)
    assert "Sharing" not in said(ASI(4, random_state=0).fit(blobs.X), capsys)
    model = SPMTC(4, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    before = said(model, capsys)
    assert said(model.set_params(n_clusters=9, max_iter=3, task_offset="mean"), capsys) == before


def test_one_cluster_is_shared_by_all(blobs, capsys):
    model = SPMTC(1, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(model.within_weight_, 0.7)
    assert_array_equal(model.task_relatedness_, 1)
    assert "1 cluster in 3 tasks" in said(model, capsys)


@pytest.mark.parametrize("X", [np.zeros((30, 60)), np.ones((30, 60)), np.eye(60)[:30], np.zeros((70, 70))])
def test_rows_without_structure_get_labels(X):
    """Also where there is nothing to look at in many dimensions."""
    with pytest.warns(ConvergenceWarning) if np.ptp(X) == 0 else nullcontext():
        model = SPMTC(3, random_state=0).fit(X, tasks=np.arange(len(X)) % 2)
    assert np.isfinite(model.losses_).all()
    assert np.isfinite(model.task_relatedness_).all()
    assert np.isfinite(model.cluster_support_).all()


def test_votes_of_few_rows_and_many_tasks():
    data = make_multitask_blobs(5, n_tasks=20, n_clusters=3, random_state=0)
    model = SPMTC(3, random_state=0).fit(data.X, tasks=data.tasks)
    assert joint_accuracy(data.y, model.labels_, data.tasks) > 0.8
