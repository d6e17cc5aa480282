"""lit: each .mlir or .py file is a test, with nn-opt and filecheck of the Python that runs lit.

`REQUIRES: clang-19` and the like name tools of test/unit/support/tools.py: such a test is
unsupported where they are missing, and none runs where NN_OPT_NEED_TOOLS asks for them all.
"""

import re
import sys
from pathlib import Path

import lit.formats

here = Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "unit" / "support"))
import tools  # noqa: E402

config.name = "nn-opt"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir", ".py"]
config.excludes = ["Inputs", "lit.cfg.py"]
config.test_source_root = str(here)
config.test_exec_root = str(here.parent.parent / "build" / "lit")
config.environment["PATH"] = f"{Path(sys.executable).parent}:{config.environment['PATH']}"

requirements = re.compile(r"REQUIRES: *(.*)")
tests = (file.read_text() for ending in config.suffixes for file in here.rglob(f"*{ending}"))
named = {word for text in tests for line in requirements.findall(text) for word in line.split(", ")}
for name in sorted(named & tools.TOOLS.keys()):
    if tools.find(name) is not None:
        config.available_features.add(name)
    elif tools.required():
        lit_config.fatal(tools.missing(name))
