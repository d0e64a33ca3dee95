"""Several starts: the lowest sum of losses is kept, and nothing but the seeds decides."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mtcluster import ASI, LSSMTC, SPMTC, Search
from mtcluster.core import solver
from mtcluster.core.pacing import Stages
from mtcluster.core.solver import still_best
from mtcluster.core.starts import STARTS
from mtcluster.estimators.input import open_rows
from mtcluster.estimators.plan import best_of
from mtcluster.estimators.progress import FitProgress

from ..core.tools import model_of


@pytest.fixture
def engine(blobs):
    return open_rows(LSSMTC(4), blobs.X, blobs.tasks, reset=True)


def run(engine, makers, seed=0):
    progress = FitProgress(LSSMTC(4), ["given"] * len(makers), Stages(), {})
    return best_of(
        engine,
        model_of(0.5, 4, c=4),
        Stages(max_iter=2, tol=0),
        makers,
        random_state=np.random.RandomState(seed),
        progress=progress,
    )


def random_start(engine):
    return lambda rng: STARTS["random"](engine, model_of(0.5, 4, c=4), rng)


def test_the_best_of_several_is_the_best_of_them_alone(engine):
    rngs = [np.random.default_rng(seed) for seed in range(5)]
    starts = [random_start(engine)(rng) for rng in rngs]
    makers = [lambda rng, Ps=Ps: Ps for Ps in starts]
    alone = [run(engine, [maker]) for maker in makers]
    best = run(engine, makers)
    assert len({one.total for one in alone}) > 1
    assert best.total == pytest.approx(min(one.total for one in alone), rel=1e-12)
    assert best.total == pytest.approx(sum(float(L.sum()) for L in best.losses))


def test_it_does_not_matter_which_starts_go_together(engine, monkeypatch):
    together = run(engine, [random_start(engine)] * 4)
    monkeypatch.setattr(solver, "ROW_VALUES", 1)
    alone = run(engine, [random_start(engine)] * 4)
    assert together.total == pytest.approx(alone.total, rel=1e-12)
    for a, b in zip(together.memberships, alone.memberships, strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_the_number_of_threads_changes_nothing(blobs, n_jobs):
    one, other = (LSSMTC(4, random_state=0, n_jobs=n).fit(blobs.X, tasks=blobs.tasks) for n in (None, n_jobs))
    assert_array_equal(one.labels_, other.labels_)
    assert_array_equal(one.losses_, other.losses_)


def test_more_starts_keep_those_before_them(engine):
    """Seeds of the first starts do not depend on how many follow."""
    totals = [run(engine, [random_start(engine)] * n).total for n in (1, 2, 4, 8)]
    assert totals == sorted(totals, reverse=True)


def test_runs_that_cannot_win_any_more_are_dropped_and_the_first_of_equals_stays():
    kept = []
    for value in (5.0, 3.0, 3.0 * (1 - 1e-9), 4.0):
        kept = still_best([*kept, value], lambda value: value)
    assert kept[0] == 3.0
    assert 5.0 not in kept


@pytest.mark.parametrize(
    ("estimator", "more", "start", "n_starts"),
    [
        (SPMTC, {"init": "per-task", "within_weight": 0.5}, "per-task", 3),
        (SPMTC, {"init": "per-task", "within_weight": 0.5, "n_init": 2}, "per-task", 2),
        (LSSMTC, {"within_weight": 0.5}, "per-task and pooled", 6),
        (LSSMTC, {"within_weight": 0.5, "n_init": 1}, "per-task and pooled", 2),
        (LSSMTC, {"within_weight": 0.5, "init": "random"}, "random", 1),
        (ASI, {}, "pooled", 3),
        (LSSMTC, {"within_weight": 0.5, "coupling": "projection", "n_init": 1}, "per-task and pooled", 2),
    ],
)
def test_decisions_name_the_starts_that_were_tried(blobs, estimator, more, start, n_starts):
    model = estimator(4, random_state=0, **more).fit(blobs.X, tasks=blobs.tasks)
    assert (model.decisions_.start, model.decisions_.n_starts) == (start, n_starts)
    assert model.decisions_.search is None


def test_a_paced_fit_from_per_task_starts_is_the_plain_model(blobs):
    model = SPMTC(4, init="per-task", within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    assert_array_equal(model.fitted_.within_weight, 0.5)
    assert (model.decisions_.max_iter, model.decisions_.warmup_iter) == (50, 20)
    assert model.fitted_.task_offset == "none"
    assert len(model.objective_trace_) == 7


def test_a_given_start_is_the_only_one(blobs):
    P = np.eye(4)[blobs.y]
    model = LSSMTC(4, init=P, n_init=5, within_weight=0.5).fit(blobs.X, tasks=blobs.tasks)
    assert (model.decisions_.start, model.decisions_.n_starts) == ("given", 1)
    for wrong in (P[:-1], P[:, :3]):
        with pytest.raises(ValueError, match=r"init has shape .*, but memberships of shape \(120, 4\) are needed"):
            LSSMTC(4, init=wrong).fit(blobs.X, tasks=blobs.tasks)


def test_zeros_that_memberships_never_leave_are_told(blobs):
    model = LSSMTC(4, init=np.eye(4)[blobs.y], membership="nonnegative", within_weight=0.5, max_iter=3)
    with pytest.warns(UserWarning, match="init holds zeros, which membership='nonnegative' never leaves"):
        model.fit(blobs.X, tasks=blobs.tasks)
    assert model.labels_.shape == (120,)


@pytest.mark.parametrize(
    ("given", "n_starts"),
    [
        ({"init": "search"}, 1),
        ({"init": "search", "n_init": 2}, 2),
        ({"init": Search(n_seedings=2, n_init=2)}, 2),  # what the start recommends
        ({"init": Search(n_seedings=2, n_init=2), "n_init": 1}, 1),
    ],
)
def test_a_search_is_done_as_often_as_asked(blobs, given, n_starts):
    model = LSSMTC(4, random_state=0, **given).fit(blobs.X, tasks=blobs.tasks)
    assert (model.decisions_.start, model.decisions_.n_starts) == ("search", n_starts)
