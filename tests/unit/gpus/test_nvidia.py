"""nvidia-smi's query CSV: the runbook's exact command, and every other shape of it."""

from __future__ import annotations

import pytest

from barostat.gpus import read
from barostat.gpus.card import MIB

RUNBOOK = """\
NVIDIA H100 80GB HBM3, 74211 MiB, 81559 MiB, 0x0000000000000004, 58, 0
NVIDIA H100 80GB HBM3, 74213 MiB, 81559 MiB, 0x0000000000000040, 91, 2
"""


def test_the_runbooks_command_reads_without_a_header() -> None:
    output = read("nvidia-smi.csv", RUNBOOK)
    assert output.problems == ()
    first, second = output.cards
    assert first.name == "NVIDIA H100 80GB HBM3"
    assert first.memory_used_bytes == 74211 * MIB
    assert first.memory_total_bytes == 81559 * MIB
    assert first.throttle == ("sw_power_cap",)
    assert first.temperature_c == 58
    assert first.ecc_uncorrected == 0
    assert (second.index, second.throttle, second.temperature_c, second.ecc_uncorrected) == (
        1,
        ("hw_thermal_slowdown",),
        91,
        2,
    )


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("Tesla T4, 14000, 15360, 0x0000000000000000, 40, 0", (14000, 15360, (), 40.0, 0.0, None)),
        (
            "Tesla T4, 14000 MiB, 15360 MiB, 0x0000000000000001, 40, [N/A]",
            (14000, 15360, ("gpu_idle",), 40.0, None, None),
        ),
        (
            "Tesla T4, 14000 MiB, 15360 MiB, 0x0000000000000004, 40, 0, 97 %",
            (14000, 15360, ("sw_power_cap",), 40.0, 0.0, 0.97),
        ),
        (
            "0, Tesla T4, 14000 MiB, 15360 MiB, [Not Supported], 40, 0",
            (14000, 15360, None, 40.0, 0.0, None),
        ),
    ],
)
def test_headerless_rows(
    line: str, wanted: tuple[float, float, object, float, object, object]
) -> None:
    output = read("nvidia-smi.csv", line)
    assert output.problems == ()
    (card,) = output.cards
    assert card.memory_used_bytes == wanted[0] * MIB
    assert card.memory_total_bytes == wanted[1] * MIB
    assert (
        card.throttle,
        card.temperature_c,
        card.ecc_uncorrected,
        card.utilization_ratio,
    ) == wanted[2:]
    assert not card.lost


@pytest.mark.parametrize(
    "cells",
    [
        "27497, 81559, 98, 598.34, 700.00, 59, 0, 0",
        "27497 MiB, 81559 MiB, 98 %, 598.34 W, 700.00 W, 59, 0, 0",
    ],
)
def test_our_own_query_reads_without_a_header(cells: str) -> None:
    output = read(
        "nvidia-smi.csv",
        f"0, NVIDIA H100 80GB HBM3, GPU-19c862e4-9d7d-a0c6-945e-a3408d530df3, {cells}",
    )
    assert output.problems == ()
    (card,) = output.cards
    assert (card.memory_used_bytes, card.memory_total_bytes) == (27497 * MIB, 81559 * MIB)
    assert (card.utilization_ratio, card.temperature_c, card.ecc_uncorrected) == (0.98, 59.0, 0.0)


def test_a_header_tells_the_columns_in_any_order() -> None:
    text = (
        "utilization.gpu [%], memory.total [MiB], name, index, "
        "clocks_throttle_reasons.active, memory.used [MiB], power.draw [W], "
        "power.limit [W], remapped_rows.pending, ecc.errors.corrected.volatile.total\n"
        "97 %, 81559 MiB, NVIDIA H100 PCIe, 3, 0x0000000000000088, 80000 MiB, 350.00 W, "
        "350.00 W, Yes, 12\n"
    )
    (card,) = read("nvidia-smi.csv", text).cards
    assert (
        card.index,
        card.utilization_ratio,
        card.power_ratio,
        card.rows_pending,
        card.ecc_corrected,
    ) == (3, 0.97, 1.0, 1.0, 12.0)
    assert card.throttle == ("hw_slowdown", "hw_power_brake_slowdown")


