"""NumPy's own threads, which rest while ours work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_users = 0  # of libraries whose limit is one for the whole process
_before: list[int] = []  # their limits before the first user came


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the threads of BLAS to one, in however many threads of Python at once.

    Most libraries have one limit for the process. Those who come later find that of the first, so that only the last to
    leave may restore what was there before. Libraries built with OpenMP have a limit for each thread of Python.
    """
    own = [library for library in _libraries() if _per_thread(library)]
    numbers = [library.get_num_threads() for library in own]
    _set(own, [1] * len(own))
    _enter()
    try:
        yield
    finally:
        _leave()
        _set(own, numbers)


def _enter() -> None:
    global _users, _before
    with _lock:
        if _users == 0:
            shared = _shared()
            _before = [library.get_num_threads() for library in shared]
            _set(shared, [1] * len(shared))
        _users += 1


def _leave() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            _set(_shared(), _before)


@cache
def _libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _shared() -> list[Any]:
    return [library for library in _libraries() if not _per_thread(library)]


def _per_thread(library: Any) -> bool:
    return getattr(library, "threading_layer", None) == "openmp"


def _set(libraries: list[Any], numbers: list[int]) -> None:
    """Set limits, also where threadpoolctl would let the thread of Python do so that came first, and no other."""
    for library, number in zip(libraries, numbers, strict=True):
        getattr(library, "_real_set_num_threads", library.set_num_threads)(number)
