"""What the command line says while it works: a bar on a terminal, lines in a log, nothing when asked to be quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any


class Console:
    """Says what is being done, how far it is and how long it may still take."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.began = time.perf_counter()
        self.done, self.total = 0.0, 1.0
        self._bar: Any = None
        self._task: Any = None

    @contextmanager
    def working(self, total: float) -> Iterator[None]:
        """Work of so many units."""
        self.began, self.done, self.total = time.perf_counter(), 0.0, total
        if self.quiet or not sys.stderr.isatty() or find_spec("rich") is None:
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

    def plan(self, more: float) -> None:
        """There is more to do than was known."""
        self.total += more
        if self._bar is not None:
            self._bar.update(self._task, total=self.total)

    def begin(self, text: str) -> None:
        """Something begins."""
        if self._bar is not None:
            self._bar.update(self._task, description=text)
        elif not self.quiet:
            self._line(text)

    def finish(self, units: float) -> None:
        """So many units of the work are done."""
        self.done += units
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)

    def note(self, text: str) -> None:
        """Something that the user should know."""
        if self.quiet:
            return
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr, flush=True)

    def _line(self, text: str) -> None:
        passed = time.perf_counter() - self.began
        left = passed / self.done * (self.total - self.done) if self.done > 0 else None
        soon = "less than 1" if left is not None and left < 1 else f"about {left:.0f}" if left is not None else ""
        tail = f", {soon} s left" if soon else ""
        print(f"[{passed:6.1f} s] {text}{tail}", file=sys.stderr, flush=True)
