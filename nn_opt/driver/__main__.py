"""`python -m nn_opt.driver` is nn-opt."""

import sys

from nn_opt.driver import main

sys.exit(main())
