"""`mtcluster` and `python -m mtcluster`: the command line, ready to be stopped before anything else is imported."""

import sys

from .cli import signals, streams


def run() -> int:
    """Run the command line, and return its exit code; 130 if it is stopped at any moment."""
    try:
        signals.heed()
        streams.open_closed()
        from .cli.main import main

        return main()
    except KeyboardInterrupt:
        from .cli import stopping

        print("mtcluster: stopped.", file=sys.stderr)
        return stopping.exit_code()
    except MemoryError:
        print("mtcluster: not enough memory to start.", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(run())
