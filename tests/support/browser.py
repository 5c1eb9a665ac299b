"""A real browser that opens a page from a file, at a width, in light or dark, and says what went
on. A pipe leads to it, no port.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dev.setup_browser import PROGRAM, is_installed, library_path

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
    "--proxy-server=127.0.0.1:9", "--disable-extensions",
)  # fmt: skip
_PATIENCE_S = 30.0
_SETTLE_S = 0.05


def found() -> Path | None:
    """The browser: of `make browser`, else the machine's own; None where there is none."""
    own = next(
        (
            path
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (path := shutil.which(name))
        ),
        None,
    )
    return PROGRAM if is_installed() else None if own is None else Path(own)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a page did. `overflow_px`: how much wider than the screen it is; `scripts`: elements
    that could run one.
    """

    title: str
    overflow_px: int
    errors: tuple[str, ...]
    requests: tuple[str, ...]
    scripts: int
    background: str


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with a new profile, gone when the block is left. Errors: AssertionError where there
    is none.
    """
    program = found()
    assert program is not None, "no browser: make browser"
    to_read, to_write = os.pipe(), os.pipe()
    command = [str(program), *_FLAGS, f"--user-data-dir={profile}"]
    environment = (
        {**os.environ, "HOME": str(profile), "LD_LIBRARY_PATH": library_path()}
        if program == PROGRAM
        else dict(os.environ)
    )
    process = subprocess.Popen(
        ["bash", "-c", f'exec "$@" 3<&{to_read[0]} 4>&{to_write[1]}', "browser", *command],
        pass_fds=(to_read[0], to_write[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
    )  # fmt: skip
    os.close(to_read[0])
    os.close(to_write[1])
    try:
        yield Browser(to_read[1], to_write[0])
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(to_read[1])
        os.close(to_write[0])


class Browser:
    """One window after another."""

    def __init__(self, commands: int, answers: int) -> None:
        """Spoken to by these descriptors."""
        self._commands, self._answers = commands, answers
        self._number = 0
        self._buffer = b""
        self._events: list[dict[str, Any]] = []

    def look(self, file: Path, width_px: int, *, dark: bool, picture: Path | None = None) -> Seen:
        """What the page does and how wide it is; `picture`: where a PNG of all of it goes."""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable", session)
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            session,
            width=width_px,
            height=900,
            deviceScaleFactor=1,
            mobile=width_px < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", session, features=[scheme])
        self._ask("Page.navigate", session, url=file.as_uri())
        self._until("Page.loadEventFired")
        time.sleep(_SETTLE_S)
        told = self._value(session, "[document.title, document.documentElement.scrollWidth, document.scripts.length,"
                           " getComputedStyle(document.body).backgroundColor]")  # fmt: skip
        if picture is not None:
            height = self._value(session, "document.documentElement.scrollHeight")
            self._ask(
                "Emulation.setDeviceMetricsOverride",
                session,
                width=width_px,
                height=height,
                deviceScaleFactor=1,
                mobile=False,
            )
            picture.write_bytes(
                base64.b64decode(self._ask("Page.captureScreenshot", session)["data"])
            )
        self._ask("Target.closeTarget", targetId=target)
        title, wide, scripts, background = told
        requests = tuple(
            url
            for url in self._told("Network.requestWillBeSent", lambda told: told["request"]["url"])
            if url != file.as_uri()
        )
        errors = (
            *self._told("Runtime.consoleAPICalled", lambda told: json.dumps(told["args"])),
            *self._told(
                "Runtime.exceptionThrown", lambda told: json.dumps(told["exceptionDetails"])
            ),
            *self._told("Log.entryAdded", lambda told: told["entry"]["text"]),
        )
        return Seen(title, max(0, wide - width_px), errors, requests, scripts, background)

    def _told(self, kind: str, words: Any) -> list[str]:
        return [words(event["params"]) for event in self._events if event["method"] == kind]

    def _value(self, session: str, expression: str) -> Any:
        return self._ask("Runtime.evaluate", session, expression=expression, returnByValue=True)[
            "result"
        ]["value"]

    def _ask(self, method: str, session: str = "", **parameters: Any) -> Any:
        self._number += 1
        asked = {
            "id": self._number,
            "method": method,
            "params": parameters,
            **({"sessionId": session} if session else {}),
        }
        os.write(self._commands, json.dumps(asked).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self._events.append(message)

    def _until(self, method: str) -> None:
        while not any(event["method"] == method for event in self._events):
            self._events.append(self._next())

    def _next(self) -> dict[str, Any]:
        """The next message. Errors: AssertionError where the browser is silent or gone."""
        deadline = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select(
                [self._answers], [], [], max(0.0, deadline - time.monotonic())
            )
            assert ready, f"the browser said nothing for {_PATIENCE_S:.0f} s"
            piece = os.read(self._answers, 1 << 20)
            assert piece, "the browser is gone"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found
