"""lit: each .mlir file with a RUN line is a test."""

import os
import sys

import lit.formats

here = os.path.dirname(__file__)
config.name = "tutorial"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
config.test_source_root = here
config.test_exec_root = os.path.join(here, "build")
config.environment["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
