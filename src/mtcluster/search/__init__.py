"""The search of default fits: starts, mixtures and moves, and the evidence, which chooses."""

from .decisions import Decisions, Matching, SearchEvidence
from .search import Search, SearchResult, Voice

__all__ = ["Decisions", "Matching", "Search", "SearchEvidence", "SearchResult", "Voice"]
