"""Couplings of the tasks: one class per shared term of the loss, registered by name."""

from .base import Coupling
from .projection import Projection
from .reconstruction import Reconstruction

COUPLINGS: dict[str, Coupling] = {coupling.name: coupling for coupling in (Reconstruction(), Projection())}

__all__ = ["COUPLINGS", "Coupling", "Projection", "Reconstruction"]
