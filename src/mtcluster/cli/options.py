"""The options of the commands, and those that several share.

Nothing is imported here that takes time, as this is all that `--help` and an option that is spelt wrongly need.
"""

from __future__ import annotations

import argparse
import csv
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from .layout import FILES
from .methods import COMPARED, METHODS


class Numbers(NamedTuple):
    """Numbers of clusters to choose from, both ends included."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}-{self.most}"


def add_fit(parser: ArgumentParser) -> None:
    """Add the options of `mtcluster fit`."""
    _add_reading(parser.add_argument_group("what to read"))
    _add_checking(parser.add_argument_group("what to do about what the check finds"))
    fitting = parser.add_argument_group("what to do")
    _add_preprocessing(fitting)
    known = f"{', '.join(METHODS)} (default spmtc)"
    fitting.add_argument("--method", choices=METHODS, default="spmtc", metavar="NAME", help=known)
    _add_clusters(fitting)
    numbers = "numbers of clusters of the tasks, where known, as in a=2,b=3; needs --clusters N"
    fitting.add_argument("--clusters-per-task", type=_per_task, metavar="TASK=N,...", help=numbers)
    metrics = "how distances are measured: shared (relative to the scatter within clusters), euclidean, auto (default)"
    fitting.add_argument("--metric", choices=("auto", "shared", "euclidean"), help=metrics)
    location = "tasks that lie apart: keep their location as part of the clusters, remove it, or auto (default)"
    fitting.add_argument("--location", choices=("auto", "keep", "remove"), help=location)
    before = "folder of an earlier fit to the same columns, whose cluster numbers are kept; also writes changes.csv"
    fitting.add_argument("--previous", type=Path, metavar="DIR", help=before)
    fitting.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler to fit on, as in tcp://host:port")
    for option, what in (("ca", "certificate authority"), ("cert", "certificate"), ("key", "key of the certificate")):
        fitting.add_argument(f"--tls-{option}", type=Path, metavar="FILE", help=f"{what}, for a scheduler at tls://")
    _add_out_of_core(fitting)
    writing = parser.add_argument_group("what to write")
    files = f"folder to write, with {', '.join(FILES)}"
    writing.add_argument("--out", required=True, type=Path, metavar="DIR", help=files)
    writing.add_argument("--title", help="title of the report")
    anonymous = "write no rows, ids or map, label rows by their number, and leave out tasks with fewer than 5 rows"
    writing.add_argument("--anonymous", action="store_true", help=anonymous)
    _add_raw(writing)
    _add_output(writing)


def add_check(parser: ArgumentParser) -> None:
    """Add the options of `mtcluster check`."""
    _add_reading(parser.add_argument_group("what to read"))
    checking = parser.add_argument_group("as in fit")
    _add_checking(checking)
    _add_preprocessing(checking)
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_predict(parser: ArgumentParser) -> None:
    """Add the options of `mtcluster predict`."""
    parser.add_argument("model", type=Path, metavar="DIR", help="folder written by `mtcluster fit`")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="files like those of the fit")
    parser.add_argument("--task", metavar="COLUMN", help="column with the task of each row (default: as in the fit)")
    parser.add_argument("--id", metavar="COLUMN", help="column with the name of each row (default: as in the fit)")
    parser.add_argument("--drop-unnamed", action="store_true", help="leave out rows without a task")
    _add_formats(parser)
    _add_out_of_core(parser)
    where = "CSV file to write; with --out-of-core the folder of Parquet files"
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help=where)
    _add_raw(parser)
    _add_output(parser)


def add_adapt(parser: ArgumentParser) -> None:
    """Add the options of `mtcluster adapt`."""
    parser.add_argument(
        "model", type=Path, metavar="DIR", help="folder written by `mtcluster fit` or `mtcluster adapt`"
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="files like those of the fit, of new tasks")
    parser.add_argument("--task", metavar="COLUMN", help="column with the task of each row (default: as in the fit)")
    parser.add_argument("--id", metavar="COLUMN", help="column with the name of each row (default: as in the fit)")
    parser.add_argument("--drop-unnamed", action="store_true", help="leave out rows without a task")
    _add_formats(parser)
    choices = (
        "rows that no cluster explains: flag (default; cluster -1), none (each gets a cluster), new (new clusters)"
    )
    parser.add_argument("--novelty", choices=("flag", "none", "new"), default="flag", help=choices)
    update = "let the shared centres follow the new rows; rows of known tasks add to these"
    parser.add_argument("--update", action="store_true", help=update)
    parser.add_argument(
        "--out", required=True, type=Path, metavar="DIR", help=f"folder to write, with {', '.join(FILES)}"
    )
    parser.add_argument("--title", help="title of the report")
    _add_raw(parser)
    _add_output(parser)


def add_report(parser: ArgumentParser) -> None:
    """Add the options of `mtcluster report`."""
    parser.add_argument("model", type=Path, metavar="DIR", help="folder written by `mtcluster fit`")
    parser.add_argument("--out", type=Path, metavar="FILE", help="HTML file to write (default: report.html in DIR)")
    _add_output(parser)


def add_rename(parser: ArgumentParser) -> None:
    """Add the options of `mtcluster rename`."""
    parser.add_argument("model", type=Path, metavar="DIR", help="folder written by `mtcluster fit`")
    names = 'number and name of a cluster, as in 0="high income"; an empty name takes the name away'
    parser.add_argument("names", nargs="+", type=_cluster_name, metavar="N=NAME", help=names)
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_merge(parser: ArgumentParser) -> None:
    """Add the options of `mtcluster merge`."""
    parser.add_argument(
        "model", type=Path, metavar="DIR", help="folder written by `mtcluster fit` or `mtcluster adapt`"
    )
    numbers = "numbers of clusters that are one; the smallest of them stays"
    parser.add_argument("clusters", nargs="+", type=_whole, metavar="N", help=numbers)
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_app(parser: ArgumentParser) -> None:
    """Add the options of `mtcluster app`."""
    parser.add_argument("results", nargs="*", type=Path, metavar="DIR", help="results folders to open, as copies")
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="port of this computer (default: any)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")
    kept = "folder in which data and results are kept, and found again (default: one that goes when the app ends)"
    parser.add_argument("--keep", type=Path, metavar="DIR", help=kept)
    most = "bytes of all files together that may come in, as in 4GB (default 1GB)"
    parser.add_argument("--max-bytes", type=_bytes, default=2**30, metavar="N", help=most)
    parser.set_defaults(quiet=True, json=False)


def add_compare(parser: ArgumentParser) -> None:
    """Add the options of `mtcluster compare`."""
    _add_reading(parser)
    _add_checking(parser)
    _add_preprocessing(parser)
    known = f"methods out of {', '.join(METHODS)} (default {','.join(COMPARED)})"
    parser.add_argument("--methods", type=_names, default=list(COMPARED), metavar="A,B", help=known)
    _add_clusters(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="CSV file to which the table is written as well")
    _add_raw(parser)
    _add_output(parser)


def add_demo(parser: ArgumentParser) -> None:
    """Add the options of `mtcluster demo`."""
    parser.add_argument("--seeds", type=_positive, default=3, metavar="N", help="seeds to average over (default 3)")
    parser.add_argument("--slant", type=float, default=0.15, help="how much the third task differs (default 0.15)")


def _add_reading(group: Any) -> None:
    """Add the files to read, and the roles of their columns."""
    kinds = "CSV, TSV (also .gz), Parquet, Feather, Excel, .npz task sets, Matrix Market or .h5ad"
    files = f"{kinds}: one file with a column of tasks, or several files, one per task"
    group.add_argument("files", nargs="+", type=Path, metavar="FILE", help=files)
    group.add_argument("--task", metavar="COLUMN", help="column with the task (data set) of each row")
    group.add_argument("--id", metavar="COLUMN", help="column with the name of each row")
    group.add_argument("--label", metavar="COLUMN", help="column with known classes, used for scoring only")
    _add_formats(group)
    lists: dict[str, Any] = {"action": "extend", "type": _names, "metavar": "A,B"}
    group.add_argument("--features", **lists, help="columns to cluster by (default: all that have no other role)")
    group.add_argument("--drop", **lists, help="columns to leave out")
    group.add_argument("--text", action="append", metavar="COLUMN", help="column of texts (may be repeated)")


def _add_formats(group: Any) -> None:
    """Add how files are read."""
    group.add_argument("--encoding", metavar="NAME", help="encoding of text files, such as cp1252 (default utf-8)")
    sheets = "sheet of Excel files to read (default: the first); all: every sheet, one task each unless --task is given"
    group.add_argument("--sheet", metavar="NAME|all", help=sheets)
    lines = "lines above the header of text and Excel files (default: found where they have one cell alone)"
    group.add_argument("--skip", type=_whole, metavar="N", help=lines)
    comma = "sign before decimals, where columns of texts hold numbers: . or , (default: decided by their values)"
    group.add_argument("--decimal", type=_decimal, metavar="SIGN", help=comma)
    between = "sign between thousands there: , or . or ' or space or none (default: decided by their values)"
    group.add_argument("--thousands", type=_thousands, metavar="SIGN", help=between)
    most = "memory that a file may take when it is unpacked, as in 16GB (default: half of this machine's)"
    group.add_argument("--max-bytes", type=_bytes, metavar="N", help=most)


def _add_out_of_core(group: Any) -> None:
    """Add how files larger than memory are read."""
    pieces = "read Parquet or CSV files piece by piece, for data larger than memory; labels are written as Parquet"
    group.add_argument("--out-of-core", action="store_true", help=pieces)


def _add_checking(group: Any) -> None:
    """Add what is done about what the check finds."""
    lists: dict[str, Any] = {"action": "extend", "type": _names, "metavar": "A,B"}
    missing = (
        'further texts or numbers that stand for missing values, beside "-", "?" and the like; none: empty cells only'
    )
    group.add_argument("--missing", **lists, help=missing)
    dates = "numbers that dates become: year, month, days (since the first); default: columns of dates are left out"
    group.add_argument("--dates", action="extend", type=_date_parts, metavar="A,B", help=dates)
    group.add_argument("--min-rows", type=_positive, default=1, metavar="N", help="leave out tasks with fewer rows")
    group.add_argument("--drop-unnamed", action="store_true", help="leave out rows without a task")
    group.add_argument("--drop-rows", **lists, help="leave out rows in which a cell is one of these texts, as in Total")
    group.add_argument("--drop-duplicates", action="store_true", help="leave out rows that repeat an earlier one")
    spelling = "keep tasks apart whose names differ by case or blanks alone"
    group.add_argument("--keep-spelling", action="store_true", help=spelling)


def _add_preprocessing(group: Any) -> None:
    """Add what to do with the columns."""
    group.add_argument("--impute", choices=("median",), help="fill missing values instead of leaving them missing")
    scales = ("auto", "standard", "within", "none")
    how = "scale numbers over all tasks (standard) or in each task (within); auto (default): standard for tables only"
    group.add_argument("--scale", choices=scales, default="auto", help=how)
    group.add_argument("--tfidf", action="store_true", help="replace the counts of words in a matrix by TF-IDF")
    words = "words to ignore in texts: english (default), none, or a file with one word per line"
    group.add_argument("--stop-words", default="english", metavar="english|none|FILE", help=words)


def _add_clusters(group: Any) -> None:
    """Add the number of clusters, the seed and the number of refits."""
    clusters = "number of clusters of all tasks together, or a range to choose from, as in 2-8 (default auto: 2-10)"
    group.add_argument("--clusters", type=_clusters, default="auto", metavar="N|A-B|auto", help=clusters)
    group.add_argument("--seed", type=_whole, default=0, metavar="N", help="random seed (default 0)")
    refits = "fits to halves of the rows, to measure how sure the clusters are (default 4; 0: none)"
    group.add_argument("--refits", type=_refits, default=4, metavar="N", help=refits)
    group.add_argument("--restarts", nargs="?", action=_Gone, help=argparse.SUPPRESS)


def _add_raw(group: Any) -> None:
    """Add how texts are written."""
    raw = "write ids and names that begin with =, +, - or @ as they are, which spreadsheets take for formulas"
    group.add_argument("--raw", action="store_true", help=raw)


def _add_output(group: Any) -> None:
    """Add what to print, and whether to replace existing files."""
    group.add_argument("--force", action="store_true", help="replace existing files")
    group.add_argument("--quiet", action="store_true", help="print errors only")
    group.add_argument("--json", action="store_true", help="print the result as JSON")


def _names(text: str) -> list[str]:
    """Split names at commas; a name that contains a comma is written in double quotes."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]


