"""A name for what limits say: equal for equal numbers, whatever their order, comments, reasons or
form.
"""

from __future__ import annotations

import hashlib

from barostat.lint.facts import Limits

_PROVED = ("request.", "engine.", "edge.", "slo.")


def limits_digest(limits: Limits) -> str:
    """`sha256:` of what a load test proves: bounds of requests, of the engine and its edge, and the
    service level.
    """
    said = {path: f"{value:g}" for path, (value, _) in limits.numbers.items()} | {
        path: given.text for path, given in limits.words.items()
    }
    lines = [f"{path}={text}" for path, text in sorted(said.items()) if path.startswith(_PROVED)]
    return f"sha256:{hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}"
