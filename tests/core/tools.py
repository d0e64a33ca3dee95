"""Short ways to make models and rows for tests of the core."""

from dataclasses import replace

import numpy as np

from mtcluster.core.blocks import Blocks, make_block
from mtcluster.core.couplings import COUPLINGS
from mtcluster.core.jobs import stage_weights
from mtcluster.core.memberships import MEMBERSHIPS, Quadratic
from mtcluster.core.model import Model
from mtcluster.core.pacing import Stages
from mtcluster.core.sharing import Offsets, Share, Shrink
from mtcluster.core.solver import solve
from mtcluster.core.sums import row_sums
from mtcluster.core.weightings import WEIGHTINGS


def model_of(lam, l, coupling="reconstruction", membership="binary", c=3, **more):
    return Model(c, Share.of(lam), l, COUPLINGS[coupling], MEMBERSHIPS[membership], **more)


def model_with(c, lam=0.0, l=None, *, kappa=None, matched=False, **more):
    """A model by λ1, or by κ, with offsets that are estimated or not."""
    sharing = Share.of(lam) if kappa is None else Shrink.of(kappa)
    return Model(c, sharing, l or c, **{"offsets": Offsets.none(matched)} | more)


def rows_of(Xs, model):
    origins = [X.mean(axis=0) if model.free_origin else np.zeros(X.shape[1]) for X in Xs]
    return Blocks([make_block(X, np.ones(len(X)), origin) for X, origin in zip(Xs, origins, strict=True)])


def weighting_of(name="hard", rule="quantile", share=0.8):
    return WEIGHTINGS[name].make(soft_rule=rule, full_weight_share=share)


def schedule_of(fractions, weighting="hard", rule="quantile", warmup_iter=0, max_iter=50, tol=1e-4):
    return Stages(fractions, weighting_of(weighting, rule), warmup_iter, max_iter, tol)


def sums(X, w, P, c):
    """S and T of memberships (n, c) or labels (n,), as those of one run."""
    membership = MEMBERSHIPS["binary" if P.ndim == 1 else "nonnegative"]
    S, T = row_sums(X, P.T[None], w[None], membership, c)
    return S, T[None]


def solved(rows, model, pace, Ps, *progress):
    """The fit of one run."""
    [fit] = solve(rows, model, pace, [Ps], progress)
    return fit


def weighted(rows, state, vs):
    """The state of one run with weights v."""
    weights, _ = rows.apply(stage_weights, [v[None] for v in vs], outputs=1)
    return replace(state, weights=weights)


def quadratic(X, C):
    """The loss of rows X at centres C, as that of one run."""
    return Quadratic(np.sum(X**2, axis=1), (C @ X.T)[None], np.sum(C**2, axis=1)[None, :, None] / 2, (C @ C.T)[None])