def test_single_throttle_columns() -> None:
    text = (
        "index, clocks_event_reasons.hw_thermal_slowdown, "
        "clocks_event_reasons.sw_power_cap\n0, Active, Not Active\n"
    )
    assert read("nvidia-smi.csv", text).cards[0].throttle == ("hw_thermal_slowdown",)


def test_processes_of_a_second_query_go_to_their_cards() -> None:
    text = (
        "index, uuid, memory.used [MiB], memory.total [MiB]\n0, GPU-aa, 100 MiB, 1000 "
        "MiB\n1, GPU-bb, 900 MiB, 1000 MiB\n"
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-bb, 4711, "
        "VLLM::EngineCore, 880 MiB\n"
    )
    first, second = read("nvidia-smi.csv", text).cards
    assert first.processes == ()
    assert second.processes is not None
    assert (second.processes[0].pid, second.processes[0].memory_bytes) == (4711, 880 * MIB)


@pytest.mark.parametrize(
    "text",
    [
        (
            "name, memory.used [MiB], memory.total [MiB], temperature.gpu\n[GPU is lost], [GPU "
            "is lost], [GPU is lost], [GPU is lost]\n"
        ),
        (
            "NVIDIA A100-SXM4-80GB, [Unknown Error], [Unknown Error], [Unknown Error], "
            "[Unknown Error], [Unknown Error]\n"
        ),
        (
            "Unable to determine the device handle for GPU0000:41:00.0: GPU is lost.  Reboot "
            "the system to recover this GPU\n"
        ),
        "name, memory.used [MiB], temperature.gpu\nNVIDIA A100, [N/A], [N/A]\n",
    ],
)
def test_a_lost_card_is_lost(text: str) -> None:
    (card,) = read("nvidia-smi.csv", text).cards
    assert card.lost
    assert card.note


def test_a_unified_memory_card_that_tells_no_memory_is_not_lost() -> None:
    (card,) = read(
        "nvidia-smi.csv", "NVIDIA GB10, [N/A], [N/A], 0x0000000000000001, 44, [N/A]\n"
    ).cards
    assert not card.lost


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
            "nvidia-smi failed",
        ),
        ("No devices were found\n", "No devices"),
        ("1, 2, 3\n", "without its header"),
        ("index, name\n0\n", "1 cells, its header has 2"),
    ],
)
def test_what_cannot_be_read_is_a_problem(text: str, fragment: str) -> None:
    output = read("nvidia-smi.csv", text)
    assert output.cards == ()
    assert fragment in output.problems[0]


def test_an_unknown_kind_is_a_problem() -> None:
    assert "no reader" in read("tpu.txt", "").problems[0]


def test_a_card_whose_system_processor_hangs_is_lost_and_a_mig_card_is_not() -> None:
    header = (
        "memory.used [MiB], memory.total [MiB], temperature.gpu, utilization.gpu [%], "
        "power.draw [W]\n"
    )
    hung, mig = read(
        "nvidia-smi.csv",
        header
        + "30000 MiB, 32607 MiB, 57, [N/A], [N/A]\n30000 MiB, 81920 MiB, 57, [N/A], 210.00 W\n",
    ).cards
    assert (hung.lost, mig.lost) == (True, False)
    assert "GSP" in hung.note


def test_what_kubectl_says_of_containers_is_passed_over() -> None:
    output = read(
        "nvidia-smi.csv", 'Defaulted container "server" out of: server, istio-proxy\n' + RUNBOOK
    )
    assert (len(output.cards), output.problems) == (2, ())
