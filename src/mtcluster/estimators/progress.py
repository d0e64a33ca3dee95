"""Progress of a fit: lines at verbose=1, scikit-learn's callbacks, and warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sklearn.base import BaseEstimator

from .._sklearn_compat import Context
from ..core.pacing import Stages

SKIPPED = ("mtcluster", "sklearn", "joblib")  # whose lines are not the user's


@contextmanager
def watched(estimator: BaseEstimator, listener: Callable[..., None]) -> Iterator[None]:
    """Call `listener(step, **details)` at the steps of a fit; starts may call it from several threads."""
    estimator.__dict__["_listener"] = listener
    try:
        yield
    finally:
        del estimator.__dict__["_listener"]


def tell(estimator: BaseEstimator, step: str, **details: object) -> None:
    """Report a step to the listener, if there is one."""
    listener = getattr(estimator, "_listener", None)
    if listener is not None:
        listener(step, **details)


@contextmanager
def bar(total: int, text: str, verbose: int) -> Iterator[Callable[[], None]]:
    """Yield a bar on standard error that each call moves on, if verbose; it is gone when the work is done."""
    done = 0

    def draw() -> None:
        filled = round(20 * min(done / total, 1))
        sys.stderr.write(f"\r{text} [{'#' * filled}{'.' * (20 - filled)}] {100 * min(done / total, 1):3.0f} %")
        sys.stderr.flush()

    def step() -> None:
        nonlocal done
        done += 1
        if verbose:
            draw()

    if verbose:
        draw()
    try:
        yield step
    finally:
        if verbose:
            sys.stderr.write("\r" + " " * (len(text) + 30) + "\r")
            sys.stderr.flush()


class FitProgress:
    """Follows the starts of one fit.

    In scikit-learn's terms a fit has one task per start, a start one per stage, and a stage one per iteration. A
    callback that asks to stop at an iteration ends that stage.
    """

    def __init__(self, estimator: BaseEstimator, kinds: list[str], pace: Stages, arguments: dict[str, object]) -> None:
        self.estimator = estimator
        self.kinds = kinds
        self.n_stages = len(pace.fractions) + (pace.warmup_iter > 0)
        self.arguments = arguments  # X, y and metadata of the fit, as callbacks get them
        self.context = None
        if hasattr(estimator, "_skl_callbacks"):
            self.context = estimator._init_callback_context(max_subtasks=len(kinds), sequential_subtasks=False)
            self.context.call_on_fit_task_begin(estimator=estimator, **arguments)
        tell(estimator, "fit", n_stages=self.n_stages * len(kinds))

    def start(self, index: int) -> StartProgress:
        """Return the progress of one start; starts may run in parallel."""
        return StartProgress(self, index)

    def end(self) -> None:
        """The estimator is fitted."""
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.estimator, **self.arguments, reconstruction_attributes={})


class StartProgress:
    """Turns the solver's calls, one per iteration, into lines and callback tasks."""

    def __init__(self, fit: FitProgress, index: int) -> None:
        self.fit, self.index = fit, index
        self.fraction: float | None = None
        self.stage: Context = None
        self.context = None
        self.last = (0, 0.0)
        if fit.context is not None:
            self.context = fit.context.subcontext(task_name="start", task_id=index, max_subtasks=fit.n_stages)
            self.context.call_on_fit_task_begin(estimator=fit.estimator)

    def __call__(self, fraction: float, iteration: int, value: float) -> bool:
        """Note that an iteration of this stage (fraction 0: the warm-up) is done; True asks to end the stage."""
        if fraction != self.fraction:
            self._end_stage()
            self.fraction = fraction
            if self.context is not None:
                self.stage = self.context.subcontext(task_name="stage", max_subtasks=None)
                self.stage.call_on_fit_task_begin(estimator=self.fit.estimator)
        self.last = (iteration + 1, value)
        if self.stage is None:
            return False
        step = self.stage.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(estimator=self.fit.estimator)
        return bool(step.call_on_fit_task_end(estimator=self.fit.estimator))

    def end(self) -> None:
        """The start is done."""
        self._end_stage()
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.fit.estimator)

    def _end_stage(self) -> None:
        if self.fraction is None:
            return
        if self.stage is not None:
            self.stage.call_on_fit_task_end(estimator=self.fit.estimator)
        tell(self.fit.estimator, "stage", fraction=self.fraction, objective=self.last[1])
        if self.fit.estimator.verbose:
            stage = "warm-up" if self.fraction == 0 else f"fraction {self.fraction:.2f}"
            name, kinds = type(self.fit.estimator).__name__, self.fit.kinds
            iterations, value = self.last
            print(
                f"[{name}] start {self.index + 1}/{len(kinds)} ({kinds[self.index]}), {stage}: "
                f"{iterations} iterations, objective {value:.6g}",
                flush=True,
            )


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code, however deep in scikit-learn the call came from."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in SKIPPED:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
