"""`mtcluster benchmark NAME`: run, resume, write pages."""

from __future__ import annotations

import argparse
import errno
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .._utils.files import replacing
from ..cli import stopping
from . import (
    figures,
    integration,
    integration_figure,
    integration_methods,
    integration_report,
    pages,
    paper,
    peer_report,
    peers,
    report,
    runner,
    views,
)
from .runs import BenchmarkError, Row, RunFile, Spec, locked

NEEDED = ("matplotlib", "pandas", "pyarrow")
EXTRAS = {"harmonypy": "harmony", "pyliger": "integration"}  # package → extra that installs it


@dataclass(frozen=True)
class Benchmark:
    """What one benchmark runs and writes."""

    help: str
    methods: tuple[str, ...]
    sets: tuple[str, ...]  # run by default
    known_sets: tuple[str, ...]
    runs: int  # of each method, with and without --quick
    quick_runs: int
    quick_help: str
    specs: Callable[..., list[Spec]]
    pages: Any  # the module with tables, findings and summary
    features: tuple[str, ...] = ()  # to choose from; none: given by the set
    draw: Callable[[Sequence[Row], Path], Any] | None = None
    needed: Callable[[str], tuple[str, ...]] = lambda method: ()  # packages of a method
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # names for several sets
    optional: tuple[str, ...] = ()  # methods that run by default only where their packages are installed


