"""Values per row in files: for fits by Dask's threads to rows so many that even single values of each fill the memory.

The workers of a cluster have ways of their own to move to disk what does not fit.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

_folder: ContextVar[str | None] = ContextVar("folder", default=None)


class Stored:
    """What a chunk has, in a file of this process that is removed together with the object."""

    def __init__(self, value: Any, folder: str) -> None:
        descriptor, self.path = tempfile.mkstemp(dir=folder)
        weakref.finalize(self, _remove, self.path)
        with os.fdopen(descriptor, "wb") as file:
            pickle.dump(value, file, protocol=5)

    def load(self) -> Any:
        """The value."""
        with open(self.path, "rb") as file:
            return pickle.load(file)


@contextmanager
def storing(folder: Path) -> Iterator[None]:
    """Keep the values per row of fits in this block in files of a folder, which must outlive the models.

    Dask's threads do the work, as other processes could not share these files.
    """
    import dask

    token = _folder.set(str(folder))
    try:
        with dask.config.set(scheduler="threads"):
            yield
    finally:
        _folder.reset(token)


def current() -> str | None:
    """The folder of the block; None: values stay in memory."""
    return _folder.get()


def stored(value: Any, folder: str | None) -> Any:
    """The value, or where it is kept."""
    return value if folder is None else Stored(value, folder)


def loaded(value: Any) -> Any:
    """The value, wherever it is kept."""
    return value.load() if isinstance(value, Stored) else value


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
