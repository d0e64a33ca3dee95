"""Objects that are as they were before, after a method that failed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


def restores(method: Method) -> Method:
    """Let a method that raises leave the attributes of its object as they were, so that a fitted model stays usable.

    Examples
    --------
    >>> class Model:
    ...     @restores
    ...     def fit(self, X):
    ...         self.n_ = len(X)
    ...         self.total_ = sum(X)
    >>> model = Model()
    >>> model.fit([1, 2])
    >>> try:
    ...     model.fit([1, 2, "three"])
    ... except TypeError:
    ...     print(model.n_)
    2
    """

    @wraps(method)
    def restoring(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return restoring  # type: ignore[return-value]
