"""Estimators in scikit-learn's style: they validate, delegate to the core and publish what it found."""

from .asi import ASI
from .baselines import PerTask, Pooled
from .lssmtc import LSSMTC
from .mixture import MultiTaskGaussianMixture
from .spmtc import SPMTC

__all__ = ["ASI", "LSSMTC", "SPMTC", "MultiTaskGaussianMixture", "PerTask", "Pooled"]
