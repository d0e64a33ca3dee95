"""The command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from . import __version__, demo
from .benchmark import command


def main(argv: Sequence[str] | None = None) -> int:
    """Run `mtcluster` with the given arguments, those of the process by default; returns its exit code."""
    parser = argparse.ArgumentParser(prog="mtcluster", description="Cluster several related data sets together.")
    parser.add_argument("--version", action="version", version=f"mtcluster {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    showing = commands.add_parser("demo", help="cluster scikit-learn's digits, as three tasks, by four methods")
    showing.add_argument(
        "--seeds", type=_positive, default=5, metavar="N", help="number of random seeds that are averaged (default 5)"
    )
    showing.add_argument("--slant", type=float, default=0.15, help="how much the third task differs (default 0.15)")
    benchmark = commands.add_parser(
        "benchmark", help="published experiments beside their numbers, and comparisons with peers"
    )
    which = benchmark.add_subparsers(dest="benchmark", metavar="NAME", required=True)
    for name, one in command.BENCHMARKS.items():
        command.add_arguments(which.add_parser(name, help=one.help), name)
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 2
    if arguments.command == "benchmark":
        return command.run(arguments)
    print(demo.run(arguments.seeds, arguments.slant))
    return 0


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)
