"""A small table: columns by name, printed aligned, and shown as HTML in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

ENDS = 15  # rows at each end of a long table that a notebook shows


Row = dict[str, Any]  # a value of each column


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

    def rows(self) -> list[Row]:
        """The rows, one dict each."""
        return [dict(zip(self, values, strict=True)) for values in zip(*self.values(), strict=True)]

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """What a notebook shows: no colours, so that it suits dark ones, and the ends of long tables alone."""
        n = len(next(iter(self.values()), []))
        if not n:
            return "<p>The table has no rows.</p>"
        shown = range(n) if n <= 2 * ENDS else [*range(ENDS), *range(n - ENDS, n)]
        columns = [(name, _is_text(values), [_cell(values[i], 3) for i in shown]) for name, values in self.items()]
        lines = ["".join(_html_cell("th", name, left) for name, left, _ in columns)]
        lines += ["".join(_html_cell("td", cells[i], left) for _, left, cells in columns) for i in range(len(shown))]
        if n > len(shown):
            lines.insert(1 + ENDS, _html_cell("td", "…", True) * len(columns))
        head, *body = [f"<tr>{line}</tr>" for line in lines]
        table = f"<table><thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"
        count = f"<p>{n} rows, of which the first and last {ENDS} are shown.</p>" if n > len(shown) else ""
        return f'<div style="overflow-x:auto">{table}</div>{count}'

    def text(self, digits: int = 3) -> str:
        """Aligned columns, floats with so many digits."""
        columns = []
        for name, values in self.items():
            cells = [_cell(value, digits) for value in values]
            width, left = max(len(cell) for cell in [name, *cells]), _is_text(values)
            columns.append([f"{cell:<{width}}" if left else f"{cell:>{width}}" for cell in [name, *cells]])
        return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def sentences_and_table(sentences: Iterable[str], table: Table) -> str:
    """What a notebook shows of a result: a paragraph for each sentence, and the table below."""
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences) + table._repr_html_()


def _cell(value: Any, digits: int) -> str:
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def _is_text(values: list[Any]) -> bool:
    """Whether a column holds text, which is aligned on the left."""
    return any(isinstance(value, str) for value in values)


def _html_cell(tag: str, text: str, left: bool) -> str:
    return f'<{tag} style="text-align:{"left" if left else "right"}">{escape(str(text))}</{tag}>'
