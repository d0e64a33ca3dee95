"""`mtcluster` and `python -m mtcluster`: the command line, ready to be interrupted before anything else is imported."""

import signal
import sys


def run() -> int:
    """Run the command line, and return its exit code; 130 if it is interrupted at any moment."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # batch systems stop programs with it
    try:
        from .cli.main import main

        return main()
    except KeyboardInterrupt:
        print("mtcluster: stopped; nothing was written.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
