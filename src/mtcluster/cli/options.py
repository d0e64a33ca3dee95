"""Options that several commands have."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any


def add_reading(group: Any) -> None:
    """What files to read, and how."""
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
        "--features", action="extend", type=names, metavar="A,B", help="columns to cluster by (default: all others)"
    )
    group.add_argument("--drop", action="extend", type=names, metavar="A,B", help="columns to leave out")
    group.add_argument(
        "--text", action="append", metavar="COLUMN", help="column of texts, used as TF-IDF (may be repeated)"
    )


def add_preparation(group: Any) -> None:
    """What to do to their columns."""
    group.add_argument("--impute", choices=("median",), help="fill missing values instead of refusing them")
    group.add_argument(
        "--scale", choices=("auto", "standard", "within", "none"), default="auto",
        help="bring columns to mean 0 and standard deviation 1, over all tasks or within each (auto: those of tables, "
        "over all)",
    )  # fmt: skip
    group.add_argument("--tfidf", action="store_true", help="a matrix holds counts of words: weight them by TF-IDF")
    group.add_argument(
        "--stop-words", choices=("english", "none"), default="english", help="words left out of texts (default english)"
    )


def add_clusters(group: Any) -> None:
    """How many clusters, and how often to fit."""
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


def add_saying(group: Any) -> None:
    """What to say, and whether to replace what is there."""
    group.add_argument("--force", action="store_true", help="replace what is there")
    group.add_argument("--quiet", action="store_true", help="say nothing but errors")
    group.add_argument("--json", action="store_true", help="print the result as JSON")


def names(text: str) -> list[str]:
    """Names apart by commas; one that holds a comma stands in double quotes."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]


def _clusters(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return positive(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor is it 'auto'") from error


def positive(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)
