"""Messages while a command works: a progress bar on a terminal, lines in a log, nothing with --quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from .stopping import check
from .streams import plain, say

Tell = Callable[[dict[str, Any]], None]


class Console:
    """Shows on standard error what is being done, and about how long it will still take."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.began = time.perf_counter()
        self.done, self.total = 0.0, 1.0
        self._bar: Any = None
        self._task: Any = None

    @contextmanager
    def working(self, total: float) -> Iterator[None]:
        """Begin work of `total` units, with a progress bar if there is a terminal and rich is installed."""
        self.began, self.done, self.total = time.perf_counter(), 0.0, total
        if self.quiet or sys.stderr is None or not sys.stderr.isatty() or find_spec("rich") is None:
            yield
            return
        from rich.console import Console as Terminal
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(bar_width=20), TextColumn("{task.description}"), TimeRemainingColumn())
        with Progress(*columns, console=Terminal(stderr=True), transient=True) as self._bar:
            self._task = self._bar.add_task("", total=total)
            try:
                yield
            finally:
                self._bar = None

    def begin(self, text: str, *, detail: bool = False) -> None:
        """Say what is done next; a `detail` is shown by a progress bar alone, not in a log."""
        check()
        if self._bar is not None:
            self._bar.update(self._task, description=text)
            return
        if detail:
            return
        passed, left = time.perf_counter() - self.began, ""
        if self.done > 0:
            seconds = passed / self.done * (self.total - self.done)
            left = ", less than 1 s left" if seconds < 1 else f", about {seconds:.0f} s left"
        self.note(f"[{passed:6.1f} s] {text}{left}")

    def finish(self, units: float) -> None:
        """Count units of work as done."""
        check()
        self.done += units
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)

    def note(self, text: str) -> None:
        """Print a line."""
        if self._bar is not None:
            self._bar.console.print(plain(text), markup=False, highlight=False)
        elif not self.quiet:
            say(text, sys.stderr)


class Progress(Console):
    """Tells the steps of a command as events."""

    def __init__(self, tell: Tell) -> None:
        super().__init__(quiet=True)
        self.tell = tell

    def begin(self, text: str, *, detail: bool = False) -> None:
        """Tell what is done next."""
        super().begin(text, detail=detail)
        self.tell({"stage": text, "share": min(self.done / self.total, 1.0)})

    def finish(self, units: float) -> None:
        """Tell that units of work are done."""
        super().finish(units)
        self.tell({"share": min(self.done / self.total, 1.0)})
