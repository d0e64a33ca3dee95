"""The membership step of labels in two kernels, on CUDA devices where Triton is installed.

The array API path writes the products of the rows with the centres and reads them several times; the first kernel
keeps them in registers and writes labels and losses, the second adds up rows by label. It is an optional path of
`jobs.advance`, which is the reference that it is tested against.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from .arrays import Foreign, Picked, is_sparse
from .blocks import Block, Outputs, Weight
from .memberships import Membership

if TYPE_CHECKING:
    from .terms import TaskTerms

LEAST_SIDE = 16  # of each side of a product of Triton's
MOST_CLUSTERS = 128  # their distances to a tile of rows are kept in registers
PRECISION = "tf32x3"  # three products of tensor cores are as exact as one of float32
ASSIGN = {"BLOCK": 64, "STEP": 64, "num_warps": 4, "num_stages": 3}  # what an H200 is fastest with
ADD_UP = {"BLOCK": 32, "num_warps": 4, "num_stages": 3}
WIDEST_TILE = 256  # features that one program adds up
SUMMED = 2**11  # rows that one program adds up: in longer sums single precision would drift


def available(block: Block, membership: Membership, terms: TaskTerms) -> bool:
    """Say whether the kernel can take the step for the rows of a block: labels of one run, float32 on a CUDA device."""
    if block.xp is np or is_sparse(block.X) or not membership.labels_only or not terms.plain:
        return False
    runs, c, _ = terms.h.shape
    X: Foreign = getattr(block.X, "matrix", block.X)
    return (
        runs == 1
        and len(block) > 0
        and c <= MOST_CLUSTERS
        and getattr(getattr(X, "device", None), "type", "") == "cuda"
        and str(X.dtype) == "torch.float32"
        and X.stride(1) == 1
        and find_spec("triton") is not None
    )


def step(block: Block, terms: TaskTerms, P: Foreign, weight: Weight) -> Outputs:
    """Tell what a piece of `jobs.advance` answers, for all rows of a block: labels, losses, Σ w L, S and T."""
    import torch

    from .fused_kernel import add_up, assign

    X: Foreign
    X, index = (block.X.matrix, block.X.index) if isinstance(block.X, Picked) else (block.X, None)
    n, d, c = len(block), int(X.shape[1]), int(terms.h.shape[1])
    K, wide = _padded(c), min(_padded(d), WIDEST_TILE)
    D = -(-d // wide) * wide
    C: Foreign = terms.C
    h: Foreign = terms.h
    sq, w = block.sq, weight.w
    labels, losses = torch.empty_like(P), X.new_empty((1, n))
    picked, selected = X if index is None else index, P if weight.selected is None else weight.selected
    kept, stride = weight.selected is not None, X.stride(0)
    assign[(-(-n // ASSIGN["BLOCK"]),)](
        X, picked, C, h, sq, P, selected, labels, losses, n, d, c, stride, C.stride(0), h.stride(1),
        index is not None, kept, K=K, PRECISION=PRECISION, **ASSIGN,
    )  # fmt: skip
    programs = -(-n // SUMMED)
    parts = X.new_empty((programs, K * D + K + 1))
    add_up[(programs, D // wide)](
        X, picked, labels, losses, w, parts, n, d, stride, SUMMED, index is not None, K=K, D=D, STEP=wide,
        PRECISION=PRECISION, **ADD_UP,
    )  # fmt: skip
    sums = torch.sum(parts, dim=0, dtype=torch.float64)
    T, S = sums[: K * D].view(K, D)[:c, :d], sums[K * D : K * D + c]
    return labels, losses, sums[-1:], S[None], T


def _padded(size: int) -> int:
    return max(LEAST_SIDE, 1 << (size - 1).bit_length())
