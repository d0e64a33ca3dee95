"""`python -m benchmarks NAME`: run, resume, write pages."""

from __future__ import annotations

import argparse
import errno
import os
import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from types import ModuleType

import pandas as pd

from mtcluster._utils.files import replacing
from mtcluster.cli import stopping
from mtcluster.cli.console import Console

from . import figures, integration, pages, paper, peers, runner
from .data import check_folder
from .methods import LIGER, needed
from .store import RUN, BenchmarkError, RunFile, Spec, locked, of_specs

# Each module says what is run (specs, and what can be chosen of them) and what is told (numbers, summary).
BENCHMARKS = {"paper": paper, "peers": peers, "integration": integration}
DRAWN = {"paper": figures.draw_paper, "integration": figures.draw_integration}
EXTRAS = {"harmonypy": "harmony", "pyliger": "integration"}  # package → extra that installs it


def names(text: str) -> list[str]:
    """Split names at commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def missing(method: str) -> list[str]:
    """List the packages that a method needs and that are not installed."""
    return [package for package in needed(method) if find_spec(package) is None]


def make_parser() -> argparse.ArgumentParser:
    """Build the parser, with a command for each benchmark."""
    text = "Repeat published experiments, and compare with other methods."
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=text)
    commands = parser.add_subparsers(dest="benchmark", metavar="NAME", required=True)
    for name, of in BENCHMARKS.items():
        _add_options(commands.add_parser(name, help=of.HELP, description=of.HELP), of)
    return parser


def _add_options(parser: argparse.ArgumentParser, of: ModuleType) -> None:
    add, folder = parser.add_argument, os.environ.get("MTCLUSTER_DATA")
    text = "folder with the task sets (.npz); default: the environment variable MTCLUSTER_DATA"
    add("--data", type=Path, default=Path(folder) if folder else None, metavar="DIR", help=text)
    add("--out", required=True, type=Path, metavar="DIR", help="folder for runs, tables and figures")
    add("--quick", action="store_true", help=of.QUICK)
    left_out = [LIGER] if LIGER in of.METHODS and missing(LIGER) else []
    text = "default: all" + "".join(f" but {one}, as {missing(one)[0]} is missing" for one in left_out)
    default = [method for method in of.METHODS if method not in left_out]
    add("--methods", type=names, default=default, metavar="A,B", help=text)
    extra = ", ".join(one for one in (*of.KNOWN_SETS, *getattr(of, "GROUPS", ())) if one not in of.SETS)
    text = "default: all" + f"; also {extra}" * bool(extra)
    add("--sets", type=names, default=list(of.SETS), metavar="A,B", help=text)
    if hasattr(of, "FEATURES"):
        text = f"{', '.join(of.FEATURES)}; default: all"
        add("--features", type=names, default=list(of.FEATURES), metavar="A,B", help=text)
    text = f"runs of each method (default {of.RUNS}; with --quick {of.QUICK_RUNS})"
    add("--runs", type=int, metavar="N", help=text)
    text = "runs in parallel (default: number of cores)"
    add("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help=text)
    add("--resume", action="store_true", help="continue with the runs in --out")
    text = "run nothing: write tables, findings and figures of the runs in --out again"
    add("--pages", action="store_true", help=text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a benchmark, and return its exit code; errors that the user can fix end with 2 and a sentence."""
    argv = sys.argv[1:] if argv is None else argv
    arguments = make_parser().parse_args(argv)
    command = shlex.join(["python", "-m", "benchmarks", *argv])
    kept = f"Finished runs are kept in {arguments.out}"
    with stopping.working():
        try:
            (_write_pages if arguments.pages else _run)(arguments, command)
            return 0
        except BenchmarkError as error:
            return _say(str(error), 2)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            what = "the disk is full" if full else f"{error.filename or arguments.out}: {error.strerror}"
            return _say(f"{what}. {kept}; fix this and add --resume.", 2)
        except KeyboardInterrupt:
            return _say(f"stopped. {kept}; continue with --resume.", stopping.exit_code())


def _say(sentence: str, code: int) -> int:
    print(f"python -m benchmarks: {sentence}", file=sys.stderr)
    return code


