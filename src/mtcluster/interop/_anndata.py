"""Cells of several batches: from an AnnData object and back into it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from ..core.arrays import Array, host
from ..estimators import SPMTC
from ..estimators._base import MultiTaskClusterer
from ..inspection._outliers import easiness, outlier_scores

SHOWN = 10  # names in an error


def fit_anndata(
    adata: Any,
    task_key: str,
    *,
    n_clusters: int = 8,
    layer: str | None = None,
    use_rep: str | None = None,
    key_added: str = "mtcluster",
    estimator: Any = None,
    **parameters: Any,
) -> Any:
    """Cluster the cells of an AnnData object, its batches, donors or sites being the tasks.

    What is found is written into `adata`, under names that begin with `key_added`; what was there under these names is
    replaced. Nothing else in it changes: values are used as they are, so normalise them first, or name a reduction such
    as `use_rep="X_pca"`.

    Parameters
    ----------
    adata : AnnData
        Cells in rows. It must not be a view: `adata = adata[...].copy()` makes an object of one.
    task_key : str
        The column of `adata.obs` that says which task a cell belongs to. No value may be missing.
    n_clusters : int, default=8
        Number of clusters.
    layer : str, optional
        The layer to cluster instead of `adata.X`.
    use_rep : str, optional
        The entry of `adata.obsm` to cluster instead of `adata.X`.
    key_added : str, default="mtcluster"
        How what is written is called.
    estimator : estimator, optional
        An `LSSMTC`, `ASI` or `SPMTC` of which a clone is fitted; its own `n_clusters` counts. None: an `SPMTC`.
    **parameters
        Parameters of the `SPMTC`, such as `random_state=0`.

    Returns
    -------
    model : estimator
        The fitted model. In `adata` there are now

        - `obs[key_added]`: the cluster of each cell, categorical, as strings;
        - `obs[f"{key_added}_easiness"]`: the share of the cells of its task that fit no better, 1 the easiest;
        - `obs[f"{key_added}_outlier"]`: its loss as a multiple of the usual one in its task;
        - `obsm[f"X_{key_added}"]`: its coordinates in the subspace that the tasks share;
        - `uns[key_added]`: the parameters, the tasks, `task_relatedness`, `cluster_support` and `cluster_sizes`.

    Examples
    --------
    >>> import anndata  # doctest: +SKIP
    >>> from mtcluster.interop import fit_anndata
    >>> adata = anndata.read_h5ad("cells.h5ad")  # doctest: +SKIP
    >>> model = fit_anndata(adata, "batch", n_clusters=12, use_rep="X_pca", random_state=0)  # doctest: +SKIP
    >>> adata.obs["mtcluster"].value_counts()  # doctest: +SKIP
    """
    pandas = _checked(adata, key_added)
    tasks = _tasks(adata, task_key)
    X = _matrix(adata, layer, use_rep)
    if estimator is not None and parameters:
        raise ValueError(f"{', '.join(parameters)}: set the parameters of the estimator that is given, not of fit.")
    if estimator is not None and not isinstance(estimator, MultiTaskClusterer):
        raise TypeError(f"estimator should be an SPMTC, LSSMTC or ASI, such as LSSMTC(8); got {estimator!r}.")
    model = SPMTC(n_clusters, **parameters) if estimator is None else clone(estimator)
    model.fit(X, tasks=tasks)
    _write(adata, model, X, key_added, {"task_key": task_key, "layer": layer, "use_rep": use_rep}, pandas)
    return model


def _checked(adata: Any, key_added: Any) -> Any:
    """Pandas, if this is an AnnData object that can be written into."""
    try:
        import pandas
        from anndata import AnnData
    except ImportError as error:
        raise ImportError("AnnData objects need anndata: pip install 'mtcluster[anndata]'.") from error
    if not isinstance(adata, AnnData):
        raise TypeError(f"adata should be an AnnData object; got {type(adata).__name__}.")
    if adata.is_view:
        raise ValueError(
            "adata is a view of another object, into which nothing can be written: make an object of it first by "
            "adata = adata.copy()."
        )
    if not isinstance(key_added, str) or not key_added or "/" in key_added:
        raise ValueError(f"key_added={key_added!r} should be a name without '/', which .h5ad files do not take.")
    return pandas


def _tasks(adata: Any, key: Any) -> Array:
    """The task of each cell, as strings, numbers or whatever the column holds."""
    if key not in adata.obs:
        raise KeyError(f"task_key={key!r} is no column of adata.obs: {_listed(adata.obs)}.")
    column = adata.obs[key]
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        first = adata.obs_names[missing[0]]
        raise ValueError(
            f"adata.obs[{key!r}] has {len(missing)} missing value(s), the first at cell {first!r}: every cell needs a "
            "task."
        )
    return np.asarray(column)


def _matrix(adata: Any, layer: str | None, use_rep: str | None) -> Any:
    if layer is not None and use_rep is not None:
        raise ValueError(f"layer={layer!r} and use_rep={use_rep!r} were given: name one of them.")
    if layer is not None:
        if layer not in adata.layers:
            raise KeyError(f"layer={layer!r} is not in adata.layers: {_listed(adata.layers)}.")
        return adata.layers[layer]
    if use_rep is not None:
        if use_rep not in adata.obsm:
            raise KeyError(f"use_rep={use_rep!r} is not in adata.obsm: {_listed(adata.obsm)}.")
        return _values(adata.obsm[use_rep])
    if adata.X is None:
        raise ValueError("adata.X is None: name a layer or a use_rep.")
    return adata.X[:] if adata.isbacked else adata.X


def _values(X: Any) -> Any:
    """Arrays and sparse matrices as they are; the values of a data frame."""
    return X.to_numpy() if hasattr(X, "to_numpy") else X


def _write(adata: Any, model: Any, X: Any, key: str, source: dict[str, Any], pandas: Any) -> None:
    labels, codes = host(model.labels_), host(model.task_indices_)
    losses = host(model.losses_)
    names = [str(j) for j in range(model.n_clusters)]
    adata.obs[key] = pandas.Categorical.from_codes(labels, categories=names).remove_unused_categories()
    adata.obs[f"{key}_easiness"] = easiness(losses, codes)
    adata.obs[f"{key}_outlier"] = outlier_scores(losses, codes)
    adata.obsm[f"X_{key}"] = np.asarray(host(model.transform(X)))
    adata.uns[key] = {
        "params": _plain({"estimator": type(model).__name__, **source, **model.get_params()}),
        "tasks": np.array([str(task) for task in host(model.tasks_).tolist()]),
        "task_relatedness": host(model.task_relatedness_),
        "cluster_support": host(model.cluster_support_),
        "cluster_sizes": host(model.cluster_sizes_),
    }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """What an .h5ad file can hold: numbers and strings, without what is None; other things as they are printed."""
    return {
        name: value if isinstance(value, bool | int | float | str | np.number) else repr(value)
        for name, value in values.items()
        if value is not None
    }


def _listed(names: Iterable[Any]) -> str:
    found = [repr(name) for name in names]
    if not found:
        return "there are none"
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"there are {', '.join(found[:SHOWN])}{more}"
