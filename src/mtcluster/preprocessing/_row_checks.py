"""What can be wrong with the rows of a table: their tasks, their ids, copies of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._utils.text import count, listed
from ._draft import Draft
from ._findings import Finding, option, shown
from ._spelling import spellings
from ._written import holds_strings

COINCIDENCES = 3.0  # times as many repeated rows as chance would give that are no coincidence
SHOWN_SPELLINGS = 6  # names with several spellings that are listed
MANY_ROWS = 20  # rows of a table from which so many tasks cannot be meant
TOTALS = frozenset({  # words of rows that sum up others
    "total", "totals", "grand total", "subtotal", "sum", "average", "mean", "gesamt", "insgesamt", "summe",
    "gesamtsumme", "zwischensumme", "durchschnitt", "mittelwert", "somme", "moyenne", "totale", "suma", "promedio",
    "totaal", "gemiddelde",
})  # fmt: skip
SMALL = 5  # rows of a task that cannot be recognised as related or not


def totals(draft: Draft) -> Iterator[Finding]:
    """Rows that sum up others, and rows that the user wants to be left out."""
    texts = {name: draft.X[name] for name in draft.X.columns if holds_strings(draft.X[name])}
    others = {"\0task": draft.tasks, "\0id": draft.ids}
    columns = [(name, column.to_numpy(dtype=object)) for name, column in texts.items()]
    columns += [(name, values) for name, values in others.items() if values is not None]
    asked = frozenset(map(_bare, draft.drop_rows))
    drop, sums = np.zeros(len(draft.rows), dtype=bool), np.zeros(len(draft.rows), dtype=bool)
    found: dict[str, str] = {}
    for name, values in columns:
        words = {value: _bare(value) for value in set(values) if isinstance(value, str)}
        known = {value for value, word in words.items() if word in TOTALS and name not in draft.text}
        for mask, wanted in ((drop, {value for value, word in words.items() if word in asked}), (sums, known)):
            if wanted:
                mask |= np.array([isinstance(value, str) and value in wanted for value in values])
        for value in sorted(known):
            found.setdefault(value.strip(), {"\0task": draft.task_column, "\0id": draft.id_column}.get(name, name))
    sums &= ~drop
    n, few = int(sums.sum()), max(1, len(np.unique(draft.codes())), len(sums) // MANY_ROWS)
    if found and 0 < n <= few:
        first = draft.where(int(draft.rows[sums.argmax()]))
        told = listed(f"{word!r}" for word in found)
        what = f"{count(n, 'row')} that may sum up others ({told}), first {first}."
        yield Finding("totals", (), what, f"{_are(n)} used as other rows are.", option("--drop-rows", *found))
    if drop.any() and not drop.all():
        told = listed(map(repr, draft.drop_rows))
        where = draft.where(int(draft.rows[drop.argmax()]))
        draft.keep(np.flatnonzero(~drop))
        n = int(drop.sum())
        yield Finding("dropped_rows", (), f"{count(n, 'row')} with {told}, first {where}.", f"{_are(n)} left out.")


def _bare(text: str) -> str:
    return " ".join(text.casefold().strip(" :.*=-").split())


def unnamed(draft: Draft) -> Iterator[Finding]:
    """Find rows without a task."""
    if draft.tasks is None:
        return
    empty = np.array([task is None or not str(task).strip() for task in draft.tasks])
    if not empty.any():
        return
    first = draft.where(int(draft.rows[empty.argmax()]))
    yield told_unnamed(int(empty.sum()), len(empty), first, draft.task_column, drop=draft.drop_unnamed)
    if draft.drop_unnamed and not empty.all():
        draft.keep(np.flatnonzero(~empty))


def told_unnamed(n: int, n_rows: int, first: str, column: str, *, drop: bool) -> Finding:
    """Tell what is said of n rows without a task; `first` is the first of them."""
    if n == n_rows:
        return Finding("unnamed", (), "No row has a task.", "Every row needs one.", "", True)
    found = f"{count(n, 'row')} without a task ({column}), first in {first}."
    if drop:
        return Finding("unnamed", (), found, f"{_are(n)} left out.")
    return Finding("unnamed", (), found, "Every row needs one; to leave such rows out:", "--drop-unnamed", True)


def spelling(draft: Draft) -> Iterator[Finding]:
    """Tasks whose names differ by case or blanks alone."""
    if draft.tasks is None:
        return
    names, counts = np.unique([task for task in draft.tasks if task is not None], return_counts=True)
    found, joined = told_spellings(dict(zip(names.tolist(), counts.tolist(), strict=True)), keep=draft.keep_spelling)
    if joined:
        draft.tasks = np.array([joined.get(task, task) for task in draft.tasks], dtype=object)
    yield from found


def told_spellings(counts: dict[str, int], *, keep: bool) -> tuple[list[Finding], dict[str, str]]:
    """Tell of names that differ by case or blanks alone, given the rows of each, and which name is used."""
    groups = spellings(counts)
    if not groups:
        return [], {}
    told = [f"{listed(map(repr, [best, *others]), final=' and ')}" for best, others in groups.items()]
    more = f"; {len(told) - SHOWN_SPELLINGS} more" * (len(told) > SHOWN_SPELLINGS)
    found = f"Names of tasks that differ by case or blanks alone: {'; '.join(told[:SHOWN_SPELLINGS])}{more}."
    if keep:
        return [Finding("spelling", (), found, "They stay apart, as --keep-spelling says.")], {}
    best = listed(map(repr, groups))
    done = f"They are joined, under the name used most: {best}."
    joined = {other: best for best, others in groups.items() for other in others}
    return [Finding("spelling", (), found, done, "--keep-spelling")], joined


def small_tasks(draft: Draft) -> Iterator[Finding]:
    """Tasks that are too small, or too many."""
    if draft.tasks is None:
        return
    given = np.array([task is not None for task in draft.tasks])
    names, sizes = np.unique(draft.tasks[given].astype(str), return_counts=True)
    counts = dict(zip(names.tolist(), sizes.tolist(), strict=True))
    found, gone = told_small(counts, len(draft.rows), draft.min_rows)
    if gone:
        draft.keep(np.flatnonzero(~np.isin(draft.tasks.astype(str), gone) | ~given))
    yield from found


def told_small(counts: dict[str, int], n_rows: int, min_rows: int) -> tuple[list[Finding], list[str]]:
    """Tell what is said of tasks that are too small, or too many, given the rows of each, and which are left out."""
    if len(counts) > n_rows / 2 and n_rows >= MANY_ROWS:
        found = f"There are {len(counts)} tasks of {count(n_rows, 'row')}."
        why = "A task is a group of rows: is this the right column (--task)?"
        return [Finding("tasks", (), found, why, "", True)], []
    told, least = [], max(min_rows, 1)
    gone = [name for name, n in counts.items() if n < least]
    if gone and len(gone) == len(counts):
        most = max(counts.values())
        found = f"No task has {least} rows; the largest has {most}."
        return [Finding("small", (), found, "Ask for fewer:", f"--min-rows {most}", True)], []
    if gone:
        n = sum(counts[name] for name in gone)
        found = f"{count(len(gone), 'task')} with fewer than {count(least, 'row')}: {listed(map(shown, gone))}."
        told.append(Finding("small", (), found, f"Left out, {count(n, 'row')} in all, as --min-rows says."))
    small = [(name, n) for name, n in counts.items() if least <= n < SMALL]
    if small:
        names = listed(f"{shown(name)} ({n})" for name, n in small)
        some = f"--min-rows {SMALL}" if len(small) < len(counts) - len(gone) else ""  # else none would be left
        what = f"{'A task' if len(small) == 1 else 'Tasks'} of few rows: {names}."
        told.append(Finding("small", (), what, f"{_are(len(small))} kept.", some))
    return told, gone


def repeated_ids(draft: Draft) -> Iterator[Finding]:
    """Ids that several rows have."""
    if draft.ids is None:
        return
    empty = np.array([value is None for value in draft.ids])
    if empty.any():
        first = draft.where(int(draft.rows[empty.argmax()]))
        found = f"{count(int(empty.sum()), 'row')} without an id ({draft.id_column}), first in {first}."
        yield Finding("ids", (), found, "Every row needs one: name another column with --id, or none.", "", True)
    names, counts = np.unique(draft.ids[~empty].astype(str), return_counts=True)
    if (counts > 1).any():
        several = names[counts > 1].tolist()
        found = f"{count(len(several), 'id')} of several rows: {listed(map(shown, several), shown=3)}."
        yield Finding("ids", (), found, "They are kept: rows with one id can be told apart by their order alone.")


def repeated_rows(draft: Draft) -> Iterator[Finding]:
    """Find rows that repeat an earlier one in all columns, also in their task and id."""
    others = {f"\0{i}": values for i, values in enumerate((draft.tasks, draft.ids)) if values is not None}
    frame = draft.X.assign(**others)
    try:
        copies = frame.duplicated().to_numpy()
    except TypeError:  # cells that cannot be compared
        return
    if copies.sum() <= COINCIDENCES * _by_chance(frame[~copies], len(frame)):
        return
    n, first = int(copies.sum()), draft.where(int(draft.rows[copies.argmax()]))
    found = f"{count(n, 'row')} {'repeats' if n == 1 else 'repeat'} an earlier row in all columns, first {first}."
    if draft.drop_duplicates:
        draft.keep(np.flatnonzero(~copies))
        yield Finding("repeated_rows", (), found, f"{_are(n)} left out.")
    else:
        draft.copies = copies
        yield Finding("repeated_rows", (), found, f"{_are(n)} kept, and each counts.", "--drop-duplicates")


def _by_chance(once: Any, n: int) -> float:
    """Tell how many of n rows would repeat another one by chance, if columns had nothing to do with each other.

    The probability that two rows agree in a column is estimated from rows that differ, each `once`.
    """
    pairs = len(once) * (len(once) - 1)
    counts = (once[name].value_counts(dropna=False) for name in once.columns)
    alike = [float((own * (own - 1)).sum()) / pairs for own in counts] if pairs else [0.0]
    return float(n * (n - 1) / 2 * np.prod(alike))


def _are(n: int) -> str:
    return "It is" if n == 1 else "They are"
