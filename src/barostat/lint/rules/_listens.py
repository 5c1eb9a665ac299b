"""Where an engine listens."""

from __future__ import annotations

import re

from barostat.lint.facts import Engine, Scene

DEFAULT_PORT = "8000"
_BY_DEFAULT = re.compile(r"\$\{\w+:?[-=]")
_NAME = re.compile(r"[a-z0-9-]{1,15}")
"""Of a port, as Kubernetes takes them; anything else is for somebody to fill in (`${PORT}`)."""
_ELSEWHERE = ("headless", "uds", "data_parallel_multi_port_external_lb")
"""Arguments with which the server answers at several ports, at a socket, or not at all."""


def port_of(scene: Scene, engine: Engine) -> str | None:
    """The port of the engine's server; None if it cannot be told, or where another program of
    the pod may listen as well.
    """
    pod = engine.pod
    if (
        not engine.complete
        or pod is None
        or not pod.raw
        or not pod.alone
        or any(engine.has(name) for name in _ELSEWHERE)
    ):
        return None
    return number_of(scene, engine)


def number_of(scene: Scene, engine: Engine) -> str | None:
    """The port that the engine's arguments give the server; None if they do not tell it."""
    if not engine.complete or any(engine.has(name) for name in _ELSEWHERE):
        return None
    given = engine.arguments.get("port")
    if given is None:
        return DEFAULT_PORT
    text = scene.text_of(given.place.file) or ""
    written = (
        text[given.words[0].start : given.words[-1].end]
        if given.words and given.words[0].start >= 0
        else "${X:-}"
    )
    if (
        given.text is None
        or not given.text.isdigit()
        or (_BY_DEFAULT.search(written) and not engine.env_complete)
    ):
        return None
    return given.text


def is_told(port: str) -> bool:
    """True for the number or the name of a port."""
    return _NAME.fullmatch(port) is not None


def is_encrypted(engine: Engine) -> bool:
    """True if the server speaks TLS."""
    return engine.has("ssl_keyfile") or engine.has("ssl_certfile")
