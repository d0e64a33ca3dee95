"""Errors that a user can fix, in the words of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..preprocessing import TableError
    from .readers import Dataset

# What to do about a `TableError`, by its kind; where nothing is said here, its own advice is given.
ADVICE = {
    "missing": "add --impute median to fill them, or leave these columns out with --drop",
    "dates": "convert them to numbers, or leave the column out with --drop",
    "bytes": "convert them to text, or leave the column out with --drop",
    "nested": "make columns of its parts, or leave the column out with --drop",
    "not_numbers": "correct them, or leave the column out with --drop",
    "commas": "write decimals with a point, or leave the column out with --drop",
    "many_categories": "use --text {column} to use its words, --id {column} if it names the rows, or --drop {column}",
    "negative": "leave --tfidf out, which is for counts",
    "sparse": "use --scale none, or --tfidf for counts",
    "tfidf": "name its columns of texts with --text instead of --tfidf",
}
NEW_ROWS_ADVICE = {"missing": "fill them in, or fit with --impute median"}


class InputError(ValueError):
    """Something that the user can fix: one sentence that says what, where and how."""


def need(package: str, extra: str, why: str) -> None:
    """Raise an error if a package is not installed."""
    if find_spec(package) is None:
        raise InputError(f"{why} needs {package}: pip install 'mtcluster[{extra}]'.")


@contextmanager
def input_errors(data: Dataset | None = None, *, new_rows: bool = False) -> Iterator[None]:
    """Turn errors of the library about its input into sentences for the command line.

    `data` are the rows that are being used, and `new_rows` says whether they are new to a fitted model.
    """
    try:
        yield
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        from ..preprocessing import TableError

        if isinstance(error, TableError) and data is not None:
            raise InputError(_sentence(error, data, ADVICE | NEW_ROWS_ADVICE if new_rows else ADVICE)) from error
        raise InputError(" ".join(str(error).split())) from error


def _sentence(error: TableError, data: Dataset, advice: dict[str, str]) -> str:
    """Write the file, the row in it, what is wrong there, and what to do."""
    where, row = data.name, ""
    if error.row is not None:
        path, number = data.place(error.row)
        where, row = str(path), f" in row {number}"
    return f"{where}: {error.problem}{row}: {advice.get(error.kind, error.advice).format(column=error.column)}."
