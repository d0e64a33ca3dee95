"""Numbers of clusters that outlive a fit: which cluster of a new fit is which of an old one, and arrays in its numbers.

A number is the index of a cluster in every array. A cluster keeps its number as long as it is found again; one that is
not stays in the arrays, held by no task, and a new one comes after the last number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from .arrays import Array, Foreign, host
from .blocks import Outputs, Place
from .centers import Centers
from .covariances import OfClusters
from .model import Model
from .record import Record

Kind = TypeVar("Kind", bound=Record)

LEAST_OVERLAP = 0.2  # share of rows that two clusters must have in common to be one: n_ij / mean of n_i and n_j


def labelled(place: Place, Ps: list[Array]) -> Outputs:
    """Return labels, from labels or memberships (n, c)."""
    return [P if P.ndim == 1 else place.xp.argmax(P, axis=1) for P in Ps], None


def contingency(
    place: Place,
    old: list[Array],
    old_losses: list[Array],
    new: list[Array],
    new_losses: list[Array],
    *,
    shape: tuple[int, int],
) -> tuple[Array]:
    """Compute (3, c_old, c_new) the rows that an old and a new cluster have in common, and their old and new losses."""
    found = np.zeros((3, shape[0] * shape[1]))
    for a, La, b, Lb in zip(old, old_losses, new, new_losses, strict=True):
        pairs = host(a).astype(np.intp) * shape[1] + host(b).astype(np.intp)
        for i, weights in enumerate((None, host(La), host(Lb))):
            found[i] += np.bincount(pairs, weights=weights, minlength=shape[0] * shape[1])
    return (found.reshape(3, *shape),)


def spacing(centers: Centers, exists: Array) -> Array:
    """(c,) the squared distance of each shared centre that exists to the nearest other, in the metric of the model."""
    Z = centers.geometry.whiten(centers.shared.astype(np.float64))
    apart = np.sum((Z[:, None] - Z) ** 2, axis=2)
    apart[~exists] = apart[:, ~exists] = np.inf
    np.fill_diagonal(apart, np.inf)
    return apart.min(axis=1)


def continued(common: Array, moved: Array, room: Array) -> Array:
    """Compute (c_new,) the old number of each new cluster, or −1 for one that none of the old clusters has become.

    `common` (c_old, c_new) counts the rows of both. Clusters are matched so that they have as large a share of their
    rows in common as possible, n_ij over the mean of n_i and n_j. `moved` (c_old, c_new) is how far, squared, these
    rows lie from where the old cluster was, and `room` (c_old,) how far its nearest neighbour did: the share counts
    1 − moved / room times, so that of two clusters that were one the one that stayed keeps the number, and one that
    lies as far away as another cluster would is another one. What is left must be at least `LEAST_OVERLAP`: else a new
    cluster would be forced into the number of one that has died. Of old clusters of about one size that merged, the
    oldest gives the number: a cluster that was cut in two for a while is the same afterwards.
    """
    sizes = common.sum(axis=1)[:, None] + common.sum(axis=0)
    share = 2 * common / np.where(sizes > 0, sizes, 1)
    gain = share * (1 - np.clip(moved / np.maximum(room, np.finfo(np.float64).tiny)[:, None], 0, 1)) - LEAST_OVERLAP
    c_old, c_new = common.shape
    open_ = np.concatenate([gain, np.zeros((c_new, c_new))])  # a new cluster may stay without an old one, at no gain
    rows, columns = linear_sum_assignment(open_, maximize=True)
    found = np.full(c_new, -1)
    kept = (rows < c_old) & (open_[rows, columns] > 0)
    found[columns[kept]] = rows[kept]
    for j in np.flatnonzero(found >= 0):
        alike = 2 * common[:, j] >= np.maximum(common.sum(axis=1), common[found[j], j])  # most of it, and as many rows
        oldest = np.setdiff1d(np.flatnonzero(alike & (gain[:, j] > 0)), found)
        found[j] = min([int(found[j]), *oldest.tolist()])
    return found


@dataclass(frozen=True)
class Numbering:
    """Where the clusters of a fit stand in arrays that have room for clusters that are no more."""

    numbers: Array  # (c,) of the clusters of the fit
    width: int  # of the arrays

    @classmethod
    def after(cls, old: Array, n_old: int) -> Numbering:
        """From the old number of each cluster, −1: none; these come after the last."""
        born = old < 0
        numbers = np.where(born, n_old + np.cumsum(born) - 1, old)
        return cls(numbers, max(n_old, int(numbers.max()) + 1))

    @property
    def absent(self) -> Array:
        """(width,) the numbers of clusters that are no more."""
        return self.order == len(self.numbers)

    @property
    def order(self) -> Array:
        """(width,) which cluster of the fit has a number; one more than there are: none."""
        found = np.full(self.width, len(self.numbers))
        found[self.numbers] = np.arange(len(self.numbers))
        return found

    def spread(self, values: Array, axis: int, fill: Foreign) -> Array:
        """An array with one entry per cluster along an axis, with the room; `fill`: a value or an array for others."""
        values = np.moveaxis(values, axis, 0)
        found = np.empty((self.width, *values.shape[1:]), dtype=values.dtype)
        found[...] = np.moveaxis(fill, axis, 0)[: self.width] if np.ndim(fill) == values.ndim else fill
        found[self.numbers] = values
        return np.moveaxis(found, 0, axis)

    def memberships(self, place: Place, Ps: list[Array]) -> Outputs:
        """Make a job: labels, or memberships (n, c), in these numbers."""
        xp = place.xp

        def placed(P: Array) -> Array:
            if P.ndim == 1:
                return xp.take(xp.asarray(self.numbers, device=P.device), P)
            whole = xp.concat([P, xp.zeros_like(P[:, :1])], axis=1)
            return xp.take(whole, xp.asarray(self.order, device=P.device), axis=1)

        return [placed(P) for P in Ps], None

    def model(self, model: Model, n_tasks: int) -> Model:
        """Return the model of one run, in which no task holds a cluster that is no more."""
        held = self.spread(model.held((1, n_tasks, len(self.numbers))), 2, False)
        found, shares = self.placed(model), model.log_shares
        if shares is not None:
            shares = self.spread(
                np.broadcast_to(shares, (1, n_tasks, len(self.numbers)))[0], 1, least_share(shares, model)
            )
        return replace(found, n_clusters=self.width, holds=held, log_shares=None if shares is None else shares[None])

    def centers(self, centers: Centers, model: Model, Z: Array, Ms: Array) -> Centers:
        """Return centres of one run; those of clusters that are no more are `Z` (c_old, d) and `Ms` (m, c_old, d).

        Where rows are mixtures of centres, such a centre is 0, so that it has no part in any.
        """
        room = self.width - len(Z)
        Z, Ms = np.pad(Z, ((0, room), (0, 0))), np.pad(Ms, ((0, 0), (0, room), (0, 0)))
        if not model.membership.diagonal:
            Z, Ms = np.zeros_like(Z), np.zeros_like(Ms)
        found, gone, M, shares = self.placed(centers), self.absent, centers.M, centers.log_shares
        if M is not None and centers.W is not None:
            M = self.spread(M, 0, centers.geometry.whiten(np.asarray(Z, dtype=np.float64), 1.0) @ centers.W)
        if shares is not None:
            shares = self.spread(shares, 1, least_share(shares, model))
        geometry = found.geometry
        if isinstance(geometry, OfClusters):
            assert geometry.common is not None
            geometry.K[gone] = geometry.common
        return replace(
            found, M=M, Ms=self.spread(centers.Ms, 1, Ms), Z=self.spread(centers.Z, 0, Z), log_shares=shares,
            geometry=geometry,
        )  # fmt: skip

    def placed(self, record: Kind) -> Kind:
        """Give the clusters of a record their numbers; others are as a record grows."""
        return record.grow("c", 1).take("c", self.order)


def least_share(log_shares: Array, model: Model) -> float:
    """Return the log of a proportion that no cluster has: it never counts, and is finite where labels are compared."""
    return -np.inf if model.proportions else float(np.min(log_shares))


def resized(Ys: list[Array], us: list[Array], labels: list[Array], n_clusters: int) -> list[Array]:
    """Labels of the rows Ys of each task, with weights us, as exactly so many clusters from 0, as far as rows differ.

    Two clusters are joined that raise the sum of squares within clusters the least (Ward); the one with the largest sum
    of squares is cut at its mean, along the direction in which it is widest.
    """
    Y, u = np.concatenate(Ys).astype(np.float64), np.concatenate(us).astype(np.float64)
    found = np.unique(np.concatenate(labels), return_inverse=True)[1].reshape(-1)
    while found.max(initial=0) + 1 > n_clusters:
        found = _joined(Y, u, found)
    while found.max(initial=0) + 1 < n_clusters:
        before, found = found, _cut(Y, u, found)
        if found is before:
            break
    return np.split(found, np.cumsum([len(own) for own in labels])[:-1])


def _means(Y: Array, u: Array, labels: Array) -> tuple[Array, Array]:
    sizes = np.maximum(np.bincount(labels, weights=u), np.finfo(np.float64).tiny)
    hot = labels == np.arange(len(sizes))[:, None]
    return sizes, (hot * u) @ Y / sizes[:, None]


def _joined(Y: Array, u: Array, labels: Array) -> Array:
    n, means = _means(Y, u, labels)
    apart = np.sum((means[:, None] - means) ** 2, axis=2) * n[:, None] * n / (n[:, None] + n)
    np.fill_diagonal(apart, np.inf)
    a, b = sorted(np.unravel_index(np.argmin(apart), apart.shape))
    labels = np.where(labels == b, a, labels)
    return labels - (labels > b)


def _cut(Y: Array, u: Array, labels: Array) -> Array:
    """Return the same labels, if no cluster has two different rows."""
    means = _means(Y, u, labels)[1]
    rest = Y - means[labels]
    squares = np.bincount(labels, weights=u * np.sum(rest**2, axis=1))
    widest = int(np.argmax(squares))
    own = rest[labels == widest]
    across = own @ np.linalg.svd(own, full_matrices=False)[2][0]
    side = across > 0
    if not squares[widest] > 0 or not side.any() or side.all():
        return labels
    found = labels.copy()
    found[np.flatnonzero(labels == widest)[side]] = labels.max() + 1
    return found
