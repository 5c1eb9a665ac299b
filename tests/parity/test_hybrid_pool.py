"""A thrashing hybrid: the twin that advice is tried on decides as the real scheduler of vLLM 0.32.0
does with that model's pool, to the block; a pool of one kind of attention does not.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.parity.scheduler_cases import as_json, ours

from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.version import parse_version
from barostat.core.window import Window
from barostat.judge.observed.twin_settings import twin_settings
from barostat.twin.request import Row
from barostat.twin.settings import KvGroup, Settings

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".vllm" / "bin" / "python"
ORACLE = Path(__file__).with_name("oracle_scheduler.py")
MOST_STEPS = 8000
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not PYTHON.exists(), reason="no real vLLM here (make vllm)"),
]

# One L4 as vLLM 0.32.0 sizes it for openai/gpt-oss-20b: 4.76 GiB, of which one request of 16,384
# tokens takes a tenth. All that the engine says of it.
SHOWN: dict[str, ConfigScalar] = {
    "model": "openai/gpt-oss-20b", "num_gpu_blocks": 12_997, "kv_cache_size_tokens": 165_200, "block_size": 16,
    "max_model_len": 16_384, "max_num_seqs": 256, "max_num_batched_tokens": 2048,
}  # fmt: skip


def seen() -> Settings:
    """The twin's settings as diagnose has them of that engine."""
    values = {name: ConfigValue(value, "metric", "shown") for name, value in SHOWN.items()}
    window = Window("r", 0.0, config=EngineConfig(values), version=parse_version("0.32.0"))
    found = twin_settings(window, "L4")
    assert found is not None
    assert not found.assumptions
    return found.settings


def rows() -> list[Row]:
    """More than the pool holds once their answers have grown."""
    return [
        Row(str(n), float(n), 900, 1400, 0, tuple(10_000 * (n + 1) + at for at in range(900)))
        for n in range(130)
    ]


def preempted(steps: list[list[Any]]) -> int:
    return sum(len(line[2]) for line in steps)


def test_the_advice_s_twin_preempts_as_the_real_scheduler_does() -> None:
    settings = seen()
    assert {group.window_tokens for group in settings.groups} == {None, 128}
    load = rows()
    case = json.dumps(as_json(settings, load, MOST_STEPS))
    done = subprocess.run(
        [str(PYTHON), str(ORACLE)], input=case, capture_output=True, text=True, timeout=900, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    real = json.loads(done.stdout)
    mine = ours(settings, load)
    shown = [line for line in real["steps"] if line[1]]
    assert mine["steps"] == shown
    assert mine["finished"] == sorted(real["finished"])
    of_one_kind = Settings(
        **{
            **{name: getattr(settings, name) for name in Settings.__slots__},
            "groups": (KvGroup(16),),
            "kv_blocks": 165_200 // 16 + 1,
        }
    )
    flat = ours(of_one_kind, load)["steps"]
    counts = (preempted(shown), preempted(mine["steps"]), preempted(flat))
    most = tuple(max(line[3] for line in steps) for steps in (shown, mine["steps"], flat))
    print(f"preemptions: real {counts[0]}, twin {counts[1]}, one kind of attention {counts[2]}")
    print(f"running at most: real {most[0]}, twin {most[1]}, one kind of attention {most[2]}")
    assert counts[0] == counts[1] > 0
    assert counts[2] > 1.2 * counts[0]
