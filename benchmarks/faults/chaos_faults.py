"""The faults of the campaign on Dask clusters: what happens with the n-th job, and what may come of it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .chaos_reading import arm, disarm

SAME, TOLD = "same labels", "told"
ESTIMATORS = ("SPMTC", "LSSMTC", "mixture", "predict", "partial_fit")
ALL = (*ESTIMATORS, "files")  # `mtcluster fit --scheduler`


@dataclass
class Scene:
    """Where a fault happens."""

    cluster: Any  # None: the work is done by threads
    folder: Path
    pids: list[int]  # of the workers
    files: list[Path]
    later: Callable[[], None] | None = None  # what happens some jobs later
    timers: list[threading.Timer] = field(default_factory=list)

    def after(self, seconds: float, call: Callable[..., None], *arguments: Any) -> None:
        """Let something happen in some seconds."""
        self.timers.append(threading.Timer(seconds, call, arguments))
        self.timers[-1].daemon = True
        self.timers[-1].start()


@dataclass(frozen=True)
class Fault:
    """What happens, where, and what may come of it."""

    act: Callable[[Scene], None]
    ends: tuple[str, ...] = (SAME,)
    nanny: bool = True
    memory: str = "0"
    works: tuple[str, ...] = ALL
    heal: Callable[[Scene], None] = lambda scene: disarm(scene.folder)
    on_cluster: bool = True


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _kill_one(scene: Scene) -> None:
    scene.cluster.kill(scene.pids[0])


def _kill_two(scene: Scene) -> None:
    scene.cluster.kill(scene.pids[0])
    scene.later = lambda: scene.cluster.kill(scene.pids[1])


def _kill_all(scene: Scene) -> None:
    scene.cluster.kill(*scene.pids)


def _stop(scene: Scene, then: int | None = None) -> None:
    _signal(scene.pids[0], signal.SIGSTOP)
    if then is not None:
        scene.after(3, _signal, scene.pids[0], then)


def _armed(what: str) -> Callable[[Scene], None]:
    return lambda scene: arm(scene.folder, what)


def _restart(scene: Scene) -> None:
    from distributed import default_client

    default_client().restart(timeout=30)


def _close_client(scene: Scene) -> None:
    from distributed import default_client

    default_client().close()


def _kill_scheduler(scene: Scene) -> None:
    scene.cluster.scheduler.kill()


def _retire(scene: Scene) -> None:
    scene.cluster.client.retire_workers(n=1)


def _start_afresh(scene: Scene) -> None:
    disarm(scene.folder)
    scene.cluster.kill(*scene.cluster.pids())


def _cut_off(scene: Scene) -> None:
    data = scene.files[2].read_bytes()
    scene.files[2].write_bytes(data[: len(data) // 2])


def _vanish(scene: Scene) -> None:
    scene.files[2].unlink()


READING: dict[str, Any] = {"works": ESTIMATORS}
FILES: dict[str, Any] = {"works": ("files",), "ends": (SAME, TOLD)}
FAULTS = {
    "a worker is killed": Fault(_kill_one),
    "a worker is killed, and none comes in its place": Fault(_kill_one, nanny=False),
    "two workers are killed one after the other": Fault(_kill_two),
    "all workers are killed at once": Fault(_kill_all),
    "all workers are killed, and none comes in their place": Fault(_kill_all, (TOLD,), nanny=False),
    "a worker is stopped for some seconds": Fault(lambda scene: _stop(scene, signal.SIGCONT)),
    "a worker is stopped, and killed some seconds later": Fault(lambda scene: _stop(scene, signal.SIGKILL)),
    "a worker is stopped for good": Fault(_stop),
    "workers have too little memory": Fault(_armed("fill"), (TOLD,), memory="600MB", works=ESTIMATORS),
    "workers pause for want of memory": Fault(
        _armed("hold"), (TOLD,), memory="1GB", works=ESTIMATORS, heal=_start_afresh
    ),
    "a chunk fails to be read once": Fault(_armed("fail once"), **READING),
    "a chunk fails to be read always": Fault(_armed("fail always"), (TOLD,), **READING),
    "a worker dies while it reads": Fault(_armed("die once"), **READING),
    "the cluster is restarted": Fault(_restart, (SAME, TOLD)),
    "the scheduler is killed": Fault(_kill_scheduler, (TOLD,)),
    "the scheduler is killed and started again": Fault(lambda scene: scene.cluster.restart_scheduler(), (SAME, TOLD)),
    "the client is closed": Fault(_close_client, (TOLD,)),
    "a worker comes later": Fault(lambda scene: scene.cluster.add_worker()),
    "a worker is retired": Fault(_retire),
    "a file is cut off, read by workers": Fault(_cut_off, **FILES),
    "a file vanishes, read by workers": Fault(_vanish, **FILES),
    "a file is cut off, read by threads": Fault(_cut_off, on_cluster=False, **FILES),
    "a file vanishes, read by threads": Fault(_vanish, on_cluster=False, **FILES),
}
