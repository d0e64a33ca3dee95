"""What a check of a table finds, and the table that is left."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import Any

from .._utils.tables import Table
from .._utils.text import count
from ..core.arrays import Array

NAME_LENGTH = 60  # characters of a name in a message


@dataclass(frozen=True)
class Finding:
    """Something about a table that its user should know before it is clustered.

    Parameters
    ----------
    kind : str
        What it is, as a keyword such as "identifier" or "missing".
    columns : tuple of str
        The columns that it concerns.
    found : str
        What was found, a sentence.
    done : str
        What is done about it.
    option : str
        The option of the command line that changes it, quoted for a shell; empty if there is none.
    stops : bool
        Whether the table cannot be clustered as it is.
    """

    kind: str
    columns: tuple[str, ...]
    found: str
    done: str
    option: str = ""
    stops: bool = False

    def __str__(self) -> str:
        change = f" To change that: {self.option}" if self.option else ""
        return f"{self.found} {self.done}{change}"


@dataclass
class TableCheck:
    """The findings of a check, and the table with what was done about them.

    Attributes
    ----------
    findings : list of Finding
        What was found; those that stop a fit come first.
    X : DataFrame, array or sparse matrix
        The columns to cluster by, without those that are left out, and without the rows that are.
    tasks : ndarray of str or None
        The task of each of these rows.
    rows : ndarray of int
        Their positions in the table that was given.
    left_out : list of str
        Columns that are not used.
    written : tuple of str
        How the numbers of columns of texts are written: the sign before decimals, that between thousands (0: none), and
        the column.
    table : Table
        The findings by columns: kind, columns, found, done, option, stops.
    """

    findings: list[Finding]
    X: Any
    tasks: Array | None
    rows: Array
    left_out: list[str] = field(default_factory=list)
    written: tuple[str, ...] = field(default=(), repr=False)

    @property
    def table(self) -> Table:
        """The findings by columns."""
        return Table.from_rows(
            {
                "kind": one.kind,
                "columns": ", ".join(one.columns),
                "found": one.found,
                "done": one.done,
                "option": one.option,
                "stops": one.stops,
            }
            for one in self.findings
        )

    @property
    def stops(self) -> list[Finding]:
        """The findings because of which the table cannot be clustered as it is."""
        return [one for one in self.findings if one.stops]

    def __str__(self) -> str:
        if not self.findings:
            return "Nothing to complain about."
        return "\n".join([f"{count(len(self.findings), 'finding')}:", *lines_of(self.findings)])

    def _repr_html_(self) -> str:
        if not self.findings:
            return f"<p>{self}</p>"
        items = "".join(
            f"<li><b>{'Stops the fit: ' * one.stops}{escape(one.found)}</b> {escape(one.done)}"
            f"{f' <code>{escape(one.option)}</code>' * bool(one.option)}</li>"
            for one in self.findings
        )
        return f"<p>{count(len(self.findings), 'finding')}:</p><ul>{items}</ul>"


def lines_of(findings: Iterable[Finding]) -> list[str]:
    """Write one line for each finding, and the option below it."""
    lines = []
    for one in findings:
        lines.append(f"- {'Stops the fit: ' * one.stops}{one.found} {one.done}".rstrip())
        lines += [f"    {one.option}"] * bool(one.option)
    return lines


def option(name: str, *values: str) -> str:
    r"""Write an option of the command line with a list of values, quoted so that it can be pasted into a shell.

    Examples
    --------
    >>> option("--drop", "a", "b, c")
    '--drop \'a,"b, c"\''
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(values)
    return f"{name} {shlex.quote(text.getvalue())}"


def one_option(name: str, value: str) -> str:
    """Write an option of the command line with one value, quoted so that it can be pasted into a shell."""
    return f"{name} {shlex.quote(value)}"


def shown(name: object) -> str:
    """Write a name in quotes, shortened if it is long."""
    text = str(name)
    return repr(text if len(text) <= NAME_LENGTH else text[: NAME_LENGTH - 1] + "…")
