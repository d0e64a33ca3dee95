"""What the quick fits of a vote see: a sample of the rows, in the common frame of the tasks, in few dimensions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from ..core.arrays import Array, Matrix, Picked, Summary, is_sparse, pieces, rows_at
from ..core.blocks import LocalRows, Rows
from ..core.model import Block, Settings
from ..core.relations import directions
from ..core.solver import first_state

LARGE = 2**21  # numbers in dense rows from which on the leading directions are found by blocks of vectors
OVERSAMPLED, ROUNDS = 20, 6  # vectors beyond those wanted, and rounds, of that
NEIGHBORS, FAR = 5, 4  # a row whose fifth neighbour is so many times as far as usual has no company
UNIT = 1e-3  # rows whose lengths differ by no more than this share are directions


@dataclass(frozen=True)
class Sampling:
    """How much is looked at."""

    sample: int = 5000  # rows, all tasks together
    task_sample: int = 100  # of them from each task, where it has as many
    dimensions: int = 50  # of the features that the rows are seen in


MAP, MAP_AXES = Sampling(sample=20_000, task_sample=500), 4  # what a picture shows, and along how many directions


@dataclass(frozen=True)
class Look:
    """Rows of the tasks in few dimensions, and what each counts."""

    Ys: list[Array]
    us: list[Array]


def task_frame(rows: Rows, kind: str) -> tuple[Array | None, Array | None]:
    """Offsets b_k and scales s_k of the tasks, so that (x − b_k) / s_k has the same mean and spread in all of them."""
    if kind == "none":
        return None, None
    sizes, means = rows.summary.sizes, rows.summary.means
    middle = sizes @ means / sizes.sum()
    if kind == "mean":
        return means - middle, None
    # Σ u ‖x − mean‖² = Σ u ‖x − origin‖² − Σ u ‖mean − origin‖², the origin 0 where a sparse X has no entry.
    spread = rows.energy() / sizes - np.sum((means - rows.origins) ** 2, axis=1)
    widths = np.sqrt(np.maximum(spread, 0))
    usable = widths > 1e-8 * widths.max()
    scales = (
        np.where(usable, widths / np.exp(np.mean(np.log(widths[usable]))), 1.0)
        if usable.any()
        else np.ones_like(widths)
    )
    return means - scales[:, None] * middle, scales


def directional(summary: Summary) -> bool:
    """Whether all rows but those of zeros have one length, as TF-IDF and other normalised rows do.

    Lengths are compared with the distances between rows: rows that lie together far from zero are no directions.
    """
    if not summary.filled:
        return False
    mean = summary.sums.sum(axis=0) / summary.filled
    spread = max(summary.energy / summary.filled - mean @ mean, 0.0)
    return bool(np.sqrt(summary.longest) - np.sqrt(summary.shortest) <= UNIT * np.sqrt(spread))


def take_sample(rows: Rows, how: Sampling, rng: np.random.Generator) -> tuple[list[Block], list[Array]]:
    """Rows of each task, by its share of all rows that count, in their order, and which of these they are."""
    positions = sampled(rows, how, rng)
    return rows.take(positions), positions


def sampled(rows: Rows, how: Sampling, rng: np.random.Generator) -> list[Array]:
    """Places of some rows of each task among those that count, in order: all of them, if they are not too many."""
    counting = rows.summary.counting.tolist()
    total = sum(counting)
    positions = []
    for count in counting:
        size = max(min(count, how.task_sample), round(how.sample * count / total))
        some = total > how.sample and size < count
        positions.append(np.sort(rng.choice(count, size=size, replace=False)) if some else np.arange(count))
    return positions


def shared_map(
    rows: Rows, settings: Settings, M: Array, W: Array, sizes: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Which rows a picture shows, and where they lie in the shared subspace, in the common frame of the tasks."""
    positions = sampled(rows, MAP, rng)
    V = directions((M @ W.T).astype(np.float64), W.astype(np.float64), sizes.sum(axis=0), MAP_AXES)
    found = [settings.from_task(Y, k, V) for k, Y in enumerate(rows.coordinates(positions, V))]
    numbers = np.concatenate(rows.where(positions))
    order = np.argsort(numbers)
    return numbers[order], np.concatenate(found)[order]


def from_sample(
    rows: Rows,
    sample: list[Block],
    positions: list[Array],
    labels: list[Array],
    n_clusters: int,
    settings: Settings,
) -> list[Array]:
    """Labels of all rows from those of a sample; a row that was not in it goes to the nearest centre."""
    binary = replace(settings, coupling="reconstruction", membership="binary")
    centers = first_state(LocalRows(sample, n_clusters), binary, labels).centers
    return rows.extend(labels, positions, binary, centers)


def look_at(
    sample: list[Block], settings: Settings, dimensions: int, *, paced: bool, unit_rows: bool, seed: int
) -> Look:
    """The rows in the common frame of the tasks, on their leading directions where there are many features."""
    d, n = sample[0].X.shape[1], sum(map(len, sample))
    us = [b.u.astype(np.float64) for b in sample]
    frames = [_Rows(b.X, settings, k, np.zeros(d)) for k, b in enumerate(sample)]
    if not unit_rows:  # the middle of all rows, from which they are seen
        sums = [frame.transposed(u) for frame, u in zip(frames, us, strict=True)]
        middle = np.sum(sums, axis=0) / np.sum([u.sum() for u in us])
        frames = [replace(frame, middle=middle) for frame in frames]
    if min(n, d) <= dimensions:
        Ys = [frame.dense() for frame in frames]
    else:
        V = _leading(frames, dimensions, np.random.default_rng(seed))
        Ys = [frame.times(V) for frame in frames]
    if paced and not unit_rows:
        us = [u * _company(Y) for Y, u in zip(Ys, us, strict=True)]
    if unit_rows and min(n, d) > dimensions:
        kept = [np.einsum("ij,ij->i", Y, Y) for Y in Ys]
        Ys = [Y / np.sqrt(np.where(e > 0, e, 1))[:, None] for Y, e in zip(Ys, kept, strict=True)]
        if paced:  # a direction that is mostly elsewhere would be blown up to the length of the others
            us = [u * _prominence(e) for u, e in zip(us, kept, strict=True)]
    return Look(Ys, us)


