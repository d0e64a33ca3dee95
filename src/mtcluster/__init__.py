"""Multi-task clustering: several related data sets, clustered together."""

from importlib.metadata import version

from .estimators import ASI, LSSMTC, SPMTC, PerTask, Pooled

__all__ = ["ASI", "LSSMTC", "SPMTC", "PerTask", "Pooled"]
__version__ = version("mtcluster")
