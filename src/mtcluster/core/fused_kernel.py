"""The kernels of `fused`: imported where Triton is installed and rows are on a CUDA device."""

import triton
import triton.language as tl


@triton.jit
def assign(  # type: ignore[no-untyped-def]
    X, index, C, h, sq, P, selected, labels, losses, n, d, clusters, stride, stride_C, stride_h,
    PICKED: tl.constexpr, SELECTED: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Labels and losses of a tile of rows: distances to all centres, features step by step."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = row < n
    at = tl.load(index + row, mask=there, other=0).to(tl.int64) if PICKED else row.to(tl.int64)
    cluster, feature = tl.arange(0, K), tl.arange(0, STEP)
    product = tl.zeros((BLOCK, K), dtype=tl.float32)
    for first in range(0, d, STEP):
        inside = first + feature < d
        x = tl.load(X + at[:, None] * stride + first + feature[None, :], there[:, None] & inside[None, :], 0.0)
        known = inside[:, None] & (cluster[None, :] < clusters)
        c = tl.load(C + cluster[None, :] * stride_C + first + feature[:, None], known, 0.0)
        product = tl.dot(x, c, product, input_precision=PRECISION)
    half = tl.load(h + cluster * stride_h, cluster < clusters, float("inf"))
    distance = half[None, :] - product
    label = tl.argmin(distance, axis=1)
    if SELECTED:
        old = tl.load(P + row, mask=there, other=0).to(tl.int32)
        label = tl.where(tl.load(selected + row, mask=there, other=0) != 0, label, old)
    own = cluster[None, :] == label[:, None]
    loss = tl.load(sq + row, mask=there, other=0.0) + 2 * tl.sum(tl.where(own, distance, 0.0), axis=1)
    tl.store(labels + row, label.to(tl.int64), mask=there)
    tl.store(losses + row, tl.maximum(loss, 0.0), mask=there)


@triton.jit
def add_up(  # type: ignore[no-untyped-def]
    X, index, labels, losses, w, sums, n, d, stride, rows, PICKED: tl.constexpr,
    K: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Of some rows the sums T by cluster, for some of the features, then their weights S and Σ w L."""
    program, first = tl.program_id(0), tl.program_id(1) * STEP
    cluster, feature = tl.arange(0, K), first + tl.arange(0, STEP)
    total, count = tl.zeros((K, STEP), dtype=tl.float32), tl.zeros((K,), dtype=tl.float32)
    value = tl.zeros((BLOCK,), dtype=tl.float32)
    last = tl.minimum((program + 1) * rows, n)
    for start in range(program * rows, last, BLOCK):
        row = start + tl.arange(0, BLOCK)
        there = row < last
        at = tl.load(index + row, mask=there, other=0).to(tl.int64) if PICKED else row.to(tl.int64)
        x = tl.load(X + at[:, None] * stride + feature[None, :], there[:, None] & (feature[None, :] < d), 0.0)
        label = tl.load(labels + row, mask=there, other=0).to(tl.int32)
        weight = tl.load(w + row, mask=there, other=0.0)
        weighted = tl.where(cluster[:, None] == label[None, :], weight[None, :], 0.0)
        total = tl.dot(weighted, x, total, input_precision=PRECISION)
        count += tl.sum(weighted, axis=1)
        value += weight * tl.load(losses + row, mask=there, other=0.0)
    own = sums + program * (K * D + K + 1)
    tl.store(own + cluster[:, None] * D + feature[None, :], total)
    if first == 0:
        tl.store(own + K * D + cluster, count)
        tl.store(own + K * D + K, tl.sum(value, axis=0))
