"""The command line: commands, results and exit codes.

0: done. 2: an error that the user can fix, explained in one sentence. 1: a bug in mtcluster. 130: interrupted.
"""

from __future__ import annotations

import argparse
import errno
import gc
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from .. import __version__
from . import options, stopping
from .console import Console
from .errors import InputError
from .places import check_out
from .streams import as_json, say

# Commands on files: what each does, and what adds its options. Its module is imported when it is run.
FILE_COMMANDS = {
    "check": ("tell what is in the way of a fit to files, and what would be done about it", options.add_check),
    "fit": ("cluster the data sets in files, and write a folder with labels, a model and a report", options.add_fit),
    "predict": ("label the rows of other files with a fitted model", options.add_predict),
    "adapt": (
        "let the data sets of other files join a fitted model, and write a folder as fit does",
        options.add_adapt,
    ),
    "report": ("write the report of a fitted model again", options.add_report),
    "rename": ("give the clusters of a fitted model names, which its report then uses", options.add_rename),
    "merge": ("tell clusters of a fitted model that are one as one", options.add_merge),
    "app": ("open a page on this computer on which all of this can be done without typing", options.add_app),
    "compare": ("compare several methods on the same files", options.add_compare),
}

POSITIONALS = {
    "files": "a file",
    "model": "a file",
    "names": "a name",
    "clusters": "a number",
}  # arguments that are no options, in messages


class Parser(argparse.ArgumentParser):
    """Explains errors in one sentence."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        self.exit(2, f"{self.prog}: {message} (see `{self.prog} --help`)\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print what the parser has to say."""
        if message:
            say(message, sys.stderr if file is None else file, end="")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Read the values of an argument: those of `--out=--` are no sign that positional ones follow."""
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            value = self._get_value(action, "--")
            self._check_value(action, value)
            return value
        return super()._get_values(action, arg_strings)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `mtcluster` with the given arguments, by default those of the process, and return its exit code."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 2
    if arguments.command == "demo":
        from . import demo

        with stopping.working():
            say(demo.run(arguments.seeds, arguments.slant, Console()))
        return 0
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    """Run a command on files; no half-written output is left if it fails."""
    with stopping.working() as work:
        try:
            _check_text(arguments)
            check_out(arguments)
            gc.disable()  # libraries make many objects that stay
            command = import_module(f".{arguments.command}", __package__)
            gc.enable()
            result = command.run(arguments, Console(quiet=arguments.quiet))
            return _print(arguments, result, command.lines)
        except (KeyboardInterrupt, Exception) as error:
            return _ended(arguments, error, work)


def _ended(arguments: argparse.Namespace, error: BaseException, work: stopping.Work) -> int:
    """Say why a command ended early, and return its exit code."""
    if isinstance(error, KeyboardInterrupt) or work.stopped:  # extension modules make other errors of a stop
        return _say(arguments, f"stopped; {work.outcome}.", stopping.exit_code())
    return _say(arguments, str(error), 2) if isinstance(error, InputError) else _failed(arguments, error, work)


def _failed(arguments: argparse.Namespace, error: BaseException, work: stopping.Work) -> int:
    """Say what the system refused, also where a library turned want of memory into another error; else it is a bug."""
    if any(isinstance(cause, MemoryError) for cause in _causes(error)):
        text = "not enough memory for these data; --out-of-core reads Parquet and CSV files in pieces."
        return _say(arguments, text, 2)
    if isinstance(error, ImportError):
        return _say(arguments, f"{error} (pip install 'mtcluster[all]' installs all extras)", 2)
    if isinstance(error, OSError):
        return _say(arguments, f"{_disk(error)}; {work.outcome}.", 2)
    if any("can't start new thread" in str(cause) for cause in _causes(error)):
        return _say(arguments, f"the system lets this process start no more threads; {work.outcome}.", 2)
    say("".join(traceback.format_exception(error)), sys.stderr, end="")
    return _say(arguments, "this is a bug in mtcluster: please report it with the lines above.", 1)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """List an error, and those it comes from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _check_text(arguments: argparse.Namespace) -> None:
    """Refuse names that are no text: they could not be written into the files of a result."""
    for option, value in vars(arguments).items():
        for one in _flat(value):
            if isinstance(one, str | Path) and not str(one).isascii():
                try:
                    str(one).encode()
                except UnicodeEncodeError:
                    named = POSITIONALS.get(option, f"--{option.replace('_', '-')}")
                    raise InputError(
                        f"{named} is {str(one)!a}, which is not text in UTF-8: use another name."
                    ) from None


def _flat(value: Any) -> Iterator[Any]:
    """List a value, or the values in lists and tuples of it."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _say(arguments: argparse.Namespace, sentence: str, code: int) -> int:
    say(f"mtcluster {arguments.command}: {sentence}", sys.stderr)
    return code


def _disk(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "the disk is full, or a limit on file sizes was reached"
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _print(arguments: argparse.Namespace, result: dict[str, Any], lines: Callable[[dict[str, Any]], list[str]]) -> int:
    try:
        if arguments.json:
            say(as_json(result))
        elif not arguments.quiet or arguments.command in ("check", "compare"):
            say("\n".join(lines(result)).replace("\u00a0", " "))  # lines of a terminal are not broken there
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # such as `mtcluster fit ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def make_parser() -> Parser:
    """Build the parser."""
    parser = Parser(prog="mtcluster", description="Cluster related data sets together.")
    parser.add_argument("--version", action="version", version=f"mtcluster {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, (purpose, add_options) in FILE_COMMANDS.items():
        add_options(commands.add_parser(name, help=purpose))
    options.add_demo(
        commands.add_parser("demo", help="cluster scikit-learn's digits, as three tasks, with four methods")
    )
    return parser
