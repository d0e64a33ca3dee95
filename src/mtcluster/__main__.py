"""`python -m mtcluster`."""

import sys

from .cli.main import main

sys.exit(main())
