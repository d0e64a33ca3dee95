"""Self-paced weights of the examples: one class per rule, registered by name."""

from .base import Weighting
from .hard import Hard
from .soft import SOFT_RULES, Soft, SoftPaper, SoftQuantile

WEIGHTINGS: dict[str, type[Weighting]] = {rule.name: rule for rule in (Hard, Soft)}

__all__ = ["SOFT_RULES", "WEIGHTINGS", "Hard", "Soft", "SoftPaper", "SoftQuantile", "Weighting"]
