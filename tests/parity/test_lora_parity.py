"""The places for LoRA adapters are, to the byte, what vLLM 0.32.0's own wrappers keep around its
own model classes.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from barostat.core.version import parse_version
from barostat.kv.adapters import adapter_places
from barostat.kv.deployment import Adapters, Deployment
from barostat.kv.read_architecture import read_architecture

HERE = Path(__file__).parent
VLLM = HERE.parents[1] / ".vllm"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (VLLM / "READY").exists(), reason="the real vLLM is not set up: make vllm"
    ),
]

_SHAPE = {
    "hidden_size": 256, "intermediate_size": 640, "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2,
    "vocab_size": 2048, "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip
_MODELS = (
    {
        **_SHAPE,
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "head_dim": 32,
        "tie_word_embeddings": False,
    },
    {
        **_SHAPE,
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "head_dim": 64,
        "tie_word_embeddings": True,
    },
    {
        **_SHAPE,
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "tie_word_embeddings": False,
    },
)
CASES: list[dict[str, Any]] = [
    {"config": model, "loras": loras, "rank": rank, "sharded": sharded, "tp": tp}
    for model in _MODELS
    for loras, rank, sharded, tp in (
        (1, 16, False, 1),
        (3, 64, False, 2),
        (2, 32, False, 4),
        (2, 32, True, 2),
        (2, 32, True, 4),
    )
]


def test_places_of_adapters_are_the_engines_own() -> None:
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_NO_USAGE_STATS": "1",
    }
    command = [str(VLLM / "bin" / "python"), str(HERE / "oracle_lora.py")]
    done = subprocess.run(
        command,
        input=json.dumps(CASES),
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    theirs = [
        json.loads(line.removeprefix("ORACLE "))["bytes"]
        for line in done.stdout.splitlines()
        if line.startswith("ORACLE ")
    ]
    assert len(theirs) == len(CASES), done.stderr[-3000:]
    version = parse_version("0.32.0")
    assert version is not None
    for case, bytes_there in zip(CASES, theirs, strict=True):
        kept = Adapters(case["loras"], case["rank"], "bfloat16", case["sharded"])
        flags = Deployment(version, 512, 2048, 16, tp=case["tp"], adapters=kept)
        found = adapter_places(read_architecture(case["config"]), flags)
        assert found.is_exact, case
        assert found.value == bytes_there, (case, found)