def _cluster_name(text: str) -> tuple[int, str]:
    """Parse the number and the name of a cluster."""
    number, sign, name = text.partition("=")
    if not sign or not number.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} should be the number of a cluster and its name, as in 0=young")
    return int(number), " ".join(name.split())


def _bytes(text: str) -> int:
    """Parse a number of bytes, such as 500MB or 16GB."""
    number = text.strip().upper().removesuffix("B")
    unit = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}.get(number[-1:], 1)
    number = number.rstrip("KMGT").strip()
    if not number.isdecimal() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes such as 500MB or 16GB")
    return int(number) * unit


def _decimal(text: str) -> str:
    """Parse the sign before decimals."""
    if text not in (".", ","):
        raise argparse.ArgumentTypeError(f"{text!r} is neither . nor ,")
    return text


def _thousands(text: str) -> str:
    """Parse the sign between thousands."""
    sign = {"none": "", "space": " ", "point": ".", "comma": ","}.get(text, text)
    if sign not in ("", " ", ".", ",", "'"):
        raise argparse.ArgumentTypeError(f"{text!r} is none of , . ' space none")
    return sign


def _date_parts(text: str) -> list[str]:
    """Parse parts of dates."""
    parts = _names(text)
    wrong = [part for part in parts if part not in ("year", "month", "days")]
    if wrong or not parts:
        raise argparse.ArgumentTypeError(f"{text!r} should name some of year, month, days, as in year,month")
    return parts


