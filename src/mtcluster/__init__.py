"""Multi-task clustering: several related data sets, clustered together."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets as datasets
    from . import inspection as inspection
    from . import interop as interop
    from . import metrics as metrics
    from . import model_selection as model_selection
    from . import plotting as plotting
    from . import preprocessing as preprocessing
    from .core.pacing import Schedule
    from .engines import DaskClusterError
    from .estimators import ASI, LSSMTC, SPMTC, MultiTaskGaussianMixture, PerTask, Pooled
    from .search import Decisions, Matching, Search, SearchEvidence

    __version__: str

__all__ = [
    "ASI",
    "LSSMTC",
    "SPMTC",
    "DaskClusterError",
    "Decisions",
    "Matching",
    "MultiTaskGaussianMixture",
    "PerTask",
    "Pooled",
    "Schedule",
    "Search",
    "SearchEvidence",
]

_HOMES = {
    **dict.fromkeys(("Search", "SearchEvidence", "Decisions", "Matching"), "search"),
    "DaskClusterError": "engines",
    "Schedule": "core.pacing",
    **dict.fromkeys(("ASI", "LSSMTC", "SPMTC", "MultiTaskGaussianMixture", "PerTask", "Pooled"), "estimators"),
}
_MODULES = ("datasets", "inspection", "interop", "metrics", "model_selection", "plotting", "preprocessing")


if not TYPE_CHECKING:  # type checkers read the imports above, and report names that do not exist

    def __getattr__(name: str) -> Any:
        """Make a public name, imported when it is first used: `mtcluster --help` does not wait for scikit-learn."""
        if name == "__version__":
            from importlib.metadata import version

            value: Any = version(__name__)
        elif name in _HOMES:
            value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        elif name in (*_MODULES, *_HOMES.values()):
            value = import_module(f".{name}", __name__)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES, "__version__"})
