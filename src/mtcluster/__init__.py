"""Multi-task clustering: several related data sets, clustered together."""

from importlib.metadata import version

from .baselines import PerTask, Pooled
from .estimators import ASI, LSSMTC, SPMTC

__all__ = ["ASI", "LSSMTC", "SPMTC", "PerTask", "Pooled"]
__version__ = version("mtcluster")
