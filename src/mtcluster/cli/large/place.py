"""Where files larger than memory are worked on: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from joblib import cpu_count

from ..._utils.files import scratch
from ..errors import InputError
from ..modelling import check_on_dask, connected
from ..readers.base import kind_of
from .pieces import PARQUET

THREADS = 8  # at most: each has some pieces in memory


def is_asked_for(arguments: Namespace) -> bool:
    """Tell whether rows are to be read piece by piece."""
    on_cluster = getattr(arguments, "scheduler", None) is not None
    return arguments.out_of_core or (on_cluster and all(kind_of(path) in PARQUET for path in arguments.files))


@contextmanager
def working(arguments: Namespace, out: Path) -> Iterator[Path | None]:
    """Let the block's Dask calls be done by a cluster, or by threads; yields the folder for values of the latter."""
    address = getattr(arguments, "scheduler", None)
    option = "--out-of-core" if address is None else "--scheduler"
    check_on_dask(option, getattr(arguments, "method", "spmtc"))
    with _explained(out, address):
        if address is not None:
            with connected(arguments):
                yield None
            return
        with _threads(out) as folder:
            yield folder


@contextmanager
def _threads(out: Path) -> Iterator[Path]:
    """Dask's threads in this process, with values per row in files."""
    import dask
    import pyarrow as pa

    from ...engines.dask_store import storing

    before = pa.default_memory_pool()
    with scratch(out.parent) as folder:
        pa.set_memory_pool(pa.system_memory_pool())  # it gives back what is no longer used
        pool = ThreadPoolExecutor(min(cpu_count(), THREADS))
        try:
            with dask.config.set(scheduler="threads", pool=pool), storing(folder):
                yield folder
        finally:
            pool.shutdown(wait=True, cancel_futures=True)  # before their files are removed
            pa.set_memory_pool(before)


@contextmanager
def _explained(out: Path, address: str | None) -> Iterator[None]:
    """Tell what went wrong on workers, in a sentence."""
    try:
        yield
    except FileNotFoundError as error:
        if address is None or str(out) not in str(error):
            raise
        raise InputError(
            f"--scheduler {address}: the workers cannot write to the folder of --out; it must be on a file system that "
            "they share with this machine."
        ) from error
