"""Many quick fits vote on the cluster of each row: a start for the fit, and evidence for what it decides."""

from .consensus import Consensus, ConsensusResult, Voice
from .decisions import ConsensusEvidence, Decisions, Matching
from .embedding import shared_embeddings

__all__ = ["Consensus", "ConsensusEvidence", "ConsensusResult", "Decisions", "Matching", "Voice", "shared_embeddings"]
