"""How much slower than usual this machine works just now: a core that others use too, or an older
one, takes twice the CPU seconds.

A test that bounds CPU seconds bounds them times this. What the bound is there for, an expression
that goes back over what it has read, takes ten times as long and more.
"""

from __future__ import annotations

import json
import re
import time

_USUAL_S = 0.018
"""CPU seconds of the work below where nothing else runs: two cores of a server of 2023, Python
3.11.
"""
_TEXT = json.dumps([{"role": "user", "content": ["x", number]} for number in range(6_000)])
_WORD = re.compile(r"\w+")


def slower() -> float:
    """Times as long as usual: at least 1. The least of three goes, some 60 ms."""
    return max(1.0, min(_work_s() for _ in range(3)) / _USUAL_S)


def _work_s() -> float:
    began = time.process_time()
    read = json.loads(_TEXT)
    json.dumps(read)
    sum(len(found[0]) for found in _WORD.finditer(_TEXT))
    return time.process_time() - began
