"""Records: frozen dataclasses whose arrays say which axes they have.

What is done along an axis is written here once, and serves runs, tasks, clusters and groups alike: take some entries,
make room for more, put others behind them, check that all sizes agree. Axes have letters:

    R runs side by side   m tasks   c clusters   d features   l directions of the subspace   q directions of a metric
    n rows   s stages   g groups that are no clusters   p other values

An axis with a question mark may have the length 1, which stands for all entries alike. Axes are counted from the last,
so that a record of one run may do without R.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Self

import numpy as np

from .arrays import Array, Foreign

LARGEST = float(np.finfo(np.float64).max)


def axes(
    letters: str, *, fill: float = 0, least: float = -LARGEST, most: float = LARGEST, finite: bool = True,
    **default: Foreign,
) -> Foreign:  # fmt: skip
    """Declare an array of a record: its axes, what it holds where it grows, and which numbers it may hold."""
    if isinstance(values := default.get("default"), np.ndarray):
        default = {"default_factory": lambda: values}
    known = Declared("", tuple(letters.split()), fill, least, most, finite)
    return field(metadata={"declared": known}, **default)


@dataclass(frozen=True)
class Declared:
    """An array of a record."""

    name: str
    letters: tuple[str, ...]
    fill: float
    least: float
    most: float
    finite: bool  # False: anything

    def positions(self, axis: str) -> list[int]:
        """Find an axis, counted from the last one."""
        return [i - len(self.letters) for i, letter in enumerate(self.letters) if letter.rstrip("?") == axis]

    def stands_for_all(self, values: Array, position: int) -> bool:
        """Tell whether one entry stands for all along an axis."""
        return values.shape[position] == 1 and self.letters[position].endswith("?")


_KNOWN: dict[type, tuple[Declared, ...]] = {}


def declared(kind: type) -> tuple[Declared, ...]:
    """List the arrays of a class of records."""
    if kind not in _KNOWN:
        marked = (one for one in fields(kind) if "declared" in one.metadata)
        _KNOWN[kind] = tuple(replace(one.metadata["declared"], name=one.name) for one in marked)
    return _KNOWN[kind]


@dataclass(frozen=True, eq=False)
class Record:
    """Arrays with axes, records within records, and other values, which stay as they are."""

    def take(self, axis: str, at: Foreign) -> Self:
        """Take some entries along an axis; a whole number drops the axis."""
        if at is None:
            return self._changed(axis, lambda one, values, i: np.expand_dims(values, i + values.ndim + 1))
        dropped = isinstance(at, int | np.integer)

        def taken(one: Declared, values: Array, i: int) -> Array:
            if one.stands_for_all(values, i) and np.size(at):
                return values.squeeze(i) if dropped else values
            return np.take(values, at, axis=i) if i + values.ndim else values[at]

        return self._changed(axis, taken)

    def grow(self, axis: str, n: int) -> Self:
        """Make room for more entries behind those along an axis."""

        def grown(one: Declared, values: Array, i: int) -> Array:
            if one.stands_for_all(values, i) or not n:
                return values
            if values.dtype.kind in "OSU":
                return np.concatenate([values, np.repeat(values[:1], n)])
            room = [(0, 0)] * values.ndim
            room[i] = (0, n)
            return np.pad(values, room, constant_values=one.fill)

        return self._changed(axis, grown)

    def concat(self, axis: str, *others: Self) -> Self:
        """Put the entries of other records behind those along an axis; all else stays as it is here."""
        changes: dict[str, object] = {}
        for name, part in self._parts():
            changes[name] = part.concat(axis, *(getattr(other, name) for other in others))
        for one in declared(type(self)):
            for i in one.positions(axis)[:1]:
                values = [getattr(record, one.name) for record in (self, *others)]
                if values[0] is not None and not all(
                    one.stands_for_all(v, i) and np.array_equal(v, values[0]) for v in values
                ):
                    changes[one.name] = np.concatenate(values, axis=i)
        return replace(self, **changes)

    def whole(self, **sizes: int) -> Self:
        """Write entries out that stand for all along some axes."""
        found = self
        for axis, n in sizes.items():
            found = found._changed(
                axis,
                lambda one, values, i, n=n: np.repeat(values, n, axis=i) if one.stands_for_all(values, i) else values,
            )
        return found

    def check(self, sizes: dict[str, int]) -> None:
        """Raise an error that names the first array whose shape does not agree with `sizes`; new sizes are kept."""
        for one in declared(type(self)):
            values = getattr(self, one.name)
            if values is None:
                continue
            shape, letters = np.shape(values), one.letters
            if len(shape) < len(letters) and letters[0].startswith("R"):  # of one run
                letters = letters[1:]
            found = (*shape, *[0] * len(letters))  # 0: an axis that is not there
            wanted = tuple(
                1 if letter.endswith("?") and size == 1 else sizes.setdefault(letter.rstrip("?"), size)
                for letter, size in zip(letters, found, strict=False)
            )
            if shape and shape != wanted:
                raise ValueError(f"{one.name} has the shape {shape} instead of {wanted}")
        for _, part in self._parts():
            part.check(sizes)

    def _parts(self) -> Iterator[tuple[str, Record]]:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Record):
                yield one.name, value

    def _changed(self, axis: str, change: Foreign) -> Self:
        """Change all arrays along an axis, in records within this one too."""
        changes: dict[str, object] = {name: part._changed(axis, change) for name, part in self._parts()}
        for one in declared(type(self)):
            values = getattr(self, one.name)
            for i in one.positions(axis) if values is not None else ():
                values = change(one, values, i)
                changes[one.name] = values
        return replace(self, **changes)
