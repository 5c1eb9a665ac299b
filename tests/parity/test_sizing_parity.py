"""Blocks, tokens and concurrency equal what vLLM 0.32.0's own sizing functions give, on specs made
by its own model classes.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.parity import hand_specs, listed_models, random_models

from barostat.core.version import parse_version
from barostat.kv.deployment import Deployment
from barostat.kv.draft import draft_of
from barostat.kv.pool import Layout, Pool, fill, lay_out
from barostat.kv.read_architecture import read_architecture

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VLLM = ROOT / ".vllm"


pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (VLLM / "READY").exists(), reason="the real vLLM is not set up: make vllm"
    ),
]
COUNT, LISTED, SEED = 63, 16, 20261121


def ask_vllm(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The oracle's answer to each case."""
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_NO_USAGE_STATS": "1",
    }
    command = [str(VLLM / "bin" / "python"), str(HERE / "oracle_sizing.py"), str(VLLM / "model")]
    done = subprocess.run(
        command,
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    answers = [
        json.loads(line.removeprefix("ORACLE "))
        for line in done.stdout.splitlines()
        if line.startswith("ORACLE ")
    ]
    assert len(answers) == len(cases), done.stderr[-3000:]
    return answers


def ours(case: dict[str, Any]) -> tuple[Layout, Pool]:
    """Our own answer. The oracle runs the V1 runner, and its CPU platform keeps states in
    float32.
    """
    flags = case["flags"]
    version = parse_version("0.32.0")
    assert version is not None
    deployment = Deployment(
        version=version, max_model_len=flags["maxModelLen"], max_num_batched_tokens=flags["maxNumBatchedTokens"], max_num_seqs=16,
        tp=flags.get("tp", 1), pp=flags.get("pp", 1), dcp=flags.get("dcp", 1), kv_cache_dtype=flags.get("kvCacheDtype", "auto"),
        block_size=flags.get("blockSize", 16), async_scheduling=flags.get("asyncScheduling", True),
        prefix_caching=flags.get("prefixCaching", True), hybrid_manager=flags.get("hybridManager", True),
        num_gpu_blocks_override=flags.get("numGpuBlocksOverride"), mamba_ssm_cache_dtype=flags.get("mambaSsm", "float32"), v2_runner=False,
    )  # fmt: skip
    model = read_architecture(case["config"] if "config" in case else case["described"])
    if case.get("draft"):
        method, drafts, drafter = case["draft"]
        draft = draft_of(model, method, drafts, read_architecture(drafter) if drafter else None)
        deployment = replace(
            deployment,
            num_speculative_tokens=draft.tokens,
            draft=draft.layers,
            retained_tokens=draft.retained_tokens,
        )
    layout = lay_out(model, deployment)
    return layout, fill(layout, case["availableBytes"])


def disagreements(
    cases: list[dict[str, Any]], answers: list[dict[str, Any]]
) -> tuple[list[str], list[str], int]:
    """Cases where the two differ, cases that vLLM could not build, and how many agree."""
    wrong, unbuilt, equal = [], [], 0
    for number, (case, theirs) in enumerate(zip(cases, answers, strict=True)):
        name = f"{number} {case['family']} {case['flags']}"
        if "error" in theirs:
            unbuilt.append(f"{name}: {theirs['error'][:160]}")
            continue
        layout, pool = ours(case)
        if pool.fits != theirs["fits"]:
            wrong.append(
                f"{name}: fits {pool.fits}, vLLM {theirs['fits']} ({theirs.get('why')}); {pool}"
            )
        elif theirs["fits"]:
            mine = (pool.blocks, pool.tokens, round(pool.concurrency, 9), len(layout.groups))
            real = (
                theirs["blocks"],
                theirs["tokens"],
                round(theirs["concurrency"], 9),
                theirs["groups"],
            )
            if mine != real:
                wrong.append(f"{name}: {mine}, vLLM {real}")
            else:
                equal += 1
        else:
            equal += 1
    return wrong, unbuilt, equal


def test_random_models_get_what_vllm_allocates(capsys: pytest.CaptureFixture[str]) -> None:
    cases = random_models.cases(COUNT, SEED)
    wrong, unbuilt, equal = disagreements(cases, ask_vllm(cases))
    with capsys.disabled():
        names = sorted({line.split()[1] for line in unbuilt})
        print(
            f"\n{equal} of {len(cases)} random models equal, {len(unbuilt)} not built by "
            f"vLLM on CPU: {names}"
        )
    assert not wrong, "\n".join(wrong)
    assert equal >= 0.8 * COUNT, "\n".join(unbuilt)


def test_published_models_get_what_vllm_allocates(capsys: pytest.CaptureFixture[str]) -> None:
    cases = listed_models.sample(LISTED, SEED)
    wrong, unbuilt, equal = disagreements(cases, ask_vllm(cases))
    with capsys.disabled():
        names = sorted({line.split()[1] for line in unbuilt})
        print(
            f"\n{equal} of {len(cases)} published models equal, {len(unbuilt)} not built "
            f"by vLLM on CPU: {names}"
        )
    assert not wrong, "\n".join(wrong)
    assert equal >= LISTED // 2, "\n".join(unbuilt)


def test_hand_made_specs_get_what_vllm_allocates(capsys: pytest.CaptureFixture[str]) -> None:
    cases = hand_specs.cases()
    wrong, unbuilt, equal = disagreements(cases, ask_vllm(cases))
    with capsys.disabled():
        print(f"\n{equal} of {len(cases)} hand-made specs equal")
    assert not wrong, "\n".join(wrong)
    assert not unbuilt, "\n".join(unbuilt)
