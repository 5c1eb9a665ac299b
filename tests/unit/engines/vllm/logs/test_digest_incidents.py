"""Real incidents' log excerpts get a kind that fits their label, and none that would blame another
cause.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barostat.engines.vllm.logs.digest import digest

CASES = Path(__file__).resolve().parents[5].parent / "shared" / "dev-cases" / "incidents.jsonl"
GPU_OOM = {"gpu_oom", "gpu_oom_startup", "gpu_oom_graph_capture", "gpu_oom_serving"}
FITTING = {
    "no_cache_blocks": {"no_cache_blocks", "states_exceeded"},
    "max_model_len_exceeds_kv": {"model_too_long"},
    "oom_startup": GPU_OOM - {"gpu_oom_serving"},
    "oom_serving": {"gpu_oom", "gpu_oom_serving"},
    "gpu_node_fault": {"gpu_fault"},
    "host_oom_killed": {"host_oom", "rpc_timeout"},
    "network_nccl_hang": {"collective_timeout", "rpc_timeout"},
    "other": {"model_not_found", "invalid_config"},
    "healthy": set(),
    "kv_preemption_thrash": set(),
    "compute_bound": set(),
}
NOTICES = {"engine_dead", "ready", "fd_limit", "preempted_v0"}


def _rows() -> list[dict[str, object]]:
    if not CASES.exists():
        return []
    rows = [json.loads(line) for line in CASES.read_text().splitlines()]
    return [
        row
        for row in rows
        if row["evidence"].get("logs") and row["evidence_kind"] != "reporter_statement"
    ]


@pytest.mark.skipif(not CASES.exists(), reason="the development cases are not beside this checkout")
def test_no_excerpt_is_blamed_on_another_cause() -> None:
    rows = _rows()
    assert rows
    wrong = {}
    named = 0
    for row in rows:
        label = str(row["label"])
        evidence = row["evidence"]
        assert isinstance(evidence, dict)
        kinds = {
            event.kind
            for event in digest(evidence["logs"].splitlines(), source=str(row["id"])).events
        } - NOTICES
        named += bool(kinds)
        if kinds - FITTING.get(label, set()):
            wrong[str(row["id"])] = (label, kinds)
    assert not wrong
    assert named > len(rows) / 2


def test_a_service_of_the_engines_own_name_is_a_wrong_setting() -> None:
    """Kubernetes gives the pods beside a Service `vllm` a VLLM_PORT, and vLLM takes it for its
    own.
    """
    line = (
        "ERROR 11-21 12:36:34 [core.py:1] ValueError: VLLM_PORT 'tcp://10.96.0.17:8000' "
        "appears to be a URI. This may be caused by"
    )
    found = digest([line], source="log")
    assert [event.kind for event in found.events] == ["invalid_config"]
