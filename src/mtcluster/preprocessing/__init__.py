"""Tables of numbers, categories and texts as matrices that can be clustered."""

from ._columns import TableError
from ._table import TablePreprocessor

__all__ = ["TableError", "TablePreprocessor"]
