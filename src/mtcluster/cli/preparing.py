"""From files to the numbers that are clustered."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import has_fit_parameter

from .._utils.text import count, listed
from ..core.arrays import Array, has_gaps
from ..estimators.matrices import unlinked
from ..estimators.publish import NO_VALUE
from ..preprocessing import Finding, TablePreprocessor
from ..preprocessing._findings import lines_of
from .cleaning import FEW, Checking, cleaned, refuse_stops, without_names
from .console import Console
from .errors import InputError, input_errors
from .loading import load_model
from .methods import METHODS
from .readers import LISTS, ColumnRoles, Dataset, read_files

MOST_WORDS = 2**24  # bytes of a file of stop words
READING = 2  # units of work, from which the time left is estimated


@dataclass(frozen=True)
class Prepared:
    """The rows of files, and the numbers that are clustered."""

    data: Dataset
    roles: ColumnRoles
    preprocessor: TablePreprocessor
    X: Any
    tasks: Array  # (n,) strings
    previous: Any = None  # the model of an earlier fit that is continued
    prepared_before: bool = False  # whether the columns are prepared as in an earlier fit
    checking: Checking = field(default_factory=Checking)
    findings: list[Finding] = field(default_factory=list)  # of the check before the fit
    raw: bool = False  # whether texts that look like formulas are written as they are
    anonymous: bool = False  # whether nothing may be written that shows single rows

    @property
    def features(self) -> list[str]:
        """The names of the columns of X."""
        return self.preprocessor.get_feature_names_out(self.data.names).tolist()


def prepare(arguments: Namespace, console: Console) -> Prepared:
    """Read the files, and turn their columns into numbers."""
    before: Path | None = getattr(arguments, "previous", None)
    previous = None if before is None else continued(before, arguments.method)
    console.begin(f"reading {count(len(arguments.files), 'file')}")
    roles, data = read(arguments)
    checking, anonymous = Checking.of(arguments), getattr(arguments, "anonymous", False)
    if anonymous:
        checking = replace(checking, min_rows=max(checking.min_rows, FEW))
        data = replace(data, ids=np.arange(1, len(data) + 1).astype(str))
    wanted = () if previous is None else previous["columns"]
    data, findings = cleaned(data, roles, checking, impute=arguments.impute, scale=arguments.scale, wanted=wanted)
    refuse_stops(findings, data.name)
    checking = replace(checking, written=data.written)
    findings = without_names(findings) if anonymous else findings
    tell(findings, console)
    left_out = [name for one in findings for name in one.columns if name not in data.names and name not in roles.drop]
    roles = replace(roles, drop=(*roles.drop, *dict.fromkeys(left_out)))
    words = stop_words(arguments.stop_words)
    preprocessor = TablePreprocessor(
        arguments.scale, arguments.impute, roles.text, arguments.tfidf, words, checking.dates
    )
    if before is not None and previous is not None:
        check_columns(data, previous["columns"], before)
        preprocessor = previous["preprocessor"]  # old centres mean nothing among numbers made in another way
    with input_errors(data, new_rows=previous is not None):
        prepare_rows = preprocessor.fit_transform if previous is None else preprocessor.transform
        X = prepare_rows(data.X, tasks=data.tasks)
    console.finish(READING)
    model = None if previous is None else previous["model"]
    tasks, again = np.asarray(data.tasks, dtype=str), previous is not None
    rows = Prepared(data, roles, preprocessor, X, tasks, model, again, checking, findings, arguments.raw, anonymous)
    if has_gaps(X):
        _check_linked(rows)
    return rows


def read(arguments: Namespace) -> tuple[ColumnRoles, Dataset]:
    """Read the rows of the files, and what their columns are used for."""
    if arguments.task is not None and arguments.task == arguments.label:
        raise InputError(f"--task and --label are both {arguments.task!r}: known classes are a column of their own.")
    roles = roles_of(arguments)
    return roles, read_files(arguments.files, roles)


def roles_of(arguments: Namespace) -> ColumnRoles:
    """Tell what columns are used for, and how files are read, as options say."""
    lists: dict[str, Any] = {name: tuple(getattr(arguments, name) or ()) for name in LISTS}
    how = {name: getattr(arguments, name) for name in ("encoding", "sheet", "max_bytes", "skip")}
    roles = ColumnRoles(arguments.task, arguments.id, arguments.label, **lists)
    return replace(roles, **how, points=points_asked(arguments))


def tell(findings: list[Finding], console: Console) -> None:
    """Show what the check before a fit has found."""
    if findings:
        said = lines_of(findings)
        console.note("\n".join([f"The check has {count(len(findings), 'finding')} (`mtcluster check`):", *said]))


def points_asked(arguments: Namespace) -> bool:
    """Tell whether points stand between thousands, as options say."""
    return arguments.decimal == "," or arguments.thousands == "."


def stop_words(asked: str) -> str | list[str] | None:
    """Words to ignore in texts: those of English, none, or those of a file."""
    if asked in ("english", "none"):
        return None if asked == "none" else asked
    try:
        with Path(asked).open("rb") as file:
            content = file.read(MOST_WORDS + 1)
        words = content.decode("utf-8-sig").split()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not encoded as UTF-8"
        raise InputError(
            f"--stop-words {asked} is neither english nor none nor a file that can be read: {why}."
        ) from error
    if len(content) > MOST_WORDS:
        raise InputError(f"--stop-words {asked} holds more than {MOST_WORDS // 2**20} MiB: is it a list of words?")
    if not words:
        raise InputError(f"--stop-words {asked}: the file holds no word.")
    vectorizer = TfidfVectorizer(strip_accents="unicode")
    split = vectorizer.build_analyzer()
    return list(dict.fromkeys(part for word in words for part in split(word)))


def continued(folder: Path, method: str) -> dict[str, Any]:
    """Read the contents of the model file of an earlier fit, if a fit by this method can continue it."""
    able = [name for name, one in METHODS.items() if one.continues]
    if method not in able:
        raise InputError(f"--previous does not go with --method {method}: use {', '.join(able)}.")
    contents = load_model(folder)
    if not has_fit_parameter(contents["model"], "previous"):
        kind = type(contents["model"]).__name__
        raise InputError(f"--previous {folder} holds a {kind}, which cannot be continued: fit with {', '.join(able)}.")
    return contents


def check_columns(data: Dataset, columns: list[str], folder: Path) -> None:
    """Refuse columns that are not those of the earlier fit."""
    if data.names == columns:
        return
    new, gone = ([name for name in a if name not in set(b)] for a, b in ((data.names, columns), (columns, data.names)))
    has, lacks, it = data.verb("has", "have"), data.verb("lacks", "lack"), data.verb("it", "they")
    said = [f"{word} {listed(map(repr, names))}" for word, names in ((f"{has} also", new), (lacks, gone)) if names]
    what = " and ".join(said) or f"{has} them in another order"
    raise InputError(f"{data.name} {has} other columns than --previous {folder}: {it} {what}. The same are needed.")


def _check_linked(rows: Prepared) -> None:
    """Refuse tasks that no common column links, so that their clusters cannot correspond."""
    names, (tasks, codes) = np.array(rows.data.names), np.unique(rows.tasks, return_inverse=True)
    given = rows.data.X.notna().to_numpy() if rows.data.is_table else ~np.isnan(rows.data.X)
    order = np.argsort(codes, kind="stable")
    has = np.logical_or.reduceat(given[order], np.searchsorted(codes[order], np.arange(len(tasks))), axis=0)
    empty = tasks[~has.any(axis=1)].tolist()
    if empty:
        raise InputError(f"No row of task {listed(map(repr, empty))} has a value: leave the task out.")
    apart = unlinked({task: names[own].tolist() for task, own in zip(tasks.tolist(), has, strict=True)})
    if apart:
        raise InputError(f"{apart} Rename columns that mean the same, or leave the task out.")


def without_values(X: Any) -> Array:
    """Find which rows (n,) have no value at all, and so no cluster."""
    return np.isnan(X).all(axis=1) if has_gaps(X) else np.zeros(X.shape[0], dtype=bool)


def told_without_values(notes: list[str], data: Dataset, X: Any) -> list[str]:
    """Notes in which rows without any value are named by their ids."""
    ids = data.ids[without_values(X)].tolist()
    told = f"{count(len(ids), 'row')} without any value, whose cluster is -1 (by id): {listed(ids)}."
    return [told if NO_VALUE in note and ids else note for note in notes]
