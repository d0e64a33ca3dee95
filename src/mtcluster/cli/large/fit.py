"""`mtcluster fit` for files larger than memory: the same folder comes out, with labels in parts."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from time import perf_counter
from typing import Any

from ..._utils.text import count
from ...core.arrays import Array
from ...estimators.progress import watched
from ...inspection._relations import relations
from .. import folder, layout, modelling
from ..console import Console
from ..errors import input_errors
from ..fit import certainty_of, found_in, lines_on_data, lines_on_scores, report_of, settings_of, timed
from ..methods import METHODS
from ..modelling import FITTING, WRITING
from ..preparing import READING, Prepared
from ..writing import write_model
from . import place
from .preparing import Large, prepare, refuse_options
from .writing import How, belonging_name, description_of, sample_of, usual_losses, without_values, write_labels

HASHED = 2**30  # bytes of all files up to which checksums are computed


def run_large(arguments: Namespace, console: Console) -> dict[str, Any]:
    """Read, preprocess and cluster piece by piece, and write the folder of the run; returns what is printed."""
    refuse_options(arguments, "--out-of-core" if arguments.out_of_core else "--scheduler with Parquet files")
    began = perf_counter()
    seconds: dict[str, float] = {}
    units = READING + modelling.units_of(arguments) + WRITING
    new_folder = folder.new_folder(arguments.out, force=arguments.force)
    with new_folder as out, console.working(units), place.working(arguments, out) as values:
        with timed(seconds, "read"):
            large = prepare(arguments, console, values)
        with timed(seconds, "fit"), modelling.noted() as notes:
            n_clusters, selection = modelling.number_of_clusters(arguments, large.sample, console)
            model = fit_model(arguments, n_clusters, large, console)
        console.begin("writing labels")
        with timed(seconds, "labels"), modelling.noted():
            rows, kept = sample_of(large, model)
            sizes = labelled(out, large, model, kept, rows)
        described = description_of(large, rows, kept, arguments.method, sizes[:, :-2])
        with timed(seconds, "refits"):
            found = modelling.stability_of(kept, rows, arguments, console)
        console.begin("writing")
        lines = modelling.told_number(selection, found)
        lines += [*_on_sample(rows, large, lines_on_scores(rows, described.labels_)), *large.notes, *notes]
        lines += lines_on_data(rows, len(described.tasks_))
        hashed = sum(path.stat().st_size for path in large.table.files) <= HASHED
        settings = settings_of(arguments, rows, kept, hashed=hashed) | certainty_of(found, selection)
        settings["seconds"] = {name: round(value, 2) for name, value in seconds.items()}
        if not hashed:
            lines.append(f"Checksums of files that hold more than {HASHED // 2**30} GB were not computed.")
        report = report_of(arguments, rows, described, settings, lines, found)
        related = relations(described)
        write_model(out, rows, kept, described, related, report)
        folder.write_settings(out, settings)
        console.finish(WRITING)
    counts = {"n_rows": large.table.n_rows, "n_clusters": n_clusters, "n_without_values": int(sizes[:, -1].sum())}
    result = {"out": str(arguments.out), **counts, **found_in(kept, described, related, found, report, settings)}
    return result | {"lines": lines, "seconds": round(perf_counter() - began, 2)}


def fit_model(arguments: Namespace, n_clusters: int, large: Large, console: Console) -> Any:
    """Fit the model, whose values per row are Dask arrays."""
    method = arguments.method
    model = METHODS[method].make(n_clusters, arguments.seed)
    model = modelling.with_options(arguments, method, model, large.table.tasks)
    n, d = large.X.shape
    begun = console.done
    console.begin(f"{method}: {count(n, 'row')}, {count(d, 'feature')}, {count(n_clusters, 'cluster')}")
    with input_errors(), watched(model, modelling.Listener(method, console)):
        model.fit(large.X, tasks=large.tasks)
    console.finish(begun + FITTING - console.done)
    return model


def labelled(out: Path, large: Large, model: Any, kept: Any, rows: Prepared) -> Array:
    """Write the labels of all rows, and count those of each task and cluster."""
    (out / layout.PARTS).mkdir()
    with input_errors():
        belonging = model.predict_proba(large.X, tasks=large.tasks)
        usual = usual_losses(kept.losses_, rows.tasks)
        how = How(large.table.rules, large.table.tasks, belonging.shape[1], belonging_name(model), usual)
        values = (model.labels_, belonging, model.losses_, without_values(large.X))
        return write_labels(out / layout.PARTS, large.table, values, how)


def _on_sample(rows: Prepared, large: Large, lines: list[str]) -> list[str]:
    """Sentences about the rows of the model, with their number if they are a sample."""
    if len(rows.data) == large.table.n_rows:
        return lines
    return [f"{line} (In a sample of {count(len(rows.data), 'row')}.)" for line in lines]
