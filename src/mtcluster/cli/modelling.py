"""What `fit` and `compare` share: from files to a fitted model, and its scores."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from .._utils.text import count, listed
from ..core.arrays import Array, has_gaps
from ..engines import DaskClusterError
from ..estimators.progress import watched
from ..estimators.publish import public
from ..inspection._certainty import number_sentence
from ..inspection._labels import LabelDescription
from ..inspection._subject import in_memory
from ..metrics import joint_accuracy, task_scores
from ..model_selection._n_clusters import Selection, select_n_clusters
from ..model_selection._stability import Stability, stability
from .console import Console
from .errors import InputError, input_errors, need
from .methods import METHODS
from .options import Numbers
from .preparing import Prepared

FITTING, WRITING = 8, 3  # units of work, from which the time left is estimated
SELECTING, REFITTING = 4 * FITTING, 2 * FITTING
COMPARED_NUMBERS = 10  # clusters that `--clusters auto` compares
LOCATIONS = {"keep": "none", "remove": "matched"}  # values of --location as those of task_offset
CHUNKS = 4  # of the rows per thread of a Dask cluster


def number_of_clusters(arguments: Namespace, rows: Prepared, console: Console) -> tuple[int, Selection | None]:
    """Choose the number of clusters, and tell how it was chosen if it was not given."""
    if isinstance(arguments.clusters, int):
        return arguments.clusters, None
    if getattr(arguments, "clusters_per_task", None):
        raise InputError("--clusters-per-task needs the number of clusters of all tasks together: add --clusters N.")
    numbers = _numbers(arguments.clusters, rows.tasks)
    console.begin(f"choosing the number of clusters, {numbers.least} to {numbers.most}")
    candidates = range(numbers.least, numbers.most + 1)
    with input_errors():
        found = select_n_clusters(rows.X, tasks=rows.tasks, n_clusters=candidates, random_state=arguments.seed)
    console.finish(SELECTING)
    return found.best, found


def _numbers(asked: str | Numbers, tasks: Array) -> Numbers:
    """Choose the numbers of clusters to compare; each needs twice as many rows."""
    (names, sizes), n = np.unique(tasks, return_counts=True), len(tasks)
    if sizes.min() < 2:
        alone = str(names[sizes.argmin()])
        least = f"--clusters {asked} needs at least 2 rows per task, and {alone!r} has 1"
        raise InputError(f"{least}: leave that task out (--min-rows 2), or give a number.")
    if isinstance(asked, Numbers):
        if 2 * asked.most > n:
            enough = f"needs at least {2 * asked.most} rows, and there are {n}"
            raise InputError(f"--clusters {asked} {enough}: compare numbers up to {n // 2}, or give one.")
        return asked
    if n < 4:
        raise InputError(f"--clusters {asked} needs at least 4 rows, and there are {n}: give a number.")
    return Numbers(2, min(COMPARED_NUMBERS, n // 2))


def told_number(selection: Selection | None, found: Stability | None = None) -> list[str]:
    """Write a sentence on how the number of clusters was chosen."""
    return [] if selection is None else [number_sentence(selection, selection.best, found)]


def units_of(arguments: Namespace, n_methods: int = 1) -> float:
    """Tell how much work there is between reading and writing."""
    chosen = 0 if isinstance(arguments.clusters, int) else SELECTING
    return chosen + n_methods * (FITTING + REFITTING * bool(arguments.refits))


def fit_model(arguments: Namespace, method: str, n_clusters: int, rows: Prepared, console: Console) -> tuple[Any, Any]:
    """Fit a model; also return the same or another object that describes its clusters per task."""
    chosen, (n, d) = METHODS[method], rows.X.shape
    if n > chosen.max_rows:
        raise InputError(f"--method {method} accepts at most {chosen.max_rows} rows, and there are {n}: use spmtc.")
    if has_gaps(rows.X) and not chosen.missing:
        raise no_missing_values(f"--method {method}", rows)
    model, begun = chosen.make(n_clusters, arguments.seed), console.done
    model = with_options(arguments, method, model, np.unique(rows.tasks).tolist())
    console.begin(f"{method}: {count(n, 'row')}, {count(d, 'feature')}, {count(n_clusters, 'cluster')}")
    listener = Listener(method, console)
    with input_errors(), _located(arguments, rows) as X, watched(model, listener):
        model.fit(X, tasks=rows.tasks, **({} if rows.previous is None else {"previous": rows.previous}))
        if hasattr(model, "fitted_"):
            fitted = model.fitted_
            vars(model).update(public(model, replace(fitted, rows=in_memory(fitted.rows))))
    console.finish(begun + FITTING - console.done)
    _forget_affinities(model)
    if hasattr(model, "fitted_") and len(model.tasks_) == len(np.unique(rows.tasks)):
        return model, model
    return model, LabelDescription(method).fit(rows.X, model.labels_, tasks=rows.tasks)


def no_missing_values(what: str, rows: Prepared) -> InputError:
    """Make the refusal of methods that cannot take missing values; `what` is the option that names them."""
    able = listed([name for name, other in METHODS.items() if other.missing])
    n_missing = f"{int(np.isnan(rows.X).sum())} of the values are missing"
    return InputError(
        f"{what} cannot take missing values, and {n_missing}: add --impute median to fill them, or use a method that "
        f"can ({able})."
    )


def with_options(arguments: Namespace, method: str, model: Any, tasks: Sequence[str]) -> Any:
    """Set the options that only some methods have; tasks whose number of clusters is not known may hold all."""
    for option, name in (
        ("metric", "metric"),
        ("location", "task_offset"),
        ("clusters_per_task", "n_clusters_per_task"),
    ):
        value = getattr(arguments, option, None)
        if value is None:
            continue
        value = LOCATIONS.get(value, value) if option == "location" else value
        if name not in model.get_params(deep=False):
            raise InputError(f"--{option.replace('_', '-')} does not go with --method {method}: use spmtc or lssmtc.")
        if option == "clusters_per_task":
            value = {str(task): model.n_clusters for task in tasks} | value
        model.set_params(**{name: value})
    return model


class Listener:
    """Shows the steps of a fit on the console."""

    def __init__(self, method: str, console: Console) -> None:
        self.method, self.console, self.n_stages = method, console, 1

    def __call__(self, step: str, **details: Any) -> None:
        """Show a step."""
        if step == "decide":
            self.console.begin(f"{self.method}: deciding from the data how much tasks share", detail=True)
        if step == "fit":
            self.console.finish(FITTING - 1)
            self.n_stages = details["n_stages"]
        if step == "stage":
            fraction = details["fraction"]
            stage = {0: "warm-up", 1: "all rows"}.get(fraction, f"easiest {100 * fraction:.0f} %")
            self.console.finish(1 / self.n_stages)
            self.console.begin(f"{self.method}: {stage}, objective {details['objective']:.5g}", detail=True)


@contextmanager
def _located(arguments: Namespace, rows: Prepared) -> Iterator[Any]:
    """Give the numbers in this process, or on the workers of a Dask cluster."""
    address = getattr(arguments, "scheduler", None)
    if address is None:
        yield rows.X
        return
    check_on_dask("--scheduler", arguments.method)
    import dask.array as da

    with connected(arguments) as client:
        threads = sum(client.nthreads().values())
        size = -(-rows.X.shape[0] // (CHUNKS * threads))
        yield da.from_array(rows.X, chunks=(size, -1), asarray=False).persist()


def check_on_dask(option: str, method: str) -> None:
    """Refuse a method that does not work on Dask; `option` asks for it."""
    need("distributed", "dask", option)
    able = [name for name, one in METHODS.items() if one.on_dask]
    if method not in able:
        raise InputError(f"{option} works with the methods {', '.join(able)}, not with {method}.")


@contextmanager
def connected(arguments: Namespace) -> Iterator[Any]:
    """Open a client of the Dask scheduler that --scheduler names, which has workers."""
    from distributed import Client

    from ..engines.dask_cluster import cluster_errors

    address = arguments.scheduler
    try:
        client = Client(address, timeout=10, security=_security(arguments))
    except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
        reason = "" if _security(arguments) is None else ", or the certificates do not fit"
        raise InputError(f"--scheduler {address}: no Dask scheduler answers at this address{reason}.") from error
    try:
        with cluster_errors(), client:
            if not sum(client.nthreads().values()):
                raise InputError(f"--scheduler {address}: the cluster has no workers.")
            yield client
    except DaskClusterError as error:
        raise InputError(f"--scheduler {address}: {error}") from error


def check_certificates(arguments: Namespace) -> None:
    """Refuse certificates that no scheduler is there for."""
    given = [name for name in ("tls_ca", "tls_cert", "tls_key") if getattr(arguments, name, None) is not None]
    if given and arguments.scheduler is None:
        raise InputError(f"--{given[0].replace('_', '-')} is for a Dask scheduler: add --scheduler tls://HOST:PORT.")


def _security(arguments: Namespace) -> Any:
    """Certificates for the connection, if any are named."""
    names = {"tls_ca_file": "tls_ca", "tls_client_cert": "tls_cert", "tls_client_key": "tls_key"}
    given = {name: getattr(arguments, option, None) for name, option in names.items()}
    if not any(given.values()):
        return None
    for name, path in given.items():
        if path is None or not path.is_file():
            option = f"--{names[name].replace('_', '-')}"
            raise InputError(f"{option} {path or '(nothing)'}: --tls-ca, --tls-cert and --tls-key each need a file.")
    from distributed.security import Security

    return Security(require_encryption=True, **{name: str(path) for name, path in given.items()})


def _forget_affinities(model: Any) -> None:
    """Drop the affinity matrix of spectral clustering, which is large and not needed after the fit."""
    for inner in getattr(model, "estimators_", [getattr(model, "estimator_", None)]):
        if hasattr(inner, "affinity_matrix_"):
            del inner.affinity_matrix_


def stability_of(model: Any, rows: Prepared, arguments: Namespace, console: Console) -> Stability | None:
    """Tell how sure one can be of the clusters; None if no refits were asked for."""
    n = arguments.refits
    if not n:
        return None
    console.begin(f"fitting again to {n} halves of the rows to measure stability")
    with noted(), input_errors():
        found = stability(model, rows.X, tasks=rows.tasks, n_refits=n, random_state=arguments.seed + 1)
    console.finish(REFITTING)
    return found


def scores_of(rows: Prepared, labels: Array) -> dict[str, float]:
    """Agreement of clusters with the known classes; empty if fewer than two classes are known."""
    if rows.data.classes is None:
        return {}
    known = np.array([value is not None for value in rows.data.classes]) & (labels >= 0)
    classes, labels, tasks = rows.data.classes[known].astype(str), labels[known], rows.tasks[known]
    if len(np.unique(classes)) < 2:
        return {}
    scores = task_scores(classes, labels, tasks)
    means = {name: float(np.mean(scores[name])) for name in ("accuracy", "nmi")}
    purest = sum(int(np.unique(classes[labels == j], return_counts=True)[1].max()) for j in np.unique(labels))
    return means | {"joint_accuracy": joint_accuracy(classes, labels, tasks), "purity": purest / len(labels)}


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collect the user warnings of the block, each message once."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    notes.extend(dict.fromkeys(messages))
