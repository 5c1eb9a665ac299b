"""CPU and memory of a container and of its processes, by role."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.core.signal import Signal
from barostat.platform import host


def facts(*values: dict[str, Any]) -> dict[str, Signal]:
    readings = [(float(place), value, f"host/a/{place}.json") for place, value in enumerate(values)]
    return {signal.name: signal for signal in host.signals(readings)}


def process(name: str, cpu_cores: Any = 0.5, **more: Any) -> dict[str, Any]:
    return {"name": name, "cpu_cores": cpu_cores, **more}


def test_the_containers_own_numbers_are_series() -> None:
    found = facts(
        {
            "cpu_usage_cores": 1.0,
            "cpu_limit_cores": 4,
            "cpu_throttled_ratio": 0.5,
            "memory_bytes": 10,
            "memory_limit_bytes": 20,
        },
        {"cpu_usage_cores": 3.5},
    )
    assert found["cpu_usage_cores"].values == (1.0, 3.5)
    assert (found["cpu_limit_cores"].last, found["cpu_throttled_ratio"].last) == (4, 0.5)
    assert (found["host_memory_bytes"].last, found["host_memory_limit_bytes"].last) == (10, 20)
    assert found["cpu_usage_cores"].source == "host/a/1.json"


@pytest.mark.parametrize(
    ("core", "worker", "server"),
    [
        ("VLLM::EngineCore", "VLLM::Worker_TP0", "VLLM::APIServer_0"),
        ("VLLM::EngineCore_DP0", "VLLM::Worker_TP1", "vllm serve Qwen/Qwen3-8B --port 8000"),
        ("VLLM::EngineCor", "VLLM::Worker_TP", "VLLM::APIServer"),
        (
            "VLLM::EngineCore",
            "VllmWorkerProcess",
            "python3 -m vllm.entrypoints.openai.api_server --model m",
        ),
        ("VLLM::EngineCore", "VLLM::Worker", "vllm"),
    ],
)
def test_roles_by_the_names_of_the_field(core: str, worker: str, server: str) -> None:
    found = facts(
        {
            "processes": [
                process(server, 0.98),
                process(core, 0.1, state="S"),
                process(worker, 1.0),
                process("nginx", 7.0),
            ]
        }
    )
    assert (
        found["api_server_cpu_cores"].last,
        found["engine_core_cpu_cores"].last,
        found["worker_cpu_cores"].last,
    ) == (0.98, 0.1, 1.0)
    assert found["engine_core_stopped"].last == 0


def test_the_busiest_of_several_api_servers_counts() -> None:
    found = facts(
        {
            "processes": [
                process("VLLM::APIServer_0", 0.2),
                process("VLLM::APIServer_1", 0.9),
                process("VLLM::EngineCore"),
            ]
        }
    )
    assert (found["api_server_cpu_cores"].last, found["api_server_cpu_cores"].detail) == (
        0.9,
        "VLLM::APIServer_1",
    )


def test_a_given_role_is_believed() -> None:
    found = facts(
        {
            "processes": [
                process("python3", 0.3, role="engine-core"),
                process("python3", 0.9, role="api-server"),
            ]
        }
    )
    assert (found["engine_core_cpu_cores"].last, found["api_server_cpu_cores"].last) == (0.3, 0.9)


def test_a_stopped_core_is_told() -> None:
    found = facts({"processes": [process("VLLM::EngineCore", 0.0, state="T (stopped)")]})[
        "engine_core_stopped"
    ]
    assert (found.last, found.detail) == (1, "stopped: VLLM::EngineCore")


def test_without_a_core_of_its_own_nobody_is_the_api_server() -> None:
    reading = {"processes": [process("vllm serve m"), process("python3")]}
    assert facts(reading) == {}
    assert "unknown" in host.problems([(1.0, reading, "x")])[0]


def test_bad_values_are_problems() -> None:
    reading = {
        "cpu_usage_cores": "a lot",
        "cpu_throttled_ratio": 40,
        "memory_limit_bytes": 2**63 - 1,
        "processes": [7, process("VLLM::EngineCore", "?")],
    }
    assert facts(reading) == {}
    assert [said.split(" is ")[0] for said in host.problems([(1.0, reading, "x")])] == [
        "x: cpu_usage_cores",
        "x: cpu_throttled_ratio",
    ]
    assert host.problems([(1.0, {"processes": 3}, "x")]) == ["x: processes is not a list"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["VLLM::EngineCore", "T"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["cpu_usage_cores", "processes", "name", "cpu_cores", "state", "role"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1e9),
            st.dictionaries(
                st.sampled_from(["processes", "memory_bytes", "cpu_limit_cores"]), JSON
            ),
        )
    )
)
def test_no_reading_makes_it_raise(readings: list[tuple[float, dict[str, Any]]]) -> None:
    given_readings = [(at, values, "x") for at, values in readings]
    assert all(signal.points for signal in host.signals(given_readings))
    assert all(isinstance(said, str) for said in host.problems(given_readings))
