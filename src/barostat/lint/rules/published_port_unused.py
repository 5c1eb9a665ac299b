"""A published port at which nothing listens.

Meaning: The host's port leads to a port of the container that is not the server's: vLLM listens at
8000 unless --port says otherwise.
Impact: "Connection reset by peer" for every client, while the server is well.

Bad:

    services:
      vllm:
        image: vllm/vllm-openai:v0.32.0
        command: ["--model", "Qwen/Qwen3-8B"]
        ports: ["8080:8080"]

Good:

    services:
      vllm:
        image: vllm/vllm-openai:v0.32.0
        command: ["--model", "Qwen/Qwen3-8B"]
        ports: ["8080:8000"]

Fix: the server's port behind the colon.
Source: the Compose specification, ports; vLLM, --port.
"""

from __future__ import annotations

from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule
from barostat.lint.rules._listens import number_of


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine of a compose file of whose published ports none is the server's."""
    for engine in scene.engines:
        if engine.form != "compose" or not engine.published:
            continue
        port = number_of(scene, engine)
        if port is None or any(given.text == port for given in engine.published):
            continue
        given = engine.published[0]
        yield Found(
            given.place,
            f"the published port leads to {given.text} in the container, and the server listens at "
            f"{port}",
            f"...:{port}",
        )


RULE = Rule("published-port-unused", "a port at which nothing listens", judge, "error")
