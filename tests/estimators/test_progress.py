"""Progress: every stage of every start is told once, and warnings point at the user's line."""

import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from mtcluster import LSSMTC, SPMTC, Schedule
from mtcluster.core.pacing import Stages
from mtcluster.estimators.progress import FitProgress, bar, tell, warn_user, watched


class Listener:
    def __init__(self):
        self.heard = []

    def __call__(self, step, **details):
        self.heard.append((step, details))

    def of(self, step):
        return [details for name, details in self.heard if name == step]


def test_a_listener_hears_of_every_stage_of_every_start(blobs):
    model = SPMTC(
        4, within_weight=0.5, init="pooled", n_init=2, max_iter=3, pace=Schedule(warmup_iter=2), random_state=0
    )
    listener = Listener()
    with watched(model, listener):
        model.fit(blobs.X, tasks=blobs.tasks)
    assert listener.of("fit") == [{"n_stages": 14}]
    assert [stage["fraction"] for stage in listener.of("stage")] == sorted([0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0] * 2)
    finals = [stage["objective"] for stage in listener.of("stage") if stage["fraction"] == 1]
    assert min(finals) == model.objective_trace_[-1][-1]
    assert not hasattr(model, "_listener")


def test_a_consensus_is_told_before_the_fit(blobs):
    model, listener = LSSMTC(4, random_state=0), Listener()
    with watched(model, listener):
        model.fit(blobs.X, tasks=blobs.tasks)
    assert [step for step, _ in listener.heard] == ["decide", "fit", "stage"]


def test_a_listener_goes_away_with_an_error():
    model = LSSMTC(4)
    with pytest.raises(RuntimeError, match="stop"), watched(model, Listener()):
        raise RuntimeError("stop")
    assert not hasattr(model, "_listener")
    assert tell(model, "stage", fraction=1.0) is None


def test_a_listener_changes_no_result(blobs):
    alone = SPMTC(4, within_weight=0.5, random_state=0).fit(blobs.X, tasks=blobs.tasks)
    model = SPMTC(4, within_weight=0.5, random_state=0)
    with watched(model, Listener()):
        model.fit(blobs.X, tasks=blobs.tasks)
    np.testing.assert_array_equal(model.losses_, alone.losses_)


def test_lines_name_start_stage_iterations_and_objective(capsys):
    model = SimpleNamespace(verbose=1)
    progress = FitProgress(model, ["random", "pooled"], Stages((0.5, 1.0), warmup_iter=1), {})
    assert progress.n_stages == 3
    watch = progress.start(1)
    for fraction, iteration, value in [(0.0, 0, 9.0), (0.5, 0, 8.0), (0.5, 1, 7.0), (1.0, 0, 6.0)]:
        assert watch(fraction, iteration, value) is False
    watch.end()
    progress.end()
    assert capsys.readouterr().out.splitlines() == [
        "[SimpleNamespace] start 2/2 (pooled), warm-up: 1 iterations, objective 9",
        "[SimpleNamespace] start 2/2 (pooled), fraction 0.50: 2 iterations, objective 7",
        "[SimpleNamespace] start 2/2 (pooled), fraction 1.00: 1 iterations, objective 6",
    ]


def test_a_start_without_iterations_says_nothing(capsys):
    FitProgress(SimpleNamespace(verbose=1), ["random"], Stages(), {}).start(0).end()
    assert capsys.readouterr().out == ""


class Context:
    """Records what scikit-learn's callbacks would be told; asks to stop from some iteration on."""

    def __init__(self, log, name="fit", stop_after=None):
        self.log, self.name, self.stop_after, self.children = log, name, stop_after, 0

    def subcontext(self, task_name, **details):
        self.children += 1
        stop = self.stop_after if task_name != "iteration" else self.children >= (self.stop_after or np.inf)
        return Context(self.log, task_name, stop)

    def call_on_fit_task_begin(self, **details):
        self.log.append(("begin", self.name))

    def call_on_fit_task_end(self, **details):
        self.log.append(("end", self.name))
        return self.stop_after if self.name == "iteration" else None


def with_callbacks(log, stop_after=None):
    context = Context(log, stop_after=stop_after)
    return SimpleNamespace(verbose=0, _skl_callbacks=[], _init_callback_context=lambda **details: context)


def test_callbacks_see_nested_tasks_that_all_end():
    log = []
    progress = FitProgress(with_callbacks(log), ["random"], Stages((0.5, 1.0)), {"X": None})
    watch = progress.start(0)
    for fraction in (0.5, 0.5, 1.0):
        assert watch(fraction, 0, 1.0) is False
    watch.end()
    progress.end()
    assert log[0] == ("begin", "fit")
    assert log[-1] == ("end", "fit")
    for name, count in {"fit": 1, "start": 1, "stage": 2, "iteration": 3}.items():
        assert log.count(("begin", name)) == log.count(("end", name)) == count


def test_a_callback_that_asks_to_stop_ends_the_stage():
    watch = FitProgress(with_callbacks([], stop_after=2), ["random"], Stages(), {}).start(0)
    assert [watch(1.0, 0, 1.0), watch(1.0, 1, 1.0)] == [False, True]


def test_starts_in_threads_are_told_apart(blobs):
    model = LSSMTC(4, within_weight=0.5, init="random", n_init=4, n_jobs=2, random_state=0)
    lock, stages = threading.Lock(), []

    def listener(step, **details):
        with lock:
            stages.append(step)

    with watched(model, listener):
        model.fit(blobs.X, tasks=blobs.tasks)
    assert stages.count("stage") == 4


def test_warnings_point_at_the_line_of_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_user("something")
        LSSMTC(4, membership="nonnegative", within_weight=0.5, n_init=1, max_iter=1, random_state=0).fit(
            np.random.default_rng(0).random((20, 2))
        )
    assert [warning.filename for warning in caught] == [__file__] * 2
    assert "with 2 feature(s) and 4 clusters" in str(caught[1].message)


def rendered(stream):
    """The line that a terminal or a notebook shows at each moment: each piece overwrites the one before."""
    line, seen = "", []
    for piece in stream.split("\r")[1:]:
        line = piece + line[len(piece) :]
        seen.append(line.rstrip())
    return seen


def test_a_bar_is_one_line_that_fills_and_goes(capsys):
    with bar(4, "fitting again", verbose=1) as step:
        for _ in range(5):  # one more than was expected
            step()
    stream = capsys.readouterr().err
    assert "\n" not in stream
    *shown, blank, last = rendered(stream)
    assert (blank, last) == ("", "")
    assert shown[0] == "fitting again [....................]   0 %"
    assert [line.count("#") for line in shown] == [0, 5, 10, 15, 20, 20]
    assert shown[-1].endswith("100 %")


def test_there_is_no_bar_unless_it_is_asked_for(capsys):
    with bar(1, "fitting again", verbose=0) as step:
        step()
    assert capsys.readouterr().err == ""
