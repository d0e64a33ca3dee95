"""Interoperability: AnnData objects, export as scikit-learn's `KMeans`, and model files that are safe to open."""

from ._anndata import fit_anndata
from ._kmeans import to_kmeans
from ._persistence import dump, load

__all__ = ["dump", "fit_anndata", "load", "to_kmeans"]
