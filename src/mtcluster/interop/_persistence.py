"""Models in files that are safe to open: skops, with exactly the types trusted that models are made of.

A pickle may run anything when it is loaded. These files hold arrays and names of types, and a type that is not on the
list here is refused, so a model may be taken from strangers.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from ..consensus.vote import Evidence
from ..core.arrays import host
from ..engines import is_dask

__all__ = ["TRUSTED", "dump", "load"]

# What models, and what was done to their data, consist of; NumPy's, SciPy's and scikit-learn's own skops trusts itself.
TRUSTED = (
    "datetime.date",  # labels of tasks may be dates
    "datetime.datetime",
    "datetime.timedelta",
    "datetime.timezone",
    "mtcluster.consensus.decisions.ConsensusEvidence",
    "mtcluster.consensus.decisions.Decisions",
    "mtcluster.consensus.vote.Decision",
    "mtcluster.consensus.vote.Evidence",
    "mtcluster.core.model.Settings",
    "mtcluster.core.pacing.Schedule",
    "mtcluster.estimators._asi.ASI",
    "mtcluster.estimators._baselines.PerTask",
    "mtcluster.estimators._baselines.Pooled",
    "mtcluster.estimators._lssmtc.LSSMTC",
    "mtcluster.estimators._spmtc.SPMTC",
    "mtcluster.inspection._labels.LabelDescription",
    "mtcluster.preprocessing._table.TablePreprocessor",
    "numpy.dtype",  # of scikit-learn's imputers
)


ROUTING, REQUESTS = "_metadata_request", "_requests_of_methods"  # attributes: scikit-learn's, and ours in files


def dump(obj: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file.

    The file is compressed, and takes its place when it is complete: whatever goes wrong, a file that was there before
    stays. What a model of Dask or GPU arrays knows of every row is brought into memory; the model in the file is one
    for NumPy.

    Parameters
    ----------
    obj : estimator, or a dict of estimators and other things
        What to write. Everything in it must be something that `load` trusts: models of this library, estimators of
        scikit-learn, arrays, numbers, strings.
    path : path
        Where to; `.skops` is the usual end of the name.

    Raises
    ------
    ValueError
        If there is something in it that could not be loaded again.

    Examples
    --------
    >>> import tempfile
    >>> from mtcluster import SPMTC
    >>> from mtcluster.datasets import make_multitask_blobs
    >>> from mtcluster.interop import dump, load
    >>> X, y, tasks = make_multitask_blobs(random_state=0)
    >>> model = SPMTC(n_clusters=4, random_state=0).fit(X, tasks=tasks)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dump(model, f"{folder}/model.skops")
    ...     again = load(f"{folder}/model.skops")
    >>> bool((again.predict(X, tasks=tasks) == model.labels_).all())
    True
    """
    io = _skops()
    try:
        data = io.dumps(_here(obj), compression=zipfile.ZIP_DEFLATED)
        strange = _untrusted(io, data)
    except Exception as error:  # skops raises whatever a part that it cannot take apart raises
        raise ValueError(f"{type(obj).__name__} cannot be written by skops: {error}") from error
    if strange:
        raise ValueError(
            f"{type(obj).__name__} holds what could not be loaded again, as it is not trusted: {', '.join(strange)}. "
            "joblib.dump writes anything, for those who trust the file."
        )
    _write(data, Path(path))


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `dump` wrote; nothing in the file is run, and only types of the list `TRUSTED` are made.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    obj : object
        What was written.

    Raises
    ------
    ValueError
        If the file is no such file, is damaged, or holds types that are not trusted.
    """
    io = _skops()
    data = Path(path).read_bytes()
    try:
        strange = _untrusted(io, data)
    except Exception as error:  # zipfile, json and skops each have errors of their own for a damaged file
        raise ValueError(f"{path} is damaged, or no model that mtcluster.interop.dump has written.") from error
    if strange:
        raise ValueError(
            f"{path} holds types that are not trusted, so it was not loaded: {', '.join(strange)}. They are not part "
            "of a model of this version of mtcluster."
        )
    try:
        return _routed(io.loads(data, trusted=list(TRUSTED)))
    except Exception as error:
        raise ValueError(f"{path} is damaged, or was written by another version: it cannot be loaded.") from error


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("Files of models need skops: pip install 'mtcluster[files]'.") from error
    return skops.io


def _untrusted(io: Any, data: bytes) -> list[str]:
    return sorted(set(io.get_untrusted_types(data=data)) - set(TRUSTED))


def _here(value: Any) -> Any:
    """The same as skops can take it; what the user holds stays as it is.

    Arrays of Dask and of accelerators come into NumPy's memory. What an estimator asks of metadata routing refers to
    the estimator, in a circle, and so becomes a dict.
    """
    if isinstance(value, BaseEstimator):
        found = copy(value)
        found.__dict__.update({name: _here(item) for name, item in vars(value).items()})
        if found.__dict__.pop(ROUTING, None) is not None:
            found.__dict__[REQUESTS] = _requests(value)
        return found
    if isinstance(value, Evidence):
        return replace(value, parameters=_here(value.parameters))
    if type(value) is dict:
        return {key: _here(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_here(item) for item in value)
    return host(value) if is_dask(value) or _elsewhere(value) else value


def _routed(value: Any) -> Any:
    """What was loaded, with the requests of its estimators as they were."""
    if isinstance(value, BaseEstimator):
        requests = value.__dict__.pop(REQUESTS, None)
        if requests is not None:
            routing = value.get_metadata_routing()
            for method, asked in requests.items():
                for name, alias in asked.items():
                    getattr(routing, method).add_request(param=name, alias=alias)
            setattr(value, ROUTING, routing)
    parts = vars(value) if isinstance(value, BaseEstimator) else value
    if isinstance(parts, dict | list | tuple):
        for item in parts.values() if isinstance(parts, dict) else parts:
            _routed(item)
    return value


def _requests(estimator: BaseEstimator) -> dict[str, dict[str, Any]]:
    """What the methods of an estimator ask for, by method."""
    methods = vars(estimator.get_metadata_routing()).items()
    return {method: dict(asked.requests) for method, asked in methods if hasattr(asked, "requests")}


def _elsewhere(value: Any) -> bool:
    """Whether this is an array of another library than NumPy."""
    return hasattr(value, "__dlpack__") and type(value).__module__.split(".")[0] != "numpy"


def _write(data: bytes, path: Path) -> None:
    """Beside the file first, then in its place."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"path={str(path)!r}: there is no folder {path.parent}.")
    with tempfile.TemporaryDirectory(prefix=".mtcluster-", dir=path.absolute().parent) as folder:
        beside = Path(folder) / "model"
        beside.write_bytes(data)
        os.replace(beside, path)
