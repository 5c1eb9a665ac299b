"""Cards over time, as signals; foreign memory; and that no text makes a reader raise."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from barostat.core.signal import Signal
from barostat.gpus import KINDS, card_signals, read
from barostat.gpus.card import MIB, Card, CardProcess


def by_name(
    *readings: tuple[float, tuple[Card, ...], str], own_pids: frozenset[int] | None = None
) -> dict[str, Signal]:
    return {signal.name: signal for signal in card_signals.signals(readings, own_pids)}


def test_a_power_cap_or_an_idle_card_is_no_fault() -> None:
    text = (
        "NVIDIA L4, 20000 MiB, 23034 MiB, 0x0000000000000004, 70, 0\nNVIDIA L4, 20000 MiB, "
        "23034 MiB, 0x0000000000000001, 70, 0\n"
    )
    found = by_name((10.0, read("nvidia-smi.csv", text).cards, "gpu/a/10.nvidia-smi.csv"))
    assert found["gpu_throttle_fault"].last == 0
    assert found["gpu_throttle_power_cap"].last == 1


def test_heat_is_a_fault_and_names_its_card() -> None:
    card = Card(3, "nvidia", throttle=("sw_power_cap", "hw_thermal_slowdown"))
    found = by_name((10.0, (card,), "x"))
    assert found["gpu_throttle_fault"].last == 1
    assert found["gpu_throttle_fault"].detail == "card 3: hw_thermal_slowdown"


def test_series_are_in_time_order_and_take_the_worst_card() -> None:
    early = (
        Card(0, "nvidia", utilization_ratio=0.2, memory_used_bytes=50, memory_total_bytes=100),
    )
    late = (
        Card(0, "nvidia", utilization_ratio=0.5, memory_used_bytes=50, memory_total_bytes=100),
        Card(1, "nvidia", utilization_ratio=1.0, memory_used_bytes=90, memory_total_bytes=100),
    )
    found = by_name((20.0, late, "late"), (10.0, early, "early"))
    assert found["gpu_utilization_ratio"].points == ((10.0, 0.2), (20.0, 0.75))
    assert found["gpu_memory_used_ratio"].last == 0.9
    assert found["gpu_memory_free_bytes"].last == 10
    assert found["gpu_count"].values == (1, 2)
    assert found["gpu_memory_used_ratio"].source == "late"


def test_the_xid_of_hardware_comes_before_that_of_a_program() -> None:
    assert (
        by_name((1.0, (Card(0, "nvidia", xid=109), Card(1, "nvidia", xid=79)), "x"))["gpu_xid"].last
        == 79
    )
    assert by_name((1.0, (Card(0, "nvidia", xid=0),), "x"))["gpu_xid"].last == 0


def test_a_lost_card_is_counted_with_what_it_said() -> None:
    found = by_name(
        (1.0, (Card(0, "nvidia", lost=True, note="answers ERR!"), Card(1, "nvidia")), "x")
    )
    assert found["gpu_lost"].last == 1
    assert "ERR!" in found["gpu_lost"].detail


def card_with(*processes: CardProcess, used: float = 70000 * MIB) -> Card:
    return Card(
        0, "nvidia", memory_used_bytes=used, memory_total_bytes=81559 * MIB, processes=processes
    )


OURS = CardProcess(10, "VLLM::EngineCore", 40000 * MIB)


def test_foreign_memory_by_process_id() -> None:
    other = CardProcess(11, "python", 30000 * MIB)
    found = by_name((1.0, (card_with(OURS, other),), "x"), own_pids=frozenset({10}))[
        "gpu_foreign_memory_bytes"
    ]
    assert found.last == 30000 * MIB
    assert found.detail == "card 0: python (pid 11) 30000 MiB"


def test_foreign_memory_by_name_says_so() -> None:
    found = by_name((1.0, (card_with(OURS, CardProcess(11, "Xorg", 500 * MIB)),), "x"))[
        "gpu_foreign_memory_bytes"
    ]
    assert found.last == 500 * MIB
    assert "by process name" in found.detail


def test_process_ids_of_another_namespace_fall_back_to_names() -> None:
    found = by_name((1.0, (card_with(OURS),), "x"), own_pids=frozenset({1, 7}))[
        "gpu_foreign_memory_bytes"
    ]
    assert found.last == 0


def test_an_engine_that_holds_nothing_owns_nothing() -> None:
    found = by_name(
        (1.0, (card_with(CardProcess(5, "train", 70000 * MIB)),), "x"), own_pids=frozenset({1})
    )
    assert found["gpu_foreign_memory_bytes"].last == 70000 * MIB


def test_a_second_engine_on_the_card_is_foreign_and_a_bare_context_is_not() -> None:
    context, second = (
        CardProcess(11, "python3", 500 * MIB),
        CardProcess(12, "VLLM::EngineCore", 20000 * MIB),
    )
    assert by_name((1.0, (card_with(OURS, context),), "x"))["gpu_foreign_memory_bytes"].last == 0
    assert (
        by_name((1.0, (card_with(OURS, second),), "x"))["gpu_foreign_memory_bytes"].last
        == 20000 * MIB
    )


def test_a_container_that_sees_no_process_tells_nothing() -> None:
    assert "gpu_foreign_memory_bytes" not in by_name((1.0, (card_with(),), "x"))
    assert by_name((1.0, (card_with(used=5 * MIB),), "x"))["gpu_foreign_memory_bytes"].last == 0
    assert "gpu_foreign_memory_bytes" not in by_name(
        (1.0, (card_with(CardProcess(1, "vllm", None)),), "x")
    )
    assert by_name((1.0, (), "x")) == {}


CELLS = st.sampled_from(
    [
        "0",
        "97 %",
        "[N/A]",
        "ERR!",
        "0x04",
        "1 MiB",
        "GPU-a",
        "index",
        "memory.used [MiB]",
        "[GPU is lost]",
        "|",
        "C",
        "N/A",
        "9" * 400,
        "-1",
        "1e308 GB",
    ]
)
ROWS = st.lists(st.lists(CELLS, max_size=8), max_size=6)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["N/A", "ACTIVE", "5 %", "card0", "1, 2, 3"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "gpu",
                    "card0",
                    "system",
                    "PID12",
                    "usage",
                    "throttle",
                    "ecc",
                    "process_list",
                    "process_info",
                    "value",
                    "unit",
                    "mem_usage",
                    "power",
                ]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    st.sampled_from(KINDS),
    st.text(max_size=300) | ROWS.map(lambda rows: "\n".join(", ".join(row) for row in rows)),
)
def test_no_text_makes_a_reader_raise(kind: str, text: str) -> None:
    output = read(kind, text, pod="p")
    assert card_signals.signals([(1.0, output.cards, kind)], None) is not None
    assert output.cards or output.problems or not text.strip() or kind == "nvidia-smi.csv"


@given(st.sampled_from(["amd-smi.json", "rocm-smi.json"]), JSON)
def test_no_json_makes_a_reader_raise(kind: str, document: object) -> None:
    output = read(kind, json.dumps(document))
    assert all(
        signal.points
        for signal in card_signals.signals([(1.0, output.cards, kind)], frozenset({1}))
    )
