"""One trial of the campaign on Dask clusters: `python -m benchmarks.faults.chaos_trial SEED NUMBER FOLDER`.

The last line that it prints is what came of the trial.
"""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from mtcluster import DaskClusterError

from .chaos_cluster import Cluster
from .chaos_faults import FAULTS, SAME, TOLD, Fault, Scene
from .chaos_works import FILE_JOBS, WORKS, contents, fit_files, labels_of, on_cluster, rows, write_parts

N_WORKERS = 2
PATIENCE = "6s"  # without workers
LATER = 3  # jobs between the two parts of a fault


def main(seed: int, number: int, folder: Path) -> str:
    """What came of the trial."""
    import dask

    name = list(FAULTS)[number % len(FAULTS)]
    fault, rng = FAULTS[name], np.random.default_rng([seed, number])
    work = str(rng.choice(fault.works))
    at = int(rng.integers(1, 1 + (FILE_JOBS if work == "files" else WORKS[work].jobs)))
    print(f"{name}; {work}; job {at}", flush=True)
    settings = {"distributed.comm.timeouts.connect": "5s", "distributed.scheduler.no-workers-timeout": PATIENCE}
    with dask.config.set(settings), _scene(fault, folder) as scene:
        how = of_files if work == "files" else of_estimator
        return how(work, fault, scene, at, beside=bool(rng.random() < 0.5))


@contextmanager
def _scene(fault: Fault, folder: Path) -> Iterator[Scene]:
    if not fault.on_cluster:
        yield Scene(None, folder, [], [])
        return
    cluster = Cluster(N_WORKERS, nanny=fault.nanny, memory=fault.memory)
    try:
        yield Scene(cluster, folder, cluster.pids(), [])
    finally:
        cluster.close()


def of_estimator(work: str, fault: Fault, scene: Scene, at: int, *, beside: bool) -> str:
    """A fit or a prediction on Dask arrays."""
    X, tasks = rows()
    expected, there = labels_of(work, X, tasks), on_cluster(X, scene.folder)
    with disturbed(fault, scene, at, beside) as happened:
        try:
            end = SAME if np.array_equal(labels_of(work, there, tasks), expected) else "other labels"
        except (DaskClusterError, OSError) as error:
            end = told(error)
    if not happened:
        return "the fault did not happen"
    if end not in fault.ends:
        return f"not expected: {end}"
    usable(fault, scene)
    again = np.array_equal(labels_of(work, there, tasks), expected)
    return end if again else "other labels of a second fit"


def of_files(work: str, fault: Fault, scene: Scene, at: int, *, beside: bool) -> str:
    """`mtcluster fit` of Parquet files, into a folder with older results half of the time."""
    scene.files = write_parts(scene.folder)
    place = scene.folder / "out"
    expected = fit_files(scene.files, place, "--out-of-core")
    if at % 2:
        shutil.rmtree(place)
    before = contents(place)
    where = ("--out-of-core",) if scene.cluster is None else ("--scheduler", scene.cluster.address)
    with disturbed(fault, scene, at, beside) as happened:
        found = fit_files(scene.files, place, *where)
    print(found.said)
    if problem := found.problem or _folder(found.code, before, place):
        return problem
    end = SAME if found.code == 0 else TOLD
    if not happened:
        return "the fault did not happen"
    if end not in fault.ends or (end == SAME and not np.array_equal(found.labels, expected.labels)):
        return f"not expected: {end} ({found.said})"
    write_parts(scene.folder)
    if scene.cluster is not None:
        usable(fault, scene)
    again = fit_files(scene.files, place, *where)
    fine = again.code == 0 and np.array_equal(again.labels, expected.labels)
    return end if fine else f"a second fit: {again.code} {again.said}"


def _folder(code: int, before: dict[str, str], place: Path) -> str:
    """What is wrong with the folder of results."""
    if code and contents(place) != before:
        return "the folder of results was changed by a fit that failed"
    hidden = [path.name for path in place.parent.iterdir() if path.name.startswith(".mtcluster")]
    return f"left behind: {hidden[0]}" if hidden else ""


def told(error: Exception) -> str:
    """Whether an error is a sentence of ours."""
    text = str(error)
    ours = "Dask cluster" in text if isinstance(error, DaskClusterError) else "a chunk of the data" in text
    print(f"{type(error).__name__}: {text}", flush=True)
    return TOLD if ours else f"{type(error).__name__}: {text}"


@contextmanager
def disturbed(fault: Fault, scene: Scene, at: int, beside: bool) -> Iterator[list[int]]:
    """Let the fault come with a job of the block, before it or `beside` it; yields a list with the jobs of faults."""
    import mtcluster.engines.dask as engine

    plain, jobs, happened = engine.run, [0], list[int]()
    threads: list[threading.Thread] = []

    def run(how: Any, *collections: Any) -> Any:
        jobs[0] += 1
        if jobs[0] == at:
            happened.append(at)
            threads.append(threading.Thread(target=fault.act, args=(scene,), daemon=True))
            threads[0].start()
            if not beside:
                threads[0].join()
        if jobs[0] == at + LATER and scene.later is not None:
            scene.later()
        return plain(how, *collections)

    engine.run = run
    try:
        yield happened
    finally:
        engine.run = plain
        for thread in threads:
            thread.join(40)


def usable(fault: Fault, scene: Scene) -> None:
    """Mend what was broken on purpose, so that the cluster can be used."""
    cluster = scene.cluster
    fault.heal(scene) if cluster.client.status == "running" else None
    for timer in scene.timers:
        timer.join()
    if cluster.scheduler.poll() is not None:
        cluster.restart_scheduler()
    if not fault.nanny or cluster.restarted:  # workers end with their scheduler
        cluster.add_worker()
    if cluster.client.status != "running":
        with suppress(Exception):
            cluster.client.close(timeout=3)
        cluster.connect(1)
    cluster.client.wait_for_workers(1, timeout=40)


if __name__ == "__main__":
    came = main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
    print(came.replace("\n", " "), flush=True)
