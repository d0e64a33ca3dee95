"""Estimators in scikit-learn's style: they validate, delegate to the core and store what it found."""

from ._asi import ASI
from ._baselines import PerTask, Pooled
from ._lssmtc import LSSMTC
from ._mixture import MultiTaskGaussianMixture
from ._spmtc import SPMTC

__all__ = ["ASI", "LSSMTC", "SPMTC", "MultiTaskGaussianMixture", "PerTask", "Pooled"]
