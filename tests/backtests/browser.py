"""A headless Chromium, told what to do over a pipe in the DevTools protocol
(chromedevtools.github.io/devtools-protocol).
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DOMAINS = ("Page", "Runtime", "Log", "Network")


def program() -> str | None:
    """The browser of this machine, if it has one."""
    return next((params for name in PROGRAMS if (params := shutil.which(name))), None)


class Tab:
    """One page; `events` are what happened in it so far: method and parameters."""

    def __init__(self, commands: IO[bytes], answers: BufferedReader) -> None:
        self._commands, self._answers = commands, answers
        self._session = ""
        self._sent = 0
        self._begun = b""
        self._arrived: deque[bytes] = deque()
        self.events: list[tuple[str, dict[str, Any]]] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in DOMAINS:
            self._call(f"{domain}.enable")

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while True:
            answer = self._next()
            if answer.get("id") == self._sent:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while not self._arrived:
            piece = self._answers.read1()
            assert piece, "the browser is gone"
            *whole, self._begun = (self._begun + piece).split(b"\0")
            self._arrived.extend(whole)
        message: dict[str, Any] = json.loads(self._arrived.popleft())
        if "method" in message:
            self.events.append((message["method"], message["params"]))
        return message

    def screen(self, width: int, height: int, *, dark: bool = False) -> None:
        """Of this many CSS pixels; a narrow one is a phone's."""
        phone = width < 600
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        self._call("Emulation.setTouchEmulationEnabled", enabled=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def keep_cookie(self, name: str, value: str, address: str) -> None:
        """As if the server at this address had set it."""
        self._call("Network.setCookie", name=name, value=value, url=address)

    def open(self, address: str) -> None:
        """Returns when the page and its scripts have run."""
        begun = len(self.events)
        self._call("Page.navigate", url=address)
        while not any(method == "Page.loadEventFired" for method, _ in self.events[begun:]):
            self._next()

    def ask(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        answer = self._call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key, as a person at a keyboard does; Enter activates a button."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=13 if key == "Enter" else 0, **text)  # fmt: skip

    def picture(self, path: Path) -> None:
        """Of the whole page, as PNG."""
        shot = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def printed(self, path: Path) -> None:
        """As PDF."""
        path.write_bytes(base64.b64decode(self._call("Page.printToPDF")["data"]))

    def complaints(self) -> list[str]:
        """Every error of a script, and every line on the console."""
        named = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
        return [
            f"{method}: {json.dumps(params)}" for method, params in self.events if method in named
        ]

    def requests(self) -> list[str]:
        """Every address that was asked for over a network."""
        return [
            params["request"]["url"]
            for method, params in self.events
            if method == "Network.requestWillBeSent"
            and params["request"]["url"].startswith(("http", "ws"))
        ]


@contextmanager
def tab() -> Iterator[Tab]:
    """A page of a new browser, which ends with it."""
    name = program()
    assert name is not None
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    with tempfile.TemporaryDirectory(
        prefix="algotrade-browser-", ignore_cleanup_errors=True
    ) as profile:
        # The protocol is read from descriptor 3 and written to 4.
        command = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        flags = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-quic", "--disable-sync", f"--user-data-dir={profile}",
        ]  # fmt: skip
        browser = subprocess.Popen(
            ["bash", "-c", command, name, *flags],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            with os.fdopen(ours_out, "wb") as commands, os.fdopen(ours_in, "rb") as answers:
                yield Tab(commands, answers)
        finally:
            browser.terminate()
            browser.wait()
