"""Dask calls that end: with what was asked for, or with a sentence on what happened to the cluster.

Dask itself repeats what lost workers had. It waits for ever where no worker is left, and has many errors for what
cannot be repeated: all of them become a `DaskClusterError`.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import contextmanager
from time import monotonic
from typing import Any

import dask
from dask.base import get_scheduler, unpack_collections
from dask.utils import parse_timedelta

from .._utils.files import may_pass
from .base import DaskClusterError
from .blas import one_blas_thread

RETRIES = 2  # of what fails, such as reading a file from a network
PATIENCE, SETTING = "5 minutes", "distributed.scheduler.no-workers-timeout"  # the time without workers that is borne
STEP = 1.0  # seconds between looks at the workers
COMMUNICATION = ("CommClosedError", "FatalCommClosedError", "RPCClosed", "ClosedClientError")
MISSING = "Missing dependency"  # begins what Dask says of a graph that lacks something
OF_WORKERS = ("KilledWorker", "NoWorkerError", "NoValidWorkerError")


def run(how: Callable[..., Any], *collections: Any) -> Any:
    """dask.compute or dask.persist, or another function of collections that computes something.

    Where Dask's threads work in this process, those of NumPy would be in their way.

    Raises
    ------
    DaskClusterError
        If the cluster is gone, was restarted, has no workers, or loses them again and again.
    OSError
        If a chunk cannot be read, after some attempts.
    """
    with one_blas_thread():
        with cluster_errors():
            client = _client()
        if client is None:
            return _here(how, collections)
        if how is dask.compute:
            return _computed(client, collections)
        with cluster_errors():
            return how(*collections, **({"retries": RETRIES} if how is dask.persist else {}))


@contextmanager
def cluster_errors() -> Iterator[None]:
    """Turn Dask's errors on lost clusters in the block into a `DaskClusterError`."""
    try:
        yield
    except DaskClusterError:
        raise
    except Exception as error:
        if not (sentence := _sentence(error)):
            raise
        raise DaskClusterError(sentence) from error


def _client() -> Any:
    """The client that Dask's calls go to; None: they are done in this process."""
    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "persist") else None


def _here(how: Callable[..., Any], collections: Sequence[Any]) -> Any:
    """A call in this process, again if a file could not be read."""
    for left in reversed(range(RETRIES + 1)):
        try:
            return how(*collections)
        except OSError as error:
            if not left or not may_pass(error):
                raise _unread(error) from error
        except Exception as error:
            if _lacks_future(error):
                raise DaskClusterError(_gone("its client was closed")) from error
            raise
    raise AssertionError("the last attempt returns or raises")


def _computed(client: Any, collections: Sequence[Any]) -> Any:
    """As dask.compute, on a cluster that may lose its workers."""
    parts, repack = unpack_collections(*collections)
    if not parts:
        return tuple(collections)
    with cluster_errors():
        futures = client.compute(parts, retries=RETRIES)
    try:
        return repack(_gathered(client, futures))
    except BaseException as error:
        in_chunk = any(future.status == "error" for future in futures)
        for future in futures:  # tracebacks may keep them for long
            future.release()
        if not in_chunk or type(error).__name__ in OF_WORKERS:
            with cluster_errors():
                raise
        if isinstance(error, OSError):
            raise _unread(error) from error
        raise  # an error of a chunk, whatever it sounds like


def _gathered(client: Any, futures: list[Any]) -> list[Any]:
    """The results, by a thread that waits for them, while this one looks after the workers."""
    pool, since = ThreadPoolExecutor(1), monotonic()
    patience = float(parse_timedelta(dask.config.get(SETTING, None) or PATIENCE))
    begun = pool.submit(client.gather, futures)
    try:
        while not wait([begun], timeout=STEP).done:
            states = _states(client)
            if states is not None and "running" in states:
                since = monotonic()
            elif monotonic() - since > patience:
                raise DaskClusterError(
                    _gone("its scheduler does not answer") if states is None else _idle(states, patience)
                )
        return list(begun.result())
    finally:
        pool.shutdown(wait=False)  # the thread ends with its futures


def _states(client: Any) -> list[str] | None:
    """The states of all workers; None: the scheduler does not answer."""
    try:
        return [str(one["status"]) for one in client.scheduler_info(n_workers=-1)["workers"].values()]
    except Exception:  # the thread that waits for results is told, too, and says more
        return None


def _sentence(error: BaseException) -> str:
    """What happened to the cluster, and what to do; empty if the error is about something else."""
    name, text = type(error).__name__, str(error).lower()
    if name == "KilledWorker":
        return (
            "the workers of the Dask cluster were lost again and again while they worked on one chunk, most likely for "
            "want of memory: give them more memory or fewer threads each, or make the chunks smaller."
        )
    if name in OF_WORKERS:
        return _idle([], error.args[-1])
    if isinstance(error, CancelledError):
        return (
            "the Dask cluster no longer has what it had computed, as its scheduler was restarted or its client was "
            f"closed ({_brief(error)}): connect a client to a running cluster and repeat the call. Nothing was stored."
        )
    lost = name in COMMUNICATION or isinstance(error, ConnectionError | TimeoutError)
    lost |= isinstance(error, OSError) and "connect" in text
    lost |= isinstance(error, RuntimeError) and ("client" in text or "scheduler" in text)
    return _gone(f"{name}: {_brief(error)}") if lost else ""


def _gone(why: str) -> str:
    return (
        f"the Dask cluster is gone ({why}): connect a client to a running cluster and repeat the call. Nothing was "
        "stored."
    )


def _idle(states: list[str], seconds: float) -> str:
    """What is said where no worker works."""
    if states:
        return (
            f"all workers of the Dask cluster have paused for {seconds:.3g} s, most likely for want of memory: give "
            "them more memory or fewer threads each, or make the chunks smaller."
        )
    return (
        f"the Dask cluster has had no workers for {seconds:.3g} s: start some, and repeat the call. How long they are "
        f"waited for is set by {SETTING} in Dask's configuration."
    )


def _unread(error: OSError) -> OSError:
    """The same error, of the same class if it has a number, with what was tried."""
    told = f"a chunk of the data could not be read ({error.strerror or _brief(error)})"
    told += f" in {RETRIES + 1} attempts; repeat the call once it can be" if may_pass(error) else ""
    return OSError(error.errno, told, error.filename) if error.errno is not None else OSError(f"{told}.")


def _brief(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def _lacks_future(error: BaseException) -> bool:
    """Whether an error names what is missing in this process, and a future of a client has that name.

    Dask leaves futures out of many graphs, so that they are looked for wherever they are.
    """
    text = str(error)
    if "distributed" not in sys.modules or not (isinstance(error, KeyError) or text.startswith(MISSING)):
        return False
    from distributed import Future

    keys = (one.key for one in gc.get_objects() if issubclass(type(one), Future))
    return any(text == repr(key) or text.startswith(f"{MISSING} {key} for ") for key in keys)
