"""Everything of scikit-learn that is not part of its public API, or not in all versions that are supported."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TypeVar

from sklearn import get_config  # type: ignore[attr-defined]
from sklearn.base import _fit_context
from sklearn.externals.array_api_compat import array_namespace
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._array_api import get_namespace
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_threads
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if as _available_if
from sklearn.utils.validation import _num_samples as num_samples

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""


Context = Any  # of callbacks; it has no type
Method = TypeVar("Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """scikit-learn's decorator of `fit`, with a type, so that type checkers keep that of the method."""
    decorate: Callable[[Method], Method] = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return decorate


def available_if(condition: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """scikit-learn's decorator of methods that not every estimator of a class has, with a type likewise."""
    decorate: Callable[[Method], Method] = _available_if(condition)
    return decorate


def check_parameters(estimator: Any) -> None:
    """Check the parameters of an estimator as its `fit` does."""
    estimator._validate_params()


class Registered(StrOptions):
    """A constraint on a parameter: one of the names of a registry, as it is when the parameter is checked."""

    def __init__(self, registry: Mapping[str, Any], *others: str) -> None:
        self._registry, self._others = registry, others
        super().__init__({*registry, *others})

    @property
    def options(self) -> set[str]:
        """The names."""
        return {*self._registry, *self._others}

    @options.setter
    def options(self, value: set[str]) -> None:
        pass


# The folders whose classes `sklearn.utils.all_estimators` leaves out.
NO_ESTIMATORS = {"externals", "tests"}


@contextmanager
def quick_discovery() -> Iterator[None]:
    """Let `sklearn.utils.all_estimators` find the same classes without a look at folders that have none.

    It leaves out what these folders hold, but imports their packages first, and with the wrappers of other array
    libraries PyTorch and Dask, which takes longer than all of scikit-learn.
    """
    from sklearn.utils import discovery

    before = discovery.pkgutil
    discovery.pkgutil = SimpleNamespace(walk_packages=_packages)
    try:
        yield
    finally:
        discovery.pkgutil = before


def _packages(path: Iterable[str], prefix: str) -> Iterator[Any]:
    """`pkgutil.walk_packages`, but for folders without estimators."""
    for found in pkgutil.iter_modules(path, prefix):
        yield found
        if found.ispkg and NO_ESTIMATORS.isdisjoint(found.name.split(".")):
            yield from _packages(import_module(found.name).__path__, f"{found.name}.")


__all__ = [
    "CallbackSupportMixin",
    "Context",
    "HasMethods",
    "Interval",
    "Registered",
    "StrOptions",
    "array_namespace",
    "available_if",
    "check_parameters",
    "fit_context",
    "get_config",
    "get_namespace",
    "num_samples",
    "openmp_threads",
    "quick_discovery",
    "safe_indexing",
]
