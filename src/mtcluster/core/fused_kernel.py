"""The kernel of `fused`: imported where Triton is installed and rows are on a CUDA device."""

import triton  # type: ignore[import-not-found]
import triton.language as tl  # type: ignore[import-not-found]


@triton.jit
def advance(  # type: ignore[no-untyped-def]
    X, index, C, h, sq, w, P, selected, labels, losses, S, T, n, d, stride, rows,
    K: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, PICKED: tl.constexpr, SELECTED: tl.constexpr,
):  # fmt: skip
    """Some rows of a block, tile by tile: distances, labels, losses, and the sums that the next centres need."""
    program = tl.program_id(0)
    first = program * rows
    last = tl.minimum(first + rows, n)
    cluster, feature = tl.arange(0, K), tl.arange(0, D)
    c = tl.load(C + cluster[None, :] * D + feature[:, None])
    half = tl.load(h + cluster)
    total, count = tl.zeros((K, D), dtype=tl.float32), tl.zeros((K,), dtype=tl.float32)
    for start in range(first, last, BLOCK):
        row = start + tl.arange(0, BLOCK)
        there = row < last
        at = tl.load(index + row, mask=there, other=0).to(tl.int64) if PICKED else row.to(tl.int64)
        x = tl.load(
            X + at[:, None] * stride + feature[None, :], mask=there[:, None] & (feature[None, :] < d), other=0.0
        )
        distance = half[None, :] - tl.dot(x, c, input_precision="ieee")
        label = tl.argmin(distance, axis=1)
        if SELECTED:
            old = tl.load(P + row, mask=there, other=0).to(tl.int32)
            label = tl.where(tl.load(selected + row, mask=there, other=0) != 0, label, old)
        own = cluster[None, :] == label[:, None]
        least = tl.sum(tl.where(own, distance, 0.0), axis=1)
        loss = tl.load(sq + row, mask=there, other=0.0) + 2 * least
        tl.store(labels + row, label.to(tl.int64), mask=there)
        tl.store(losses + row, tl.maximum(loss, 0.0), mask=there)
        weighted = tl.where(own, tl.load(w + row, mask=there, other=0.0)[:, None], 0.0)
        total += tl.dot(tl.trans(weighted), x, input_precision="ieee")
        count += tl.sum(weighted, axis=0)
    tl.store(S + program * K + cluster, count)
    tl.store(T + program * K * D + cluster[:, None] * D + feature[None, :], total)
