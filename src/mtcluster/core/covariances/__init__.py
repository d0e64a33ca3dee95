"""Covariances of the clusters, one each, shared by the tasks: one class per form, registered by name.

With A_j = S_j⁻¹ the loss of a row in cluster j is ‖x − M_kj‖²_{A_j} + log|S_j|, and the objective gains
ν Σ_j [log|S_j| + tr(S0 A_j)], so that S_j = (G_j + ν S0) / (n_j + ν) minimises it, with G_j the scatter of the cluster
around its centres. S0 is what all clusters have in common where the fit starts, in the same form, so that no S_j is
singular and a cluster of few rows has nearly the shape of the others.

One covariance for all clusters is a `Metric`, which needs no second moments of the clusters.
"""

from .base import Covariance, Own
from .diagonal import Diagonal
from .full import Full
from .spherical import Spherical

COVARIANCES: dict[str, type[Covariance]] = {form.name: form for form in (Full, Diagonal, Spherical)}

__all__ = ["COVARIANCES", "Covariance", "Diagonal", "Full", "Own", "Spherical"]
