"""`mtcluster benchmark paper`: run, resume, report."""

from __future__ import annotations

import argparse
import errno
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from . import figures, pages, paper, report, runner, views
from .rows import COLUMNS, BenchmarkError, Row, RunFile, locked

NEEDED = ("matplotlib", "pandas", "pyarrow")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `mtcluster benchmark paper`."""
    names = lambda text: [part.strip() for part in text.split(",") if part.strip()]  # noqa: E731
    parser.add_argument("--data", required=True, type=Path, metavar="DIR", help="folder with the task sets (.npz)")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder for runs, tables and figures")
    parser.add_argument("--quick", action="store_true", help="2 runs, 3 values of λ1: minutes instead of an hour")
    parser.add_argument("--methods", type=names, default=list(paper.METHODS), metavar="A,B", help="default: all nine")
    parser.add_argument(
        "--sets", type=names, default=list(paper.SETS), metavar="A,B", help="default: the six; also WebKB6"
    )
    parser.add_argument(
        "--features", type=names, default=list(report.VIEWS), metavar="A,B", help="raw, tfidf; default: both"
    )
    parser.add_argument(
        "--runs", type=int, default=None, metavar="N", help="runs of each method (default 20; with --quick 2)"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="runs side by side (default: cores)"
    )
    parser.add_argument("--resume", action="store_true", help="go on with what is in --out")


def run(arguments: argparse.Namespace) -> int:
    """Run the benchmark; errors that the user can mend end with exit code 2 and a sentence."""
    try:
        return _run(arguments)
    except BenchmarkError as error:
        print(f"mtcluster benchmark: {error}", file=sys.stderr)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        what = "the disk is full" if full else f"{error.filename or arguments.out}: {error.strerror}"
        print(
            f"mtcluster benchmark: {what}. Finished runs are kept in {arguments.out}; mend it and add --resume.",
            file=sys.stderr,
        )
    except KeyboardInterrupt:
        print(
            f"\nmtcluster benchmark: stopped. Finished runs are kept in {arguments.out}; go on with --resume.",
            file=sys.stderr,
        )
        return 130
    return 2


def _run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    runs = arguments.runs or (2 if arguments.quick else 20)
    specs = paper.specs(
        sets=arguments.sets, methods=arguments.methods, features=arguments.features, runs=runs, quick=arguments.quick
    )
    with locked(arguments.out):
        file = RunFile(arguments.out)
        if file.path.exists() and not arguments.resume:
            raise BenchmarkError(f"{file.path} is there already: add --resume to go on with it, or give another --out.")
        views.check_folder(arguments.data, arguments.sets, noise=any(spec.noise for spec in specs))
        wanted = set(specs)
        kept = file.read()
        file.rewrite(kept)
        done = {row.spec() for row in kept}
        left = [spec for spec in specs if spec not in done]
        began = time.perf_counter()
        with _progress(len(specs), len(specs) - len(left)) as advance:
            runner.run_all(left, arguments.data, file, jobs=arguments.jobs, progress=advance)
        rows = file.read()
        file.rewrite(rows)
        asked = [row for row in rows if row.spec() in wanted]
        write_results(asked, arguments.out, _command())
    print(pages.plain(report.summary(asked)))
    minutes = (time.perf_counter() - began) / 60
    print(f"{len(left)} runs in {minutes:.1f} minutes ({len(specs) - len(left)} were there). Results: {arguments.out}")
    return 0


def _check(arguments: argparse.Namespace) -> None:
    for option, known in (("methods", paper.METHODS), ("sets", tuple(views.FILES)), ("features", tuple(report.VIEWS))):
        given = getattr(arguments, option)
        unknown = [name for name in given if name not in known]
        if unknown or not given:
            raise BenchmarkError(f"--{option} {','.join(unknown) or '(nothing)'}: known are {', '.join(known)}.")
    for option in ("runs", "jobs"):
        value = getattr(arguments, option)
        if value is not None and value < 1:
            raise BenchmarkError(f"--{option} {value}: a positive number is needed.")
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise BenchmarkError(f"{', '.join(missing)} is needed: pip install 'mtcluster[benchmark]'.")


def write_results(rows: list[Row], folder: Path, command: str) -> None:
    """Tables, findings, figures and the rows as Parquet."""
    import pandas as pd

    figures.draw(rows, folder / "figures")
    for name, parts in (("tables", report.tables(rows, command)), ("findings", report.findings(rows, command))):
        for form in ("md", "tex", "html") if name == "tables" else ("md",):
            (folder / f"{name}.{form}").write_text(pages.write(parts, form, "mtcluster benchmark"), encoding="utf-8")
    frame = pd.DataFrame({column: [getattr(row, column) for row in rows] for column in COLUMNS})
    frame.to_parquet(folder / "runs.parquet", index=False)


def _command() -> str:
    return shlex.join(["mtcluster", *sys.argv[1:]])


@contextmanager
def _progress(total: int, done: int) -> Iterator[Callable[[int], None]]:
    """A bar with the time left on a terminal, a line now and then elsewhere."""
    if sys.stderr.isatty() and find_spec("rich") is not None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("runs", total=total, completed=done)
            yield lambda n: bar.update(task, completed=done + n)
        return
    began, every = time.perf_counter(), max(1, (total - done) // 20)

    def line(n: int) -> None:
        if n % every == 0 or done + n == total:
            left = (time.perf_counter() - began) / n * (total - done - n)
            print(f"{done + n} of {total} runs, about {left / 60:.0f} min left", file=sys.stderr, flush=True)

    yield line
