"""Forms of the memberships P: one class per form, registered by name."""

from collections import ChainMap

from .base import Membership
from .binary import Binary, one_hot
from .nonnegative import NonNegative
from .responsibilities import Responsibilities

MEMBERSHIPS: dict[str, Membership] = {form.name: form for form in (Binary(), NonNegative())}
FORMS: ChainMap[str, Membership] = ChainMap(MEMBERSHIPS, {Responsibilities.name: Responsibilities()})  # of mixtures too

__all__ = ["FORMS", "MEMBERSHIPS", "Binary", "Membership", "NonNegative", "Responsibilities", "one_hot"]
