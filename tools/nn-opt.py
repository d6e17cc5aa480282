#!/usr/bin/env python3
"""nn-opt as a file, for a checkout that is not installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nn_opt.driver import main

sys.exit(main())