def _port(text: str) -> int:
    """Parse the number of a port."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, a whole number from 0 to 65535")
    return int(text)


def _positive(text: str) -> int:
    """Parse a whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def _clusters(text: str) -> int | str | Numbers:
    """Parse a number of clusters, a range, or "auto"."""
    if text == "auto":
        return text
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    ends = text.split("-")
    if len(ends) != 2 or not all(end.isdecimal() for end in ends):
        wanted = "a positive whole number such as 3, nor a range such as 2-8, nor auto"
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    found = Numbers(int(ends[0]), int(ends[1]))
    if not 1 <= found.least <= found.most or found.most < 2:
        wanted = "a range of numbers from 1, the smaller one first and the larger one at least 2, such as 2-8"
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    return found


def _refits(text: str) -> int:
    """Parse a number of refits."""
    if not text.isdecimal() or int(text) == 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither 0 nor a whole number of at least 2")
    return int(text)


class _Gone(argparse.Action):
    """An option of earlier versions."""

    def __call__(self, parser: ArgumentParser, *_: Any, **__: Any) -> NoReturn:
        parser.error("--restarts is gone: use --refits N, the number of fits to halves of the rows (4 by default)")


def _per_task(text: str) -> dict[str, int]:
    """Parse a number of clusters for each task."""
    found: dict[str, int] = {}
    for item in _names(text):
        task, equals, number = item.rpartition("=")
        if not equals or not task.strip() or task.strip() in found:
            raise argparse.ArgumentTypeError(f"{item!r} is not of the form TASK=N, each task once")
        found[task.strip()] = _positive(number.strip())
    return found


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)
