"""`python -m simlib.cli`, for where the `simlib` script is not on the path."""

import sys

from simlib.cli import main

sys.exit(main())
