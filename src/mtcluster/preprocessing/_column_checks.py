"""What can be wrong with the columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._utils.text import count, listed
from ..core.arrays import Array
from ._cells import told_cells
from ._columns import TableError, as_computed, as_numbers, column_kind, holds_dates, holds_texts, mostly_numbers
from ._dates import dates_in
from ._draft import Draft
from ._findings import Finding, one_option, option, shown
from ._identifiers import ENOUGH_ROWS, identifier, ranks
from ._markers import without_markers
from ._written import POINTS, Written, as_written, decimal_signs, has_decimals, reading_of

MANY = 8  # columns whose missing values are told one by one
APART = 10.0  # ratio of the spread of a feature to the usual one, from which it dominates
CODES = (9, 99, 999, 9999, 99999, 999999)  # that surveys write for missing values, also with a minus
PAIRED = 200  # columns of numbers that are compared in pairs
COPIES = 9  # digits up to which a column is a copy of another


def cells(draft: Draft) -> Iterator[Finding]:
    """Columns of bytes, which are texts if they are encoded as UTF-8, and of lists and the like."""
    draft.X, found = told_cells(draft.X, draft.where)
    yield from found


def written(draft: Draft) -> Iterator[Finding]:
    """Numbers with decimal commas, signs between thousands, per cent signs or currencies."""
    readings = {name: reading_of(draft.X[name], draft.missing) for name in draft.X.columns if name not in draft.text}
    found = {name: one for name, one in readings.items() if one is not None and not one.plain}
    if any(one.kind == "dropped_rows" for one in draft.findings):  # their texts stood among numbers
        plain = [name for name, one in readings.items() if one is not None and one.plain]
        draft.X = draft.X.assign(**{name: as_written(draft.X[name], POINTS, draft.missing) for name in plain})
    signs = decimal_signs(one for one in readings.values() if one is not None)
    if not draft.typed and any(has_decimals(draft.X[name]) for name in draft.X.columns):
        signs.add(".")
    decided: dict[str, Written] = {}
    told: dict[tuple[Written, bool, str], list[str]] = {}
    for name, one in found.items():
        ways = one.asked_for(draft.decimal, draft.thousands)
        way = one.chosen(ways, signs)
        if way is not None:
            decided[name] = way
            if way != POINTS or one.per_cent or one.unit:
                told.setdefault((way, one.per_cent, one.unit), []).append(name)
        elif len(ways) > 1:
            what = f"{one.example!r} as {one.shown(ways[0])} or as {one.shown(ways[1])}"
            to = f"{ways[0].options()} makes it {one.shown(ways[0])}; to make it {one.shown(ways[1])}:"
            two = f"Column {shown(name)} can be read in two ways, {what}, and no other column tells which."
            yield Finding("two_readings", (name,), two, to, ways[1].options(), stops=True)
    draft.X = draft.X.assign(**{name: as_written(draft.X[name], way, draft.missing) for name, way in decided.items()})
    draft.written = tuple(way.coded(name) for name, way in decided.items())
    for (way, _, _), names in told.items():
        one = found[names[0]]
        other = next((other for other in one.ways if other != way), None)
        what = f"{_columns(names)} of numbers {one.named(way)}: {one.example!r} is read as {one.shown(way)}."
        change = option("--drop", *names) if other is None else other.options()
        yield Finding("written", tuple(names), what, f"{_are('used as numbers', names)} ({way.options()}).", change)


def markers(draft: Draft) -> Iterator[Finding]:
    """Texts that stand for missing values."""
    if draft.missing is None:
        return
    where: dict[str, dict[str, int]] = {}
    changed = {}
    for name in draft.X.columns:
        if name not in draft.text:
            column, counts = without_markers(draft.X[name], draft.missing)
            if counts:
                changed[name], where[name] = column, counts
    if where:
        draft.X = draft.X.assign(**changed)
        told = [f"{shown(name)} ({listed(f'{m!r} {n} times' for m, n in own.items())})" for name, own in where.items()]
        found = f"Texts that stand for missing values: {listed(told)}."
        yield Finding("markers", tuple(where), found, "They are missing values.", "--missing none")


def stand_ins(draft: Draft) -> Iterator[Finding]:
    """Numbers such as 999 that may stand for missing values."""
    found = {name: code for name in draft.describing() if (code := _stand_in(draft.X[name])) is not None}
    if found:
        told = listed(
            f"{code:g} in {shown(name)} ({int((draft.X[name] == code).sum())} times)" for name, code in found.items()
        )
        codes = option("--missing", *dict.fromkeys(f"{code:g}" for code in found.values()))
        what = f"Numbers far from all others that may stand for missing values: {told}."
        yield Finding("codes", tuple(found), what, "They are used as they are, not as missing values.", codes)


def _stand_in(column: Any) -> float | None:
    """Find a number of nines, at an end of the values and far from the others; None if there is none."""
    if column.dtype.kind not in "iuf":
        return None
    values, counts = np.unique(column.dropna().to_numpy(dtype=np.float64), return_counts=True)
    for end, others in ((values[-1:], values[:-1]), (values[:1], values[1:])):
        n = counts[-1] if end is values[-1:] else counts[np.searchsorted(values, end)].sum()
        if len(others) < 3 or abs(end[0]) not in CODES or n < 2:
            continue
        if min(abs(end[0] - others[0]), abs(end[0] - others[-1])) > others[-1] - others[0]:
            return float(end[0])
    return None


def dates(draft: Draft) -> Iterator[Finding]:
    """Columns of dates."""
    found, unclear = [], []
    for name in draft.X.columns:
        if name in draft.text:
            continue
        formats = ["type"] if holds_dates(draft.X[name]) else _written(draft.X[name])
        if len(formats) == 1:
            found.append(name)
        elif formats:
            unclear.append(name)
    if unclear:
        draft.leave_out(unclear)
        told = "may have the day or the month first"
        done = f"{_are('left out', unclear)}; write dates as 2024-12-31 to use them."
        yield Finding("dates", tuple(unclear), f"{_columns(unclear)} of dates that {told}.", done)
    if found and draft.dates:
        done = f"{_are('used', found)} as {listed(draft.dates, final=' and ')}."
        yield Finding("dates", tuple(found), f"{_columns(found)} of dates.", done, option("--drop", *found))
    elif found:
        draft.leave_out(found)
        done = f"{_are('left out', found)}; the year, the month or the days since the first can be used instead."
        yield Finding("dates", tuple(found), f"{_columns(found)} of dates.", done, "--dates year,month,days")


def identifiers(draft: Draft) -> Iterator[Finding]:
    """Columns that name or number the rows."""
    once = np.ones(len(draft.rows), dtype=bool) if draft.copies is None else ~draft.copies
    X, codes = draft.X[once], draft.codes()[once]
    alike = [name for name in draft.describing() if ranks(X[name])]
    if len(alike) > 1:  # rows are numbered once
        what = f"{_columns(alike)} of ranks: each number occurs once."
        yield Finding("ranks", tuple(alike), what, "They are used as they are.", option("--drop", *alike))
    found = {}
    for name in draft.describing():
        known = _described_otherwise(X[name]) or (len(alike) > 1 and name in alike)
        if not known and (why := identifier(X[name], codes)):
            found[name] = why
    if len(found) == draft.X.shape[1]:
        return
    draft.leave_out(list(found))
    for name, why in found.items():
        ids = f"; {one_option('--id', name)} shows it in the results" * (draft.ids is None)
        yield Finding("identifier", (name,), f"Column {shown(name)} {why}.", f"It is left out{ids}.")


def _described_otherwise(column: Any) -> bool:
    """Tell whether a column holds dates, or numbers some of which are written wrongly."""
    return holds_dates(column) or (holds_texts(column) and (bool(_written(column)) or mostly_numbers(column)))


def constant(draft: Draft) -> Iterator[Finding]:
    """Columns without any value, with one value, and with one value in each task."""
    empty, same, tells = [], [], []
    codes, several = draft.codes(), len(np.unique(draft.codes())) > 1
    for name in draft.describing():
        column = draft.X[name]
        kinds = as_computed(column).nunique() + (
            draft.impute and bool(column.isna().any()) and column.dtype.kind not in "iuf"
        )
        if column.isna().all():
            empty.append(name)
        elif kinds == 1:
            same.append(name)
        elif several and len(codes) > 2 * len(np.unique(codes)) and _one_per_task(column, codes):
            tells.append(name)
    left = draft.X.shape[1] - len(empty) - len(same) - len(tells)
    for names, kind, what in (
        (empty, "empty", "without any value"),
        (same, "constant", "with one value only"),
        (tells, "alike", "with one value in each task, which tell the tasks apart and nothing else"),
    ):
        if names and (left or kind == "empty"):
            draft.leave_out(names if kind != "empty" else [])  # the preprocessor leaves those out itself
            yield Finding(kind, tuple(names), f"{_columns(names)} {what}.", f"{_are('left out', names)}.")


def copies(draft: Draft) -> Iterator[Finding]:
    """Columns that say the same as another."""
    first: dict[Any, str] = {}
    found: dict[str, str] = {}
    for name in draft.X.columns:
        if name in draft.text:
            continue
        key = _content(draft.X[name])
        if key is not None and key in first and name not in draft.wanted:
            found[name] = first[key]
        elif key is not None:
            first.setdefault(key, name)
    found |= _copies_with_gaps(draft, [name for name in draft.X.columns if name not in found])
    if found:
        draft.leave_out(list(found))
        told = listed(f"{shown(name)} as {shown(other)}" for name, other in found.items())
        are = f"{_are('left out', list(found))}, so that nothing counts twice."
        yield Finding("copies", tuple(found), f"Columns that say the same as another: {told}.", are)


def _copies_with_gaps(draft: Draft, names: list[str]) -> dict[str, str]:
    """Columns of numbers with missing values that say the same as another where both have one, and which."""
    numbers = [name for name in names if draft.X[name].dtype.kind in "iuf"]
    gaps = draft.X[numbers].isna().sum()
    if not gaps.any() or len(numbers) > PAIRED:
        return {}
    found: dict[str, str] = {}
    alike = draft.X[numbers].corr(min_periods=max(ENOUGH_ROWS, len(draft.X) // 2)).abs().to_numpy() > 1 - 10.0**-COPIES
    for i, j in zip(*np.nonzero(np.triu(alike, 1)), strict=True):
        more, less = sorted((numbers[i], numbers[j]), key=lambda name: -gaps[name])
        if gaps[more] and more not in draft.wanted and less not in found:
            found.setdefault(more, less)
    return found


def unusable(draft: Draft) -> Iterator[Finding]:
    """Columns that cannot be turned into numbers."""
    unread = {name for one in draft.findings if one.kind == "two_readings" for name in one.columns}
    for name in draft.X.columns:
        if (
            name in unread
            or name in draft.text
            or (draft.dates and (holds_dates(draft.X[name]) or _written(draft.X[name])))
        ):
            continue
        try:
            if column_kind(draft.X[name]) == "number":
                as_numbers(draft.X[name])
        except TableError as error:
            where = "" if error.row is None else f" in {draft.where(int(draft.rows[error.row]))}"
            found = f"{error.problem[0].upper()}{error.problem[1:]}{where}."
            yield Finding(error.kind, (name,), found, *_way_out(error, name), stops=True)


def _way_out(error: TableError, name: str) -> tuple[str, str]:
    if error.kind == "many_categories":
        ways = f"{one_option('--text', name)} uses its words, {one_option('--id', name)} makes it the name of the rows;"
        return f"That is too many for categories: {ways} to leave it out:", option("--drop", name)
    fixes = {"commas": "Write decimals with a point", "infinite": "Correct them"}
    return f"{fixes.get(error.kind, 'Correct them')}, or leave the column out:", option("--drop", name)


def truth(draft: Draft) -> Iterator[Finding]:
    """Columns of truth values."""
    names = [name for name in draft.describing() if str(draft.X[name].dtype) in ("bool", "boolean")]
    if names:
        found = f"{_columns(names)} of truth values."
        yield Finding("truth", tuple(names), found, f"{_are('used', names)} as categories.", option("--drop", *names))


def missing(draft: Draft) -> Iterator[Finding]:
    """Missing values, by column and task."""
    gaps = draft.X.isna()
    counts = gaps.sum()
    ordered = counts.sort_values(ascending=False, kind="stable").index
    names = [name for name in ordered if 0 < counts[name] < len(gaps)]
    if not names:
        return
    told = []
    for name in names:
        own = [] if draft.tasks is None else _by_task(gaps[name].to_numpy(), draft.tasks)
        told.append(f"{name} ({counts[name]}){f': {listed(own, shown=4)}' * bool(own)}")
    some = f"; {len(told) - MANY} more columns" * (len(told) > MANY)
    total = int(counts[names].sum())
    found = f"{count(total, 'missing value')} in {count(len(names), 'column')}: {'; '.join(told[:MANY])}{some}."
    sparse_output = bool(draft.text) and not draft.impute
    if draft.impute:
        yield Finding("missing", tuple(names), found, "They are filled in.")
    else:
        no_room = "Texts make a sparse matrix, which cannot hold them; to fill them:"
        stay = no_room if sparse_output else "They stay missing."
        yield Finding("missing", tuple(names), found, stay, "--impute median", sparse_output)


def _by_task(gaps: Array, tasks: Array) -> list[str]:
    names, counts = np.unique(tasks[gaps].astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [f"{names[i]} {counts[i]}" for i in order] if len(np.unique(tasks.astype(str))) > 1 else []


def scales(draft: Draft) -> Iterator[Finding]:
    """Numbers whose spreads differ, where they are not scaled."""
    if draft.scale == "none":
        numbers = [name for name in draft.X.columns if draft.X[name].dtype.kind in "iuf"]
        spreads = draft.X[numbers].std().to_numpy(dtype=np.float64)
        yield from uneven(spreads, [shown(name) for name in numbers], "--scale standard")


def uneven(spreads: Array, names: Sequence[str], change: str) -> Iterator[Finding]:
    """Features whose spread is much larger than the usual one."""
    usual = float(np.median(spreads[spreads > 0])) if (spreads > 0).any() else 0.0
    large = np.flatnonzero(spreads > APART * usual) if usual > 0 else np.array([], dtype=int)
    if len(large) and len(spreads) > 1:
        most = spreads.max() / usual
        told = listed(names[i] for i in large[np.argsort(-spreads[large], kind="stable")])
        found = f"Features of very different scales: the spread of {told} is up to {most:.3g} times the usual one."
        yield Finding("scales", (), found, "They are used as they are, and those dominate.", change)


def _one_per_task(column: Any, codes: Array) -> bool:
    given = column.notna().to_numpy()
    values = column[given]
    return bool(values.groupby(codes[given]).nunique().max() <= 1) and values.nunique() > 1


def _content(column: Any) -> Any:
    """Extract what tells whether two columns say the same: numbers up to units, categories up to names."""
    import pandas as pd

    if column.dtype.kind in "iuf":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if not np.isfinite(values[~np.isnan(values)]).all():
            return None
        with np.errstate(all="ignore"):
            scaled = (values - np.nanmean(values)) / np.nanstd(values)
        given = scaled[~np.isnan(scaled)]
        if not len(given):
            return None
        scaled = np.round(scaled * np.sign(given[np.argmax(np.abs(given) > 0.1)]), COPIES) + 0.0
        return "number", hash(scaled.tobytes())
    if column.isna().all():
        return None
    try:
        return "category", hash(pd.factorize(column.astype(object))[0].tobytes())
    except TypeError:
        return None


def _written(column: Any) -> list[str]:
    """Find the formats in which all texts of a column are dates."""
    return dates_in(column) if holds_texts(column) else []


def _columns(names: Sequence[str]) -> str:
    return f"{'Column' if len(names) == 1 else 'Columns'} {listed(map(shown, names))}"


def _are(what: str, names: Sequence[str]) -> str:
    return f"{'It is' if len(names) == 1 else 'They are'} {what}"


def column_spreads(X: Any) -> Array:
    """Compute the standard deviation of each column of a matrix, dense or sparse, over the values that are there."""
    if sparse.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        return np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0))
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.nanstd(np.asarray(X, dtype=np.float64), axis=0))
