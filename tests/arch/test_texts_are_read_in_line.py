"""Texts of one character, over and over, are read as fast as others: no expression tries the same
stretch from each of its places.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from tests.support.machine_pace import slower

from barostat.core.visible import one_line
from barostat.engines.vllm.logs.text import quote
from barostat.gpus import kernel_log
from barostat.gpus.dcgm import read_dcgm
from barostat.gpus.nvidia_table import read_table
from barostat.io.manifests.read import is_template
from barostat.platform.gateway_page import GatewayPage

MOST_S = 1.0
LONG = 65_536
CASES: dict[str, Callable[[], object]] = {
    "spaces in a sentence": lambda: one_line(" " * LONG + "x"),
    "spaces behind Xid in a kernel log": lambda: kernel_log.digest(
        ["[1.5] NVRM: Xid" + " " * LONG] * 3, source="dmesg"
    ),
    "underscores in DCGM's labels": lambda: read_dcgm(
        "DCGM_FI_DEV_GPU_UTIL{" + "_" * LONG + "} 1\n"
    ),
    "digits before watts in nvidia-smi": lambda: read_table(
        "| NVIDIA-SMI 550 |\n|   0  NVIDIA H100   On | 00000000:01:00.0 Off | 0 |\n| N/A 30C P0 "
        + "0" * LONG
        + " | 1MiB / 2MiB | 0% Default |\n"
    ),
    "spaces before a process in nvidia-smi": lambda: read_table(
        "| NVIDIA-SMI 550 |\n|    0   N/A  N/A   1   C " + " " * 4_000 + "x\n"
    ),
    "underscores in a gateway's labels": lambda: (
        GatewayPage(0.0, "barostat_gateway_x{" + "_" * LONG + "} 1\n", "g").samples
    ),
    "braces in a manifest": lambda: is_template("{{ $labels.x }} {{ if " + "{{" * LONG),
    "dashes in a line of the log": lambda: [quote("-" * LONG) for _ in range(50)],
    "words of a secret in a line of the log": lambda: [quote("a-" * LONG) for _ in range(50)],
}


@pytest.mark.parametrize("case", CASES)
def test_long_texts_take_no_longer_than_they_are(case: str) -> None:
    CASES[case]()  # whatever is loaded late
    began = time.process_time()
    CASES[case]()
    assert time.process_time() - began < MOST_S * slower()
