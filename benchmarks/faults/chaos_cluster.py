"""A Dask cluster of processes on the loopback, whose parts can be killed, stopped and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from typing import Any

QUICK = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "8s",
    "DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT": "null",  # as Dask has it; that of the client is ours
    "DASK_DISTRIBUTED__NANNY__PRE_SPAWN_ENVIRON__OMP_NUM_THREADS": "1",
}
HOST = "127.0.0.1"


class Cluster:
    """A scheduler, and workers with or without a nanny, which starts them again."""

    def __init__(self, n_workers: int, *, nanny: bool, memory: str = "0") -> None:
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port = free.getsockname()[1]
        self.address, self.nanny, self.memory = f"tcp://{HOST}:{self.port}", nanny, memory
        self.restarted = False
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start_scheduler()
        for _ in range(n_workers):
            self.add_worker()
        self.client = self.connect(n_workers)

    def connect(self, n_workers: int) -> Any:
        """A client, once there are workers."""
        from distributed import Client

        for left in reversed(range(8)):
            try:
                self.client = Client(self.address, timeout=5)
                break
            except OSError:  # the scheduler is still about to start
                if not left:
                    raise
        self.client.wait_for_workers(n_workers, timeout=40)
        return self.client

    def add_worker(self) -> None:
        """One more."""
        self._start("worker", self.address, "--nthreads", "1", "--host", HOST, "--no-dashboard",
                    "--nanny" if self.nanny else "--no-nanny", "--memory-limit", self.memory, "--death-timeout", "60",
                    )  # fmt: skip

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._start("scheduler", "--host", HOST, "--port", str(self.port), "--no-dashboard", "--no-show")

    def restart_scheduler(self) -> None:
        """Kill the scheduler, and start another at its address."""
        self.scheduler.kill()
        self.scheduler.wait()
        self.scheduler, self.restarted = self._start_scheduler(), True

    def pids(self) -> list[int]:
        """The processes of the workers."""
        return [pid for _, pid in sorted(self.client.run(os.getpid).items())]

    def kill(self, *pids: int) -> None:
        """End processes at once."""
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """End everything, workers first by those who started them."""
        with suppress(Exception):
            self.client.close(timeout=3)
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(6)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *options]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | QUICK
        )
        self.processes.append(process)
        return process
