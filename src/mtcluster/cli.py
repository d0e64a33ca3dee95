"""The command line: options, what is printed, exit codes.

0: done. 2: something that the user can mend, said in one sentence. 1: a fault of ours. 130: interrupted.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from . import __version__

OUTPUTS = "labels.csv, centers.csv, model.skops, settings.json, report.html"

MEANINGS = {
    "accuracy": "share of rows that agree with the known classes, mean over tasks, clusters matched in each.",
    "nmi": "normalised mutual information with the known classes, mean over tasks.",
    "joint_accuracy": "the same share with one matching for all tasks: do clusters correspond?",
    "correspondence": "how alike clusters of the same number lie in different tasks, from 0 to 1.",
    "follows_task": "how much clusters follow the data set instead of the structure, from 0 to 1.",
    "stability": "share of rows that get the same cluster again from other starts.",
    "like_first": "agreement with the first method (adjusted Rand index).",
}


class Parser(argparse.ArgumentParser):
    """Says in one sentence what is wrong."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        self.exit(2, f"{self.prog}: {message} (`{self.prog} --help` tells more)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `mtcluster` with the given arguments, those of the process by default; returns its exit code."""
    parser = make_parser(list(sys.argv[1:] if argv is None else argv))
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 2
    if arguments.command == "benchmark":
        from .benchmark import command

        return command.run(arguments)
    if arguments.command == "demo":
        from . import demo

        print(demo.run(arguments.seeds, arguments.slant))
        return 0
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    """One of the commands on files; nothing half done is left whatever happens."""
    from . import commands
    from .console import Console
    from .io import InputError

    console = Console(quiet=arguments.quiet)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's stop cleans up as Ctrl-C does
    try:
        told = getattr(commands, arguments.command)(arguments, console)
    except KeyboardInterrupt:
        return _say(arguments, "stopped; nothing was written.", 130)
    except MemoryError:
        return _say(
            arguments, "the memory of this machine is too small for these data: --scheduler takes a cluster.", 2
        )
    except InputError as error:
        return _say(arguments, str(error), 2)
    except ImportError as error:
        return _say(arguments, f"{error} (pip install 'mtcluster[all]' brings everything)", 2)
    except OSError as error:
        return _say(arguments, _disk(error), 2)
    except Exception:
        traceback.print_exc()
        return _say(arguments, "this is a fault of mtcluster, not yours: please report it with the lines above.", 1)
    return _tell(arguments, told)


def _say(arguments: argparse.Namespace, sentence: str, code: int) -> int:
    print(f"mtcluster {arguments.command}: {sentence}", file=sys.stderr)
    return code


def _disk(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "the disk is full (or a limit on file sizes is reached); nothing was written."
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}; nothing was written."


def _tell(arguments: argparse.Namespace, told: dict[str, Any]) -> int:
    try:
        if arguments.json:
            print(json.dumps(told, indent=2, ensure_ascii=False))
        elif not arguments.quiet or arguments.command == "compare":
            print("\n".join(_lines(arguments, told)))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _lines(arguments: argparse.Namespace, told: dict[str, Any]) -> list[str]:
    """The result in words."""
    from .tables import Table

    if arguments.command == "fit":
        return _fit_lines(told)
    if arguments.command == "compare":
        table = Table.from_rows(told["table"])
        key = [f"{name}: {meaning}" for name, meaning in MEANINGS.items() if name in table]
        head = f"{told['n_rows']} rows, {told['n_clusters']} clusters."
        return [head, *told["notes"], "", str(table), "", *key]
    if arguments.command == "predict":
        sizes = ", ".join(f"{j}: {n}" for j, n in told["sizes"].items())
        return [f"{told['n_rows']} rows labelled (rows by cluster: {sizes}), written to {told['out']}."]
    return [f"Written to {told['out']}."]


def _fit_lines(told: dict[str, Any]) -> list[str]:
    from .tables import Table

    sizes = [{"task": task} | {f"cluster {j}": n for j, n in enumerate(own)} for task, own in told["sizes"].items()]
    lines = [
        f"{told['n_rows']} rows in {len(sizes)} tasks, {told['n_clusters']} clusters, {told['seconds']:.1f} s.",
        *told["lines"],
        "",
        str(Table.from_rows(sizes)),
        "",
    ]
    lines += [f"Left alone, for it has nothing in common with the others: {task}." for task in told["left_alone"]]
    if told["stability"] is not None:
        lines.append(
            f"Fitted again from other starts, {100 * told['stability']:.0f} % of the rows stay in their cluster."
        )
    return [*lines, f"Written to {told['out']}: {OUTPUTS}. Open report.html in a browser."]


def make_parser(argv: Sequence[str]) -> Parser:
    """All commands and their options; those of the benchmarks are read where they are asked for."""
    parser = Parser(prog="mtcluster", description="Cluster several related data sets together.")
    parser.add_argument("--version", action="version", version=f"mtcluster {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    _add_fit(commands.add_parser("fit", help="cluster the data sets in some files, and write a folder with a report"))
    _add_predict(commands.add_parser("predict", help="label the rows of other files with a fitted model"))
    _add_report(commands.add_parser("report", help="write the report of a fitted model anew"))
    _add_compare(commands.add_parser("compare", help="several methods on the same files, side by side"))
    showing = commands.add_parser("demo", help="cluster scikit-learn's digits, as three tasks, by four methods")
    showing.add_argument(
        "--seeds", type=_positive, default=5, metavar="N", help="number of random seeds that are averaged (default 5)"
    )
    showing.add_argument("--slant", type=float, default=0.15, help="how much the third task differs (default 0.15)")
    benchmark = commands.add_parser(
        "benchmark", help="published experiments beside their numbers, and comparisons with peers"
    )
    if "benchmark" in argv[:1]:
        from .benchmark import command

        which = benchmark.add_subparsers(dest="benchmark", metavar="NAME", required=True, parser_class=Parser)
        for name, one in command.BENCHMARKS.items():
            command.add_arguments(which.add_parser(name, help=one.help), name)
    return parser


def _add_fit(parser: Parser) -> None:
    from_files = parser.add_argument_group("what to read")
    _add_reading(from_files)
    how = parser.add_argument_group("what to do")
    _add_preparation(how)
    how.add_argument(
        "--method", choices=_methods(), default="spmtc", metavar="NAME", help=f"{', '.join(_methods())} (default spmtc)"
    )
    _add_clusters(how)
    how.add_argument(
        "--scheduler", metavar="ADDRESS", help="fit on the workers of this Dask scheduler, tcp://host:port"
    )
    out = parser.add_argument_group("what to write")
    out.add_argument("--out", required=True, type=Path, metavar="DIR", help=f"folder to make: {OUTPUTS}")
    out.add_argument("--title", help="title of the report")
    _add_saying(out)


def _add_predict(parser: Parser) -> None:
    parser.add_argument("model", type=Path, metavar="DIR", help="folder that `mtcluster fit` made")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="files of the same kind as those of the fit"
    )
    parser.add_argument("--task", metavar="COLUMN", help="column with the task of each row (default: as in the fit)")
    parser.add_argument("--id", metavar="COLUMN", help="column with the name of each row (default: as in the fit)")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="CSV file to write")
    _add_saying(parser)


def _add_report(parser: Parser) -> None:
    parser.add_argument("model", type=Path, metavar="DIR", help="folder that `mtcluster fit` made")
    parser.add_argument("--out", type=Path, metavar="FILE", help="HTML file to write (default: report.html in DIR)")
    _add_saying(parser, force=False)


def _add_compare(parser: Parser) -> None:
    _add_reading(parser)
    _add_preparation(parser)
    parser.add_argument(
        "--methods", type=_names, default=["spmtc", "lssmtc", "kmeans", "kmeans-per-task"], metavar="A,B",
        help=f"of {', '.join(_methods())} (default spmtc,lssmtc,kmeans,kmeans-per-task)",
    )  # fmt: skip
    _add_clusters(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="CSV file to write the table to, too")
    _add_saying(parser)


def _add_reading(group: Any) -> None:
    group.add_argument(
        "files", nargs="+", type=Path, metavar="FILE",
        help="CSV, TSV (also .gz), Parquet, Feather, Excel, .npz task sets, Matrix Market or .h5ad: one file with a "
        "column of tasks, or several, one a task",
    )  # fmt: skip
    group.add_argument("--task", metavar="COLUMN", help="column with the task (data set) of each row")
    group.add_argument("--id", metavar="COLUMN", help="column with the name of each row")
    group.add_argument(
        "--label", metavar="COLUMN", help="column with known classes: not clustered by, for scoring alone"
    )
    group.add_argument(
        "--features", action="extend", type=_names, metavar="A,B", help="columns to cluster by (default: all others)"
    )
    group.add_argument(
        "--text", action="append", metavar="COLUMN", help="column of texts, used as TF-IDF (may be repeated)"
    )


def _add_preparation(group: Any) -> None:
    group.add_argument("--impute", choices=("median",), help="fill missing values instead of refusing them")
    group.add_argument(
        "--scale", choices=("auto", "standard", "none"), default="auto",
        help="bring columns to mean 0 and standard deviation 1 (auto: those of tables)",
    )  # fmt: skip
    group.add_argument("--tfidf", action="store_true", help="a matrix holds counts of words: weight them by TF-IDF")
    group.add_argument(
        "--stop-words", choices=("english", "none"), default="english", help="words left out of texts (default english)"
    )


def _add_clusters(group: Any) -> None:
    group.add_argument(
        "--clusters", type=_clusters, default="auto", metavar="N|auto",
        help="number of clusters (default auto: 2 to 10, by how stable they are)",
    )  # fmt: skip
    group.add_argument("--seed", type=_whole, default=0, metavar="N", help="random seed (default 0)")
    group.add_argument(
        "--restarts",
        type=_whole,
        default=5,
        metavar="N",
        help="fits from other starts, to tell how sure one can be (default 5)",
    )


def _add_saying(group: Any, *, force: bool = True) -> None:
    if force:
        group.add_argument("--force", action="store_true", help="replace what is there")
    group.add_argument("--quiet", action="store_true", help="say nothing but errors")
    group.add_argument("--json", action="store_true", help="print the result as JSON")


def _methods() -> tuple[str, ...]:
    return ("spmtc", "lssmtc", "asi", "asi-per-task", "kmeans", "kmeans-per-task", "spectral", "spectral-per-task")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _clusters(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return _positive(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor is it 'auto'") from error


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)
