"""Files whose library may bring the process down are read by another process first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ..errors import InputError
from .base import kind_of

PROGRAM = Path(__file__).with_name("_probe.py")
SECONDS = 60.0  # that a file may take, and as many again for each of these bytes
PROBE_BYTES = 2**27


def probe(path: Path, limit: int) -> None:
    """Refuse a file that a process of its own cannot read, or that unpacks to more than `limit` bytes."""
    seconds, what = SECONDS * (1 + path.stat().st_size / PROBE_BYTES), f"{path} cannot be read as {kind_of(path)}"
    command = [sys.executable, str(PROGRAM), str(path), str(limit)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        late = f"it takes more than {seconds:.0f} s, so it is probably damaged"
        raise InputError(f"{what}: {late}.") from None
    if done.returncode < 0:
        raise InputError(f"{what}: it is damaged, and the library that reads such files crashed on it.")
    if done.returncode:
        reason = " ".join((done.stderr.strip().splitlines() or ["it is damaged"])[-1].split())
        raise InputError(f"{what}: {reason[:200]}")
