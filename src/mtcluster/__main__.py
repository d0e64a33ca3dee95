"""`python -m mtcluster`."""

import sys

from .cli import main

sys.exit(main())
