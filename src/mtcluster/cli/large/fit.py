"""The rows of a fit to files larger than memory: the same folder comes out, with labels in parts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..._utils.text import count
from ...core.arrays import Array
from ...estimators.progress import watched
from ...inspection._relations import Relations
from ...inspection._report import Report
from ...model_selection import Stability
from .. import layout, modelling
from ..console import Console
from ..errors import input_errors
from ..fit import lines_on_data
from ..methods import METHODS
from ..modelling import FITTING
from ..predict import usual_losses
from ..preparing import Prepared
from ..writing import write_model
from . import place
from .preparing import prepare, refuse_options
from .writing import How, belonging_name, description_of, sample_of, without_values, write_labels

HASHED = 2**30  # bytes of all files up to which checksums are computed


class OutOfCore:
    """The rows of a fit, piece by piece: what comes together in one place is a sample of them."""

    def __init__(self, arguments: Namespace) -> None:
        self.arguments = arguments
        refuse_options(arguments, "--out-of-core" if arguments.out_of_core else "--scheduler with Parquet files")
        self.hashed = True

    @contextmanager
    def working(self, out: Path) -> Iterator[None]:
        """Do the work of the block in threads, or on the workers of a cluster."""
        with place.working(self.arguments, out) as self.values:
            yield

    def read(self, console: Console) -> Prepared:
        """Read tasks, statistics and a sample, which is returned."""
        self.console, self.large = console, prepare(self.arguments, console, self.values)
        files = self.large.table.files
        self.hashed = sum(path.stat().st_size for path in files) <= HASHED
        return self.large.sample

    def fit(self, n_clusters: int, console: Console) -> None:
        """Fit the model, whose values per row are Dask arrays."""
        method, (n, d), begun = self.arguments.method, self.large.X.shape, console.done
        model = METHODS[method].make(n_clusters, self.arguments.seed)
        self.model = modelling.with_options(self.arguments, method, model, self.large.table.tasks)
        console.begin(f"{method}: {count(n, 'row')}, {count(d, 'feature')}, {count(n_clusters, 'cluster')}")
        with input_errors(), watched(self.model, modelling.Listener(method, console)):
            self.model.fit(self.large.X, tasks=self.large.tasks)
        console.finish(begun + FITTING - console.done)

    def labelled(self, out: Path) -> tuple[Prepared, Any, Any]:
        """Write the labels of all rows; return a sample, the model of it, and what describes its clusters per task."""
        self.console.begin("writing labels")
        self.rows, self.kept = sample_of(self.large, self.model)
        sizes = self._write_labels(out)
        self.n_rows, self.n_empty = self.large.table.n_rows, int(sizes[:, -1].sum())
        method = self.arguments.method
        self.described = description_of(self.large, self.rows, self.kept, method, sizes[:, :-2])
        return self.rows, self.kept, self.described

    def told(self, scores: list[str], notes: list[str]) -> list[str]:
        """Say how labels agree with known classes, what was read, and what the fit had to say."""
        if len(self.rows.data) != self.n_rows:
            scores = [f"{line} (In a sample of {count(len(self.rows.data), 'row')}.)" for line in scores]
        big = f"Checksums of files that hold more than {HASHED // 2**30} GB were not computed."
        data = lines_on_data(self.rows, len(self.described.tasks_))
        return [*scores, *self.large.notes, *notes, *data, *[big] * (not self.hashed)]

    def write(self, out: Path, related: Relations, report: Report, found: Stability | None) -> list[str]:
        """Write the files that have nothing to say about single rows; labels are there already."""
        write_model(out, self.rows, self.kept, self.described, related, report)
        return []

    def _write_labels(self, out: Path) -> Array:
        """Write the labels of all rows, and count those of each task and cluster."""
        model, large = self.model, self.large
        (out / layout.PARTS).mkdir()
        with input_errors():
            belonging = model.predict_proba(large.X, tasks=large.tasks)
            usual = usual_losses(self.kept.losses_, self.rows.tasks)
            how = How(large.table.rules, large.table.tasks, belonging.shape[1], belonging_name(model), usual)
            values = (model.labels_, belonging, model.losses_, without_values(large.X))
            return write_labels(out / layout.PARTS, large.table, values, how)
