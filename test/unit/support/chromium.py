"""Headless Chromium, told what to do by its DevTools protocol through a pair of pipes."""

from __future__ import annotations

import base64
import itertools
import json
import os
import selectors
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
# What `make browser` unpacks, then what machines have.
OWN = ROOT / ".browser" / "chromium" / "chromium"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",  # tests may run as root; they open pages of their own only
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-features=IsolateSandboxedIframes",  # so that frames can be looked into
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
DEADLINE = 60  # seconds
ATTEMPTS = 5


def find_browser() -> Path | None:
    """Return the program to run; the variable NN_OPT_BROWSER names another one."""
    named = os.environ.get("NN_OPT_BROWSER")
    if named:
        return Path(named)
    if OWN.is_file():
        return OWN
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return Path(found) if found else None


class Chromium:
    """A browser with one page; a context manager that ends it."""

    def __init__(self, program: Path, width: int = 1440, height: int = 900) -> None:
        self._profile = TemporaryDirectory(prefix="nn-opt-browser-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        environment = dict(os.environ)
        libraries = program.parent / "lib"
        if libraries.is_dir():
            environment["LD_LIBRARY_PATH"] = str(libraries)
            environment["FONTCONFIG_PATH"] = str(program.parent)
        flags = [*FLAGS, f"--user-data-dir={self._profile.name}", f"--window-size={width},{height}"]
        # The protocol is spoken on descriptors 3 and 4; a shell puts the pipes there.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "browser", str(program), *flags, "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._messages: deque[dict[str, Any]] = deque()
        self.problems: list[str] = []  # errors of the console, exceptions, refusals by the policy
        self.requests: list[str] = []
        self._session = ""
        self._attach()

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def _attach(self) -> None:
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            with selectors.DefaultSelector() as selector:
                selector.register(self._in, selectors.EVENT_READ)
                assert selector.select(DEADLINE), "the browser says nothing"
            chunk = os.read(self._in, 1 << 20)
            assert chunk, "the browser has ended"
            self._buffer += chunk
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, given = message.get("method", ""), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.problems.append(given["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning"):
            self.problems.append(str([value.get("value") for value in given["args"]]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(f"a dialog opened: {given['message']}")

    def open(self, url: str) -> None:
        """Show a page and wait until it is ready."""
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && !document.querySelector('[aria-busy]')")
        self.settle()

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            what = (
                result["exceptionDetails"].get("exception", {}).get("description", "an exception")
            )
            raise AssertionError(f"{expression[:300]}: {what[:1000]}")
        return result["result"].get("value")

    def run_in_frame(self, expression: str) -> Any:
        """Return the value of an expression in the first frame of the page."""
        frame = self.call("Page.getFrameTree")["frameTree"]["childFrames"][0]["frame"]["id"]
        world = self.call("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
        result = self.call(
            "Runtime.evaluate", expression=expression, contextId=world, returnByValue=True
        )
        return result["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + DEADLINE
        while not self.run(condition):
            assert time.monotonic() < end, f"never: {condition}\n{self.problems}"
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def click(self, selector: str, number: int = 0) -> None:
        """Press the mouse on an element."""
        self._until_seen("click", lambda: self._press_mouse(selector, number))

    def _press_mouse(self, selector: str, number: int) -> None:
        place = self.place(selector, number)
        self.mouse("mousePressed", *place)
        self.mouse("mouseReleased", *place)

    def place(self, selector: str, number: int = 0) -> tuple[float, float]:
        """Return where to press an element, which is scrolled into sight."""
        x, y = self.run(
            f"(() => {{ const found = document.querySelectorAll({json.dumps(selector)})[{number}];"
            " found.scrollIntoView({block: 'nearest'}); const box = found.getBoundingClientRect();"
            " return [box.x + Math.min(box.width / 2, 60), box.y + box.height / 2]; })()"
        )
        return x, y

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Press or release the left button at a place."""
        at = {"x": x, "y": y, "button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, **at)

    def press(self, key: str) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}

        def press() -> None:
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

        self._until_seen("keydown", press)

    def _until_seen(self, event: str, act: Callable[[], None]) -> None:
        """Act until the page sees the event: a browser drops those that come before a frame."""
        seen = f"window.unseen?.{event} !== true"
        for _ in range(ATTEMPTS):
            self.run(
                f"(window.unseen = {{{event}: true}}, window.addEventListener('{event}',"
                f" () => {{ window.unseen.{event} = false; }}, {{capture: true, once: true}}), 0)"
            )
            act()
            self.settle()
            if self.run(seen):
                return
        raise AssertionError(f"the page saw no {event} in {ATTEMPTS} attempts")

    def text(self, selector: str) -> str:
        """Return the text of the first element that matches."""
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def count(self, selector: str) -> int:
        """Return how many elements match."""
        return self.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def picture(self) -> bytes:
        """Return what is seen, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def resize(self, width: int, height: int, dark: bool = False) -> None:
        """Change the size of the window, and which colours the system prefers."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])
        self.settle()
