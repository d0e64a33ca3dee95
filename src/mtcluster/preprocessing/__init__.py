"""Tables of numbers, categories and texts as matrices that can be clustered, and a check of them before that."""

from ._check import check
from ._columns import TableError
from ._findings import Finding, TableCheck
from ._table import TablePreprocessor

__all__ = ["Finding", "TableCheck", "TableError", "TablePreprocessor", "check"]