def smooth(Y: Array, n_neighbors: int, steps: int) -> Array:
    """Rows moved towards their nearest neighbours in the task: Y ← ½ Y + ½ D⁻¹ G Y, some times."""
    if len(Y) <= 2:
        return Y
    G = kneighbors_graph(Y, min(n_neighbors, len(Y) - 1), include_self=False)
    G = G.maximum(G.T)
    G = sparse.diags(1 / np.asarray(G.sum(axis=1)).ravel()) @ G
    for _ in range(steps):
        Y = 0.5 * Y + 0.5 * (G @ Y)
    return Y


def _company(Y: Array) -> Array:
    """What a row counts: 1, or less if its neighbours are much farther away than is usual in its task.

    Rows far from all others would take centres for themselves.
    """
    if len(Y) <= NEIGHBORS:
        return np.ones(len(Y))
    away = NearestNeighbors(n_neighbors=NEIGHBORS).fit(Y).kneighbors()[0][:, -1]
    usual = np.median(away)
    return np.minimum(1, FAR * usual / np.where(away > 0, away, 1)) ** 2 if usual > 0 else np.ones(len(Y))


def _prominence(kept: Array) -> Array:
    """What a row counts: 1 if the leading directions show as much of it as of the median row, else less."""
    median = np.median(kept)
    return np.minimum(1, kept / median) ** 2 if median > 0 else np.ones_like(kept)


@dataclass(frozen=True)
class _Rows:
    """The rows of a task in the common frame, (x − b_k) / s_k − middle, without writing them down."""

    X: Matrix
    settings: Settings
    task: int
    middle: Array

    @property
    def origin(self) -> Array:
        """What is taken from a row before it is scaled."""
        return self.settings.in_task(self.middle, self.task)

    def dense(self) -> Array:
        """The rows, written down."""
        X = rows_at(self.X, slice(0, self.X.shape[0]))
        X = X.toarray() if sparse.issparse(X) else X
        return self.settings.from_task(X.astype(np.float64), self.task) - self.middle

    def times(self, V: Array) -> Array:
        """Product with d × l."""
        found = [np.asarray(rows_at(self.X, part) @ V, dtype=np.float64) for part in _pieces(self.X)]
        return (np.concatenate(found) - self.origin @ V) / self.settings.scale(self.task)

    def transposed(self, u: Array) -> Array:
        """Product of the transposed rows with one number a row."""
        found = sum(np.asarray(rows_at(self.X, part).T @ u[part], dtype=np.float64) for part in _pieces(self.X))
        return (found - self.origin * u.sum()) / self.settings.scale(self.task)

    def scatter(self, V: Array) -> Array:
        """Product of the transposed rows with the rows with d × l: each is read once."""
        shift, total, found = self.origin @ V, np.zeros(V.shape[1]), np.zeros_like(V)
        for part in pieces(self.X, V.shape[1]):
            X = rows_at(self.X, part)
            Y = np.asarray(X @ V, dtype=np.float64) - shift
            found += X.T @ Y
            total += Y.sum(axis=0)
        return (found - np.outer(self.origin, total)) / self.settings.scale(self.task) ** 2


def _pieces(X: Matrix) -> list[slice]:
    """Rows that have to be fetched go piece by piece."""
    return pieces(X) if isinstance(X, Picked) else [slice(0, X.shape[0])]


def _leading(frames: list[_Rows], dimensions: int, rng: np.random.Generator) -> Array:
    """The leading right singular vectors (d, l) of all rows in the common frame."""
    d = frames[0].X.shape[1]
    sizes = [frame.X.shape[0] for frame in frames]
    cuts = np.cumsum(sizes)[:-1]

    def down(v: Array) -> Array:
        return np.concatenate([frame.times(v.ravel()) for frame in frames])

    def up(u: Array) -> Array:
        parts = np.split(u.ravel(), cuts)
        return np.sum([frame.transposed(part) for frame, part in zip(frames, parts, strict=True)], axis=0)

    operator = LinearOperator((sum(sizes), d), matvec=down, rmatvec=up, dtype=np.float64)
    start = rng.standard_normal(min(operator.shape))
    if not np.any(operator.T @ (operator @ rng.standard_normal(d))):
        return np.eye(d, dimensions)  # all rows are zero
    if not is_sparse(frames[0].X) and sum(sizes) * d > LARGE:
        return _leading_block(frames, dimensions, rng)
    _, _, Vt = svds(operator, k=dimensions, v0=start, tol=1e-3)
    return Vt[::-1].T


def _leading_block(frames: list[_Rows], dimensions: int, rng: np.random.Generator) -> Array:
    """The same by subspace iteration, which reads rows a few times; Lanczos reads them for each vector."""
    V = rng.standard_normal((frames[0].X.shape[1], min(dimensions + OVERSAMPLED, frames[0].X.shape[1])))
    for _ in range(ROUNDS):
        V = np.linalg.qr(sum(frame.scatter(V) for frame in frames))[0]
    _, turn = np.linalg.eigh(V.T @ sum(frame.scatter(V) for frame in frames))
    return (V @ turn)[:, ::-1][:, :dimensions]
