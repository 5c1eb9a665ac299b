"""Starts that waited in vain, and images that lack something: the line that tells it, and what says
more than that line.
"""

# ruff: noqa: E501 (log lines as they are printed)
from __future__ import annotations

import pytest

from barostat.engines.vllm.logs.digest import digest

INIT = "(EngineCore pid=9) INFO 03-18 14:00:09 [core.py:96] Initializing a V1 LLM engine (v0.14.0) with config: model='m', max_seq_len=8192"
LOADS = "Loading safetensors checkpoint shards:  45% Completed | 21/46 [00:10<00:12,  2.00it/s]"
GAVE_UP = (
    "(APIServer pid=1) TimeoutError: Timed out waiting for engine core processes to start. This is often caused by slow weight loading for large models. "
    "Waited 600s (configured by VLLM_ENGINE_READY_TIMEOUT_S)."
)
DEAD = "(EngineCore pid=9) ERROR 03-18 14:46:40 [core.py:1330] EngineCore failed to start."
ROOM = "INFO 03-18 14:0{}:00 [ray_utils.py:464] Waiting for creating a placement group of specs for {} seconds. specs=[{{'GPU': 1.0}}]. Check `ray status`"


def _kinds(*lines: str) -> set[str]:
    return {event.kind for event in digest(lines, source="x").events} - {"engine_dead"}


@pytest.mark.parametrize(
    "line",
    [
        GAVE_UP,
        "TimeoutError: Timed out waiting for engines to send initial message on input socket.",
        "(ApiServer_0 pid=2) TimeoutError: Timed out waiting for engines to sendinitial message on input socket.",
        "Failed: Cuda error /src/csrc/custom_all_reduce.cuh:455 'invalid argument'",
        "Failed: /src/csrc/custom_all_reduce.cuh:368 'invalid argument'",
        "ValueError: Ray does not allocate any GPUs on the driver node. Consider adjusting the Ray placement group.",
        "RuntimeError: Every node should have a unique IP address. Got 2 nodes with node ids ['a', 'b'] and 1 unique IP addresses",
        "ValueError: While loading /adapters/a, expected target modules in ['q_proj'] but received ['w']. Please verify",
    ],
)
def test_what_a_start_was_told_and_could_not_do(line: str) -> None:
    assert _kinds(line) == {"invalid_config"}


@pytest.mark.parametrize(
    "line",
    [
        "KeyError: 'getpwuid(): uid not found: 1234'",
        "RuntimeError: Triton Error [CUDA]: device kernel image is invalid",
        "RuntimeError: HIP error: invalid kernel file",
        "Capturing CUDA graphs (decode, FULL):  88%|####| 45/51 [00:04<00:00,  9.30it/s]CUDA error: device kernel image is invalid",
        "NotImplementedError: No compiled cutlass_scaled_mm for a compute capability less than CUDA device capability: 61",
        "AttributeError: LlamaTokenizer has no attribute all_special_tokens_extended. Did you mean: 'x'?",
        "ValueError: Model architectures ['LlamaForCausalLM'] failed to be inspected. Please check the logs for more details.",
    ],
)
def test_what_an_image_lacks(line: str) -> None:
    assert _kinds(line) == {"broken_install"}


def test_why_a_models_code_could_not_be_imported_is_told_first() -> None:
    inspected = "ValueError: Model architectures ['LlamaForCausalLM'] failed to be inspected. Please check the logs for more details."
    lacks = digest(["KeyError: 'getpwuid(): uid not found: 1234'", inspected], source="x").event(
        "broken_install"
    )
    assert lacks is not None
    assert "uid not found" in lacks.quote


def test_a_server_that_gave_up_on_a_core_says_less_than_that_core() -> None:
    assert _kinds(INIT, LOADS, GAVE_UP) == {"invalid_config"}
    watchdog = "[rank0]:[E ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE) ran for 600012 milliseconds"
    assert _kinds(INIT, LOADS, watchdog, GAVE_UP) == {"collective_timeout"}
    full = "(EngineCore pid=9) ERROR 03-18 14:46:39 [core.py:1330] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    assert _kinds(INIT, LOADS, full, DEAD, GAVE_UP) == {"gpu_oom_startup"}


def test_a_cluster_without_room_is_named_after_a_minute_and_until_weights_are_loaded() -> None:
    assert _kinds(ROOM.format(1, 10), ROOM.format(2, 30)) == set()
    assert _kinds(ROOM.format(1, 30), ROOM.format(2, 70)) == {"invalid_config"}
    assert _kinds(ROOM.format(1, 30), ROOM.format(2, 70), INIT, LOADS) == set()


def test_an_oom_of_an_engine_that_failed_to_start_is_one_of_its_start() -> None:
    full = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity of 79.25 GiB"
    assert _kinds(full) == {"gpu_oom"}
    assert _kinds(full, DEAD) == {"gpu_oom_startup"}
    assert _kinds(full, "INFO 03-18 14:46:40 [core.py:1] x", DEAD) == {"gpu_oom_startup"}


def test_cards_without_peer_access_do_not_reach_each_other() -> None:
    assert _kinds(
        "RuntimeError: CUDA error: peer access is not supported between these two devices"
    ) == {"collective_timeout"}
    assert _kinds("nvmlDeviceGetP2PStatus(0,1,NVML_P2P_CAPS_INDEX_READ) failed: Not Supported") == {
        "collective_timeout"
    }


def test_an_argument_of_a_program_is_told_with_its_dashes() -> None:
    refused = digest(
        [
            "TypeError: AsyncEngineArgs.__init__() got an unexpected keyword argument 'tool-call-parser'"
        ],
        source="x",
    )
    event = refused.event("unknown_argument")
    assert event is not None
    assert event.get("keyword") == "tool-call-parser"
