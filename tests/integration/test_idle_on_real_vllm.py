"""An idle engine is called idle.

How quickly and how early pressure is seen is measured, not tested: `python bench/ramps.py` (ten ramps, ten healthy runs), `bench/quick.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from dev.engine import Engine

BAROSTAT = Path(sys.executable).with_name("barostat")


def test_an_idle_engine_is_called_idle(engine_factory: Callable[..., Engine]) -> None:
    engine = engine_factory("--max-model-len", "4096", "--max-num-seqs", "64", shape="small")
    command = [str(BAROSTAT), "diagnose", engine.url, "--for", "6s", "--interval", "3s", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["replicas"][0]["diagnosis"]["cause"] == "healthy-idle", done.stdout
    assert done.returncode == 0
