"""The membership step of labels in one kernel, on CUDA devices where Triton is installed.

The array API path reads X twice and writes the products in between; the kernel reads X once and writes labels, losses
and sums. It is an optional path of `jobs.advance`, which is the reference that it is tested against.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import MOST_ROWS, Picked, is_sparse
from .blocks import Block, Weight
from .memberships import Membership

if TYPE_CHECKING:
    from .model import TaskTerms

LEAST = 16  # of each side of a product of Triton's
LARGEST = 2**13  # numbers of the centres: their sums are kept in registers
WIDEST = 2**9  # features: a tile of rows is kept whole
BLOCK = 32  # rows of a tile
PROGRAMS = 1056  # that run at a time, eight on each of the 132 multiprocessors of an H200


def available(block: Block, membership: Membership, terms: TaskTerms) -> bool:
    """Whether the kernel can take the step for the rows of a block: labels of one run, float32 on a CUDA device."""
    if block.xp is np or is_sparse(block.X) or not membership.labels_only or terms.W is not None:
        return False
    runs, c, _ = terms.h.shape
    X: Any = getattr(block.X, "matrix", block.X)
    K, D = _padded(c), _padded(int(X.shape[1]))
    return (
        runs == 1
        and len(block) > 0
        and K * D <= LARGEST
        and D <= WIDEST
        and getattr(getattr(X, "device", None), "type", "") == "cuda"
        and str(X.dtype) == "torch.float32"
        and X.stride(1) == 1
        and find_spec("triton") is not None
    )


def step(block: Block, terms: TaskTerms, P: Any, weight: Weight) -> tuple[Any, ...]:
    """What a piece of `jobs.advance` answers, for all rows of a block: labels, losses, Σ w L, S and T."""
    import torch

    from .fused_kernel import advance

    X, index = (block.X.matrix, block.X.index) if isinstance(block.X, Picked) else (block.X, None)
    n, d, c = len(block), int(X.shape[1]), int(terms.h.shape[1])
    K, D = _padded(c), _padded(d)
    C, h = X.new_zeros((K, D)), X.new_full((K,), float("inf"))
    C[:c, :d], h[:c] = terms.C, terms.h[0, :, 0]
    rows = -(-n // max(PROGRAMS, -(-n // MOST_ROWS)))
    programs = -(-n // rows)
    sq: Any = block.sq
    labels, losses = torch.empty_like(P), torch.empty_like(sq)
    S, T = X.new_empty((programs, K)), X.new_empty((programs, K, D))
    selected = P if weight.selected is None else weight.selected
    advance[(programs,)](
        X, X if index is None else index, C, h, sq, weight.w, P, selected, labels, losses, S, T,
        n, d, X.stride(0), rows, K, D, BLOCK, index is not None, weight.selected is not None, num_warps=4,
    )  # fmt: skip
    sums = torch.sum(T, dim=0, dtype=torch.float64)[:c, :d], torch.sum(S, dim=0, dtype=torch.float64)[None, :c]
    w: Any = weight.w
    value = torch.sum(w * losses, dim=1, dtype=torch.float64)
    return labels, losses[None], value, sums[1], sums[0]


def _padded(size: int) -> int:
    return max(LEAST, 1 << (size - 1).bit_length())
