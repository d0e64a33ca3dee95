"""`python -m benchmarks paper | peers | integration`: repeat published experiments, and compare with other methods.

It needs the extra `benchmark`, and a folder of task sets: `python -m benchmarks paper --data DIR --out OUT --quick`.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from mtcluster.cli import signals

NEEDED = ("matplotlib", "pandas", "pyarrow")


def run() -> int:
    """Run the command, ready to be stopped before anything else is imported."""
    signals.heed()
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(f"python -m benchmarks: {', '.join(missing)} is needed: pip install '.[benchmark]'.", file=sys.stderr)
        return 2
    from .evaluation.command import main

    return main()


if __name__ == "__main__":
    sys.exit(run())
