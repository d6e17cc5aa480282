"""lit: each .mlir or .py file is a test, with nn-opt and filecheck of the Python that runs lit."""

import sys
from pathlib import Path

import lit.formats

here = Path(__file__).resolve().parent
config.name = "nn-opt"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir", ".py"]
config.excludes = ["Inputs", "lit.cfg.py"]
config.test_source_root = str(here)
config.test_exec_root = str(here.parent.parent / "build" / "lit")
config.environment["PATH"] = f"{Path(sys.executable).parent}:{config.environment['PATH']}"
