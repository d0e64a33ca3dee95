"""Multi-task clustering: several related data sets, clustered together."""

from importlib.metadata import version

from .consensus import Consensus, ConsensusEvidence, Decisions
from .estimators import ASI, LSSMTC, SPMTC, PerTask, Pooled

__all__ = ["ASI", "LSSMTC", "SPMTC", "Consensus", "ConsensusEvidence", "Decisions", "PerTask", "Pooled"]
__version__ = version("mtcluster")
