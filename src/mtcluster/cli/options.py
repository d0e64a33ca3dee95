"""Options that several commands share."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any


def add_reading(group: Any) -> None:
    """Add the files to read, and the roles of their columns."""
    kinds = "CSV, TSV (also .gz), Parquet, Feather, Excel, .npz task sets, Matrix Market or .h5ad"
    files = f"{kinds}: one file with a column of tasks, or several files, one per task"
    group.add_argument("files", nargs="+", type=Path, metavar="FILE", help=files)
    group.add_argument("--task", metavar="COLUMN", help="column with the task (data set) of each row")
    group.add_argument("--id", metavar="COLUMN", help="column with the name of each row")
    group.add_argument("--label", metavar="COLUMN", help="column with known classes, used for scoring only")
    lists: dict[str, Any] = {"action": "extend", "type": names, "metavar": "A,B"}
    group.add_argument("--features", **lists, help="columns to cluster by (default: all that have no other role)")
    group.add_argument("--drop", **lists, help="columns to leave out")
    group.add_argument("--text", action="append", metavar="COLUMN", help="column of texts (may be repeated)")


def add_preprocessing(group: Any) -> None:
    """Add what to do with the columns."""
    group.add_argument("--impute", choices=("median",), help="fill missing values instead of refusing them")
    scales = ("auto", "standard", "within", "none")
    how = "scale numbers over all tasks (standard) or in each task (within); auto (default): standard for tables only"
    group.add_argument("--scale", choices=scales, default="auto", help=how)
    group.add_argument("--tfidf", action="store_true", help="replace the counts of words in a matrix by TF-IDF")
    words = "words to ignore in texts (default english)"
    group.add_argument("--stop-words", choices=("english", "none"), default="english", help=words)


def add_clusters(group: Any) -> None:
    """Add the number of clusters, the seed and the number of fits."""
    clusters = "number of clusters (default auto: chosen from 2 to 10 by stability)"
    group.add_argument("--clusters", type=_clusters, default="auto", metavar="N|auto", help=clusters)
    group.add_argument("--seed", type=_whole, default=0, metavar="N", help="random seed (default 0)")
    restarts = "fits from other starts, to measure stability (default 5)"
    group.add_argument("--restarts", type=_whole, default=5, metavar="N", help=restarts)


def add_output(group: Any) -> None:
    """Add what to print, and whether to replace existing files."""
    group.add_argument("--force", action="store_true", help="replace existing files")
    group.add_argument("--quiet", action="store_true", help="print errors only")
    group.add_argument("--json", action="store_true", help="print the result as JSON")


def names(text: str) -> list[str]:
    """Split names at commas; a name that contains a comma is written in double quotes."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]


def positive(text: str) -> int:
    """Parse a whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def _clusters(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return positive(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor is it 'auto'") from error


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)