BENCHMARKS = {
    "paper": Benchmark(
        "the evaluation of the paper of SPMTC, on its six data sets",
        methods=paper.METHODS,
        sets=paper.SETS,
        known_sets=tuple(views.FILES),
        runs=20,
        quick_runs=2,
        quick_help="2 runs, 3 values of λ1: minutes instead of an hour",
        specs=paper.specs,
        pages=report,
        features=tuple(report.VIEWS),
        draw=figures.draw,
    ),
    "peers": Benchmark(
        "comparison with k-means, Gaussian mixtures, NMF and spectral clustering, without labels",
        methods=peers.METHODS,
        sets=peers.SETS,
        known_sets=peers.SETS,
        runs=5,
        quick_runs=1,
        quick_help="1 run, no ablations",
        specs=peers.specs,
        pages=peer_report,
    ),
    "integration": Benchmark(
        "comparison with Harmony, k-means and Gaussian mixtures on tasks that lie apart or hold different clusters",
        methods=integration_methods.METHODS,
        sets=integration.SETS,
        known_sets=integration.SETS,
        runs=10,
        quick_runs=1,
        quick_help="1 run",
        specs=integration.specs,
        pages=integration_report,
        draw=integration_figure.draw,
        needed=integration_methods.needed,
        groups={name: tuple(sets) for name, sets in integration.GROUPS.items()},
        optional=(integration_methods.LIGER,),
    ),
}


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Options of one benchmark."""
    of = BENCHMARKS[name]
    parser.set_defaults(benchmark=name, features=list(of.features))
    names = lambda text: [part.strip() for part in text.split(",") if part.strip()]  # noqa: E731
    folder = os.environ.get("MTCLUSTER_DATA")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(folder) if folder else None,
        metavar="DIR",
        help="folder with the task sets (.npz); default: the environment variable MTCLUSTER_DATA",
    )
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder for runs, tables and figures")
    parser.add_argument("--quick", action="store_true", help=of.quick_help)
    absent = [method for method in of.optional if _missing(of, method)]
    known = "default: all" + "".join(f" but {method}, as {_missing(of, method)[0]} is missing" for method in absent)
    default = [method for method in of.methods if method not in absent]
    parser.add_argument("--methods", type=names, default=default, metavar="A,B", help=known)
    extra = [one for one in of.known_sets if one not in of.sets]
    also = f"; also {', '.join((*extra, *of.groups))}" if extra or of.groups else ""
    parser.add_argument("--sets", type=names, default=list(of.sets), metavar="A,B", help=f"default: all{also}")
    if of.features:
        known = f"{', '.join(of.features)}; default: all"
        parser.add_argument("--features", type=names, metavar="A,B", help=known)
    parser.add_argument(
        "--runs",
        type=int,
        default=None,
        metavar="N",
        help=f"runs of each method (default {of.runs}; with --quick {of.quick_runs})",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="runs in parallel (default: number of cores)"
    )
    parser.add_argument("--resume", action="store_true", help="continue with the runs in --out")
    again = "run nothing: write tables, findings and figures of the runs in --out again"
    parser.add_argument("--pages", action="store_true", help=again)


def run(arguments: argparse.Namespace) -> int:
    """Run the benchmark; errors that the user can fix end with exit code 2 and a sentence."""
    try:
        return _write_pages(arguments) if arguments.pages else _run(arguments)
    except BenchmarkError as error:
        print(f"mtcluster benchmark: {error}", file=sys.stderr)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        what = "the disk is full" if full else f"{error.filename or arguments.out}: {error.strerror}"
        print(
            f"mtcluster benchmark: {what}. Finished runs are kept in {arguments.out}; fix this and add --resume.",
            file=sys.stderr,
        )
    except KeyboardInterrupt:
        print(
            f"\nmtcluster benchmark: stopped. Finished runs are kept in {arguments.out}; continue with --resume.",
            file=sys.stderr,
        )
        return stopping.exit_code()
    return 2


def _run(arguments: argparse.Namespace) -> int:
    of = BENCHMARKS[arguments.benchmark]
    arguments.sets = [one for name in arguments.sets for one in of.groups.get(name, (name,))]
    _check(arguments, of)
    runs = arguments.runs or (of.quick_runs if arguments.quick else of.runs)
    chosen = {"sets": arguments.sets, "methods": arguments.methods} | (
        {"features": arguments.features} if of.features else {}
    )
    specs = of.specs(**chosen, runs=runs, quick=arguments.quick)
    with locked(arguments.out):
        file = RunFile(arguments.out)
        existing = file.existing()
        if existing is not None and not arguments.resume:
            raise BenchmarkError(f"{existing} already exists: add --resume to continue with it, or give another --out.")
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
        write_results(of, asked, arguments.out, _command())
    print(pages.plain(of.pages.summary(asked)))
    minutes = (time.perf_counter() - began) / 60
    before = len(specs) - len(left)
    print(f"{len(left)} runs in {minutes:.1f} minutes ({before} were done before). Results: {arguments.out}")
    return 0


def _write_pages(arguments: argparse.Namespace) -> int:
    """Write the pages of the runs in the folder again."""
    of = BENCHMARKS[arguments.benchmark]
    _check_packages()
    file = RunFile(arguments.out)
    if file.existing() is None:
        raise BenchmarkError(f"--pages: there is neither {file.path.name} nor {file.parquet.name} in {arguments.out}.")
    with locked(arguments.out):
        rows = file.read()
        write_results(of, rows, arguments.out, _command())
    print(f"Pages of {len({row.spec() for row in rows})} runs: {arguments.out}")
    return 0


def _check(arguments: argparse.Namespace, of: Benchmark) -> None:
    if arguments.data is None:
        raise BenchmarkError("--data is needed: a folder with the task sets, here or in MTCLUSTER_DATA.")
    for option, known in (("methods", of.methods), ("sets", of.known_sets), ("features", of.features)):
        if not known:
            continue
        given = getattr(arguments, option)
        unknown = [name for name in given if name not in known]
        if unknown or not given:
            raise BenchmarkError(f"--{option} {','.join(unknown) or '(nothing)'}: known are {', '.join(known)}.")
    for option in ("runs", "jobs"):
        value = getattr(arguments, option)
        if value is not None and value < 1:
            raise BenchmarkError(f"--{option} {value}: a positive number is needed.")
    _check_packages()
    for method in arguments.methods:
        missing = _missing(of, method)
        if missing:
            package, extra = missing[0], EXTRAS[missing[0]]
            raise BenchmarkError(
                f"{method} needs {package}: pip install 'mtcluster[{extra}]', or name other --methods."
            )


def _missing(of: Benchmark, method: str) -> list[str]:
    """Packages that a method needs and that are not installed."""
    return [package for package in of.needed(method) if find_spec(package) is None]


def _check_packages() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise BenchmarkError(f"{', '.join(missing)} is needed: pip install 'mtcluster[benchmark]'.")


def write_results(of: Benchmark, rows: list[Row], folder: Path, command: str) -> None:
    """Tables, findings, figures and the rows as Parquet."""
    if of.draw is not None:
        of.draw(rows, folder / "figures")
    for name, parts in (("tables", of.pages.tables(rows, command)), ("findings", of.pages.findings(rows, command))):
        for form in ("md", "tex", "html") if name == "tables" else ("md",):
            with replacing(folder / f"{name}.{form}") as temporary:
                temporary.write_text(pages.write(parts, form, "mtcluster benchmark"), encoding="utf-8")
    RunFile(folder).write_parquet(rows)


def _command() -> str:
    return shlex.join(["mtcluster", *sys.argv[1:]])


@contextmanager
def _progress(total: int, done: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on a terminal, a line now and then elsewhere."""
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
