"""One thread for what is small: the libraries below would take longer to share it out than to do it."""

from __future__ import annotations

from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def libraries() -> ThreadpoolController:
    """Return those that NumPy, SciPy and scikit-learn compute with."""
    import sklearn.cluster  # noqa: F401  loads them

    return ThreadpoolController()
