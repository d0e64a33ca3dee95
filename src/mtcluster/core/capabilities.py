"""What an exchangeable part of the model can work with: the errors that refuse a combination are made from this."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Capabilities:
    """What a coupling or a form of memberships can work with."""

    sparse: bool = True  # rows of sparse matrices
    dask: bool = True  # rows that live in other processes
    gpu: bool = True  # rows of other array libraries than NumPy
    offsets: bool = True  # tasks that lie apart
    missing: bool = True  # values that are missing
    task_shares: bool = True  # a λ1 of its own for each task
    max_features: int | None = None  # largest number of features; None: no limit
    max_order: int | None = None  # largest min(rows, features); None: no limit
