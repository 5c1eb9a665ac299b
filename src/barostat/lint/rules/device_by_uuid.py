"""A card chosen by its UUID, which vLLM reads as a number.

Meaning: CUDA takes UUIDs in CUDA_VISIBLE_DEVICES (GPU-..., MIG-...). vLLM turns each entry into an
integer.
Impact: "invalid literal for int() with base 10: 'MIG-...'", often below "Model architectures failed
to be inspected", and the server exits.

Bad:

    CUDA_VISIBLE_DEVICES=MIG-377e0049-554c-540b-93c6-d0976f8426cb vllm serve Qwen/Qwen3-8B

Good:

    CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-8B

Fix: let the device plugin or the container runtime give the container that instance
(NVIDIA_VISIBLE_DEVICES takes UUIDs), and index 0 within it.
Source: vLLM issues 41848 (0.20.1), 20939 (0.9.2) and 13815; pull request 46132, open in June 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barostat.lint.facts import Scene
from barostat.lint.rule import Found, Rule

_UUID = re.compile(r"(?:MIG|GPU)-[0-9a-fA-F-]{8,}")
SEEN_UNTIL = "0.24.0"
"""The failure was reported for versions up to this one; whether later ones fixed it is unknown."""


def judge(scene: Scene) -> Iterator[Found]:
    """Every engine whose cards are chosen by UUID."""
    for engine in scene.engines:
        devices = engine.env.get("CUDA_VISIBLE_DEVICES")
        if devices is None or not _UUID.search(devices.text):
            continue
        seen = engine.version is not None and engine.version.before(SEEN_UNTIL)
        yield Found(
            devices.place,
            "CUDA_VISIBLE_DEVICES names a card by its UUID, which vLLM reads as a number and "
            "refuses",
            "NVIDIA_VISIBLE_DEVICES with the UUID, and index 0 in the container",
            severity="error" if seen else None,
            confidence=None if seen else "medium",
        )


RULE = Rule("device-by-uuid", "a card chosen by its UUID", judge, "warning")
