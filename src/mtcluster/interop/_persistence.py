"""Model files that are safe to open: skops files whose types are all on a list.

A pickle may run any code when it is loaded. These files contain arrays and names of types, and a type that is not
on the list is refused, so a model may come from anyone.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from copy import copy
from dataclasses import fields, is_dataclass, replace
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from .._sklearn_compat import quick_discovery
from .._utils.files import replacing
from ..core.fitted import Fitted
from ..engines import bring_here
from ..estimators.publish import public
from ._soundness import complete, estimators_in

OURS = {  # modules, and their classes that files may hold
    "_utils.tables": "Table", "certainty.selection": "Selection", "search.search": "Search",
    "search.decisions": "SearchEvidence Decisions Matching", "core.centers": "Centers",
    "core.couplings": "Projection Reconstruction", "core.covariances": "Diagonal Full Spherical",
    "core.fitted": "Fitted Groups RowResults", "core.geometry": "Identity Tied",
    "core.memberships": "Binary NonNegative Responsibilities", "core.model": "Model", "core.novelty": "Ordinary",
    "core.pacing": "Schedule", "core.placing": "Effects", "core.sharing": "Offsets Share Shrink",
    "core.streaming": "StreamSums", "estimators.asi": "ASI", "estimators.baselines": "PerTask Pooled",
    "estimators.changes": "Changes Drift",
    "estimators.harmony": "Harmonized", "estimators.lssmtc": "LSSMTC",
    "estimators.mixture": "MultiTaskGaussianMixture", "estimators.spmtc": "SPMTC",
    "inspection._labels": "LabelDescription", "preprocessing._table": "TablePreprocessor",
}  # fmt: skip
# Types of labels of tasks, and of scikit-learn's imputers; skops itself trusts NumPy, SciPy and scikit-learn otherwise.
FOREIGN = ("datetime.date", "datetime.datetime", "datetime.timedelta", "datetime.timezone", "numpy.dtype")
TRUSTED = (*(f"mtcluster.{module}.{name}" for module, names in OURS.items() for name in names.split()), *FOREIGN)
SEAL = "mtcluster.json"  # part of a file with its checksum
MAX_SAID = 300  # characters of an error
MAX_BYTES = 2**33  # that a file may unpack to
MAX_SCHEMA, MAX_SEAL = 2**28, 2**12  # bytes of the description of a model, and of the part with the checksum
ROUTING, REQUESTS = "_metadata_request", "_requests_of_methods"  # attributes: scikit-learn's, and ours in files


def dump(obj: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that is safe to open.

    The file is compressed. It replaces an existing file only once it is complete. Dask arrays and arrays on a GPU are
    written as NumPy arrays, so a loaded model is one for NumPy.

    Parameters
    ----------
    obj : estimator, or a dict with estimators and other values
        What to write. It may contain models of this library, estimators of scikit-learn, arrays, numbers and strings.
    path : str or path
        File to write; its name usually ends with `.skops`.

    Raises
    ------
    ValueError
        If `obj` contains anything that could not be loaded again.

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
    except MemoryError:
        raise
    except Exception as error:  # skops passes on any error of a part that it cannot write
        raise ValueError(f"{type(obj).__name__} cannot be written by skops: {error}") from error
    if strange:
        raise ValueError(
            f"{type(obj).__name__} contains types that are not trusted and could not be loaded again: "
            f"{', '.join(strange)}. joblib.dump writes any type, for use where the file is trusted."
        )
    with replacing(path) as temporary:
        temporary.write_bytes(sealed(data))


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a file written by `dump`.

    No code in the file is run, and only types of a fixed list are made. The checksum that `dump` writes is verified,
    and whether the parts of a model fit together.

    Parameters
    ----------
    path : str or path
        File to read.
    max_bytes : int, default=8589934592
        How much the file may unpack to, 8 GiB by default.

    Returns
    -------
    obj : object
        What was written.

    Raises
    ------
    ValueError
        If the file is not a model file, is damaged or changed, unpacks to more than `max_bytes`, was written by version
        0.1, or contains types that are not trusted.
    """
    io = _skops()
    data = Path(path).read_bytes()
    try:
        too_large = unpacked_size(data) > max_bytes
    except Exception as error:
        raise ValueError(f"{path} is damaged, or was not written by mtcluster.interop.dump.") from error
    if too_large:
        raise ValueError(
            f"{path} unpacks to more than {max_bytes} bytes: load it with a larger max_bytes if it is yours."
        )
    try:
        strange = _untrusted(io, data)
    except Exception as error:  # zipfile, json and skops each have errors of their own for a damaged file
        raise ValueError(f"{path} is damaged, or was not written by mtcluster.interop.dump.") from error
    if strange and all(name.startswith("mtcluster.") for name in strange):
        raise ValueError(
            f"{path} was written by mtcluster 0.1, whose models this version cannot read: fit the model again with "
            f"this version (unknown: {', '.join(strange)})."
        )
    if strange:
        raise ValueError(f"{path} contains types that are not trusted, so it was not loaded: {', '.join(strange)}.")
    if is_sealed(data) is False:
        raise ValueError(f"{path} is damaged: its contents do not match its checksum.")
    try:
        found = io.loads(data, trusted=list(TRUSTED))
        for estimator in list(estimators_in(found)):
            _restore_requests(estimator)
    except Exception as error:
        raise ValueError(f"{path} is damaged or was written by another version, so it cannot be loaded.") from error
    try:
        complete(found)
    except MemoryError:
        raise
    except Exception as error:  # any, as any part may be missing
        raise ValueError(f"{path} is damaged: {str(error)[:MAX_SAID].rstrip('.')}.") from error
    return found


