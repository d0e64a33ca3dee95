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
from typing import Any, NoReturn

from .. import __version__
from . import compare, fit, predict, report
from .console import Console
from .options import positive
from .readers import InputError

FILE_COMMANDS: dict[str, Any] = {"fit": fit, "predict": predict, "report": report, "compare": compare}


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
        from ..benchmark.command import run

        return run(arguments)
    if arguments.command == "demo":
        from . import demo

        print(demo.run(arguments.seeds, arguments.slant))
        return 0
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    """One of the commands on files; nothing half done is left whatever happens."""
    console = Console(quiet=arguments.quiet)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's stop cleans up as Ctrl-C does
    try:
        told = FILE_COMMANDS[arguments.command].run(arguments, console)
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
            print("\n".join(FILE_COMMANDS[arguments.command].lines(told)))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def make_parser(argv: Sequence[str]) -> Parser:
    """All commands and their options; those of the benchmarks are read where they are asked for."""
    parser = Parser(prog="mtcluster", description="Cluster several related data sets together.")
    parser.add_argument("--version", action="version", version=f"mtcluster {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, command in FILE_COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.HELP))
    showing = commands.add_parser("demo", help="cluster scikit-learn's digits, as three tasks, by four methods")
    showing.add_argument(
        "--seeds", type=positive, default=5, metavar="N", help="number of random seeds that are averaged (default 5)"
    )
    showing.add_argument("--slant", type=float, default=0.15, help="how much the third task differs (default 0.15)")
    benchmark = commands.add_parser(
        "benchmark", help="published experiments beside their numbers, and comparisons with peers"
    )
    if "benchmark" in argv[:1]:
        from ..benchmark.command import BENCHMARKS, add_arguments

        which = benchmark.add_subparsers(dest="benchmark", metavar="NAME", required=True, parser_class=Parser)
        for name, one in BENCHMARKS.items():
            add_arguments(which.add_parser(name, help=one.help), name)
    return parser
