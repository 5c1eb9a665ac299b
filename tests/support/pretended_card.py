"""A card that is not there: an nvidia-smi that shows one, and a vLLM that is the twin of it. All
else of `make gpu` is as on a card.

environment = pretended_card(tmp_path, version="0.32.0")
subprocess.run([sys.executable, "-m", "dev.gpu", "--only", "eager"], env=environment)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

BAROSTAT = Path(sys.executable).with_name("barostat")
NAME, TOTAL_MIB = "NVIDIA H100 80GB HBM3", 81559
_SMI = """#!/bin/sh
case "$1" in
  --query-gpu=driver_version) echo 580.159.04;;
  --query-gpu=*)
    echo "index, name, uuid, memory.used [MiB], memory.total [MiB], utilization.gpu [%], power.draw [W], power.limit [W], temperature.gpu, \
ecc.errors.uncorrected.volatile.total, ecc.errors.corrected.volatile.total"
    echo "0, {name}, GPU-0, {used} MiB, {total} MiB, 0 %, 71.00 W, 700.00 W, 31, 0, 0";;
  *) echo "| NVIDIA-SMI 580.159.04 |";;
esac
"""
_VLLM = """#!/bin/sh
exec {barostat} twin --gpu H100 --engine-version {version} --latency base=0.003,prefill=0.00001,decode=0.0001 {options} -- vllm "$@"
"""
# Says the version, makes a tokenizer of two tokens, takes no memory.
_PYTHON = """#!/bin/sh
case "$1" in
  -c) echo {version};;
  *tiny_model.py) mkdir -p "$2"; echo '{{"model": {{"vocab": {{"a": 0, "b": 1}}}}}}' > "$2/tokenizer.json";;
  *) echo "holds nothing"; cat > /dev/null;;
esac
"""


def pretended_card(
    folder: Path, version: str = "0.32.0", used_mib: int = 4, options: str = ""
) -> dict[str, str]:
    """The environment of a process that finds it. `options`: of the twin."""
    tools, own = folder / "tools", folder / "vllm" / "bin"
    tools.mkdir(parents=True)
    own.mkdir(parents=True)
    _program(tools / "nvidia-smi", _SMI.format(name=NAME, used=used_mib, total=TOTAL_MIB))
    _program(own / "vllm", _VLLM.format(barostat=BAROSTAT, version=version, options=options))
    _program(own / "python", _PYTHON.format(version=version))
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VLLM", "CUDA_", "BAROSTAT_"))
    }
    return {
        **kept,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "VLLM": str(own / "vllm"),
        "BAROSTAT_CACHE": str(folder / "cache"),
    }


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