def sealed(data: bytes) -> bytes:
    """Add to a skops file a part that names the version and the checksum of all others."""
    file = BytesIO(data)
    with zipfile.ZipFile(file, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(SEAL, json.dumps({"mtcluster": version("mtcluster"), "sha256": _checksum(archive)}))
    return file.getvalue()


def is_sealed(data: bytes) -> bool | None:
    """Tell whether the contents of a skops file match its checksum; None if it has none, as skops itself writes."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            if SEAL not in archive.namelist():
                return None
            found = json.loads(archive.read(SEAL))["sha256"] if archive.getinfo(SEAL).file_size < MAX_SEAL else None
            return bool(found == _checksum(archive))
    except (KeyError, TypeError, ValueError, OSError, EOFError, RecursionError, zipfile.BadZipFile, zlib.error):
        return False


def unpacked_size(data: bytes) -> int:
    """Add up the size of all parts of an archive, as it says itself; more than that is never unpacked."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        schema = max((item.file_size for item in archive.infolist() if item.filename == "schema.json"), default=0)
        if schema > MAX_SCHEMA:
            raise ValueError(f"schema.json has {schema} bytes")
        return sum(item.file_size for item in archive.infolist())


def _checksum(archive: zipfile.ZipFile) -> str:
    digest = hashlib.sha256()
    for name in sorted(name for name in archive.namelist() if name != SEAL):
        digest.update(f"{name}\0{archive.getinfo(name).file_size}\0".encode())
        digest.update(archive.read(name))
    return digest.hexdigest()


def _skops() -> Any:
    try:
        with quick_discovery():  # skops lists scikit-learn's estimators when it is imported
            import skops.io
    except ImportError as error:
        raise ImportError("Model files need skops: pip install 'mtcluster[files]'.") from error
    return skops.io


def _untrusted(io: Any, data: bytes) -> list[str]:
    return sorted(set(io.get_untrusted_types(data=data)) - set(TRUSTED))


def _here(value: Any) -> Any:
    """Make a copy that skops can write.

    Arrays of Dask and other libraries become NumPy arrays. The public attributes of an estimator that has a fitted
    model are left out: they are made from it again. Its metadata requests, which refer back to it, become a dict.
    """
    if isinstance(value, BaseEstimator):
        found = copy(value)
        fitted = vars(value).get("fitted_")
        again = set(public(value, fitted)) - {"fitted_"} if isinstance(fitted, Fitted) else set()
        found.__dict__ = {name: _here(item) for name, item in vars(value).items() if name not in again}
        if found.__dict__.pop(ROUTING, None) is not None:
            methods = vars(value.get_metadata_routing()).items()
            found.__dict__[REQUESTS] = {
                name: dict(asked.requests) for name, asked in methods if hasattr(asked, "requests")
            }
        return found
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _here(getattr(value, field.name)) for field in fields(value)})
    if type(value) is dict:
        return {key: _here(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_here(item) for item in value)
    return bring_here(value)


def _restore_requests(estimator: Any) -> None:
    """Give an estimator that was loaded its metadata requests back."""
    requests = vars(estimator).pop(REQUESTS, None)
    if requests is None:
        return
    routing = estimator.get_metadata_routing()
    for method, asked in requests.items():
        for name, alias in asked.items():
            getattr(routing, method).add_request(param=name, alias=alias)
    setattr(estimator, ROUTING, routing)
