"""A small table: columns by name, printed aligned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Table(dict[str, list[Any]]):
    """Columns by name, each a list with one entry per row; `pandas.DataFrame(table)` converts it.

    Examples
    --------
    >>> table = Table.from_rows([{"task": "a", "accuracy": 0.5}, {"task": "b", "accuracy": 1.0}])
    >>> table["accuracy"]
    [0.5, 1.0]
    >>> print(table)
    task  accuracy
    a        0.500
    b        1.000
    """

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Table:
        """A table of rows that all have the same keys."""
        rows = list(rows)
        return cls({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})

    def rows(self) -> list[dict[str, Any]]:
        """The rows, one dict each."""
        return [dict(zip(self, values, strict=True)) for values in zip(*self.values(), strict=True)]

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int = 3) -> str:
        """Aligned columns, floats with so many digits."""
        columns = []
        for name, values in self.items():
            cells = [f"{v:.{digits}f}" if isinstance(v, float) else str(v) for v in values]
            width = max(len(cell) for cell in [name, *cells])
            left = any(isinstance(v, str) for v in values)
            columns.append([f"{cell:<{width}}" if left else f"{cell:>{width}}" for cell in [name, *cells]])
        return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))