def _run(arguments: argparse.Namespace, command: str) -> None:
    of = BENCHMARKS[arguments.benchmark]
    groups = getattr(of, "GROUPS", {})
    arguments.sets = [one for name in arguments.sets for one in groups.get(name, (name,))]
    _check(arguments, of)
    runs = arguments.runs or (of.QUICK_RUNS if arguments.quick else of.RUNS)
    chosen = {"features": arguments.features} if hasattr(of, "FEATURES") else {}
    specs = of.specs(sets=arguments.sets, methods=arguments.methods, runs=runs, quick=arguments.quick, **chosen)
    with locked(arguments.out):
        file, began = RunFile(arguments.out), perf_counter()
        existing = file.existing()
        if existing is not None and not arguments.resume:
            raise BenchmarkError(f"{existing} already exists: add --resume to continue with it, or give another --out.")
        check_folder(arguments.data, arguments.sets, noise=any(spec.noise for spec in specs))
        kept = file.read()
        file.rewrite(kept)
        done = {Spec(*run) for run in kept[RUN].itertuples(index=False)}
        left = [spec for spec in specs if spec not in done]
        _run_all(left, arguments, file, len(specs))
        rows = file.read()
        file.rewrite(rows)
        asked = of_specs(rows, specs)
        write_results(arguments.benchmark, asked, arguments.out, command)
    for heading, table in of.summary(asked).items():
        print(f"{heading}\n\n{table.to_string(index=False)}\n")
    minutes, before = (perf_counter() - began) / 60, len(specs) - len(left)
    print(f"{len(left)} runs in {minutes:.1f} minutes ({before} were done before). Results: {arguments.out}")


def _run_all(left: Sequence[Spec], arguments: argparse.Namespace, file: RunFile, total: int) -> None:
    """Run specs, with a progress bar on a terminal and a line now and then elsewhere."""
    console, every = Console(), max(1, len(left) // 20)

    def progress(number: int) -> None:
        console.finish(1)
        if number % every == 0 or number == len(left):
            console.begin(f"{total - len(left) + number} of {total} runs")

    with console.working(len(left)):
        runner.run_all(left, arguments.data, file, jobs=arguments.jobs, progress=progress)


def _write_pages(arguments: argparse.Namespace, command: str) -> None:
    """Write the pages of the runs in the folder again."""
    file = RunFile(arguments.out)
    if file.existing() is None:
        raise BenchmarkError(f"--pages: there is neither {file.path.name} nor {file.parquet.name} in {arguments.out}.")
    with locked(arguments.out):
        rows = file.read()
        write_results(arguments.benchmark, rows, arguments.out, command)
    print(f"Pages of {len(rows[RUN].drop_duplicates())} runs: {arguments.out}")


def _check(arguments: argparse.Namespace, of: ModuleType) -> None:
    if arguments.data is None:
        raise BenchmarkError("--data is needed: a folder with the task sets, here or in MTCLUSTER_DATA.")
    choices = {"methods": of.METHODS, "sets": of.KNOWN_SETS, "features": getattr(of, "FEATURES", ())}
    for option, known in choices.items():
        given = getattr(arguments, option, ())
        unknown = [name for name in given if name not in known]
        if unknown or (known and not given):
            raise BenchmarkError(f"--{option} {','.join(unknown) or '(nothing)'}: known are {', '.join(known)}.")
    for option in ("runs", "jobs"):
        if (value := getattr(arguments, option)) is not None and value < 1:
            raise BenchmarkError(f"--{option} {value}: a positive number is needed.")
    for method in arguments.methods:
        for package in missing(method):
            install = f"pip install 'mtcluster[{EXTRAS[package]}]', or name other --methods."
            raise BenchmarkError(f"{method} needs {package}: {install}")


def write_results(name: str, rows: pd.DataFrame, folder: Path, command: str) -> None:
    """Write tables, findings, figures and the rows as Parquet."""
    if name in DRAWN:
        DRAWN[name](rows, folder / "figures")
    values = BENCHMARKS[name].numbers(rows) | {"command": command, "versions": ", ".join(sorted(set(rows["versions"])))}
    tables, findings = (pages.fill(f"{name}_{part}.md", values) for part in ("tables", "findings"))
    texts = {f"tables.{form}": pages.convert(tables, form) for form in ("tex", "html")}
    for file, text in (texts | {"tables.md": tables, "findings.md": findings}).items():
        with replacing(folder / file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    RunFile(folder).write_parquet(rows)
