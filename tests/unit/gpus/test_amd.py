"""amd-smi and rocm-smi JSON in their version variants."""

from __future__ import annotations

import json

from barostat.gpus import read
from barostat.gpus.card import MIB

METRIC = [
    {
        "gpu": 0,
        "usage": {
            "gfx_activity": {"value": 87, "unit": "%"},
            "umc_activity": {"value": 40, "unit": "%"},
            "vcn_activity": ["N/A", "N/A"],
        },
        "power": {"socket_power": {"value": 700, "unit": "W"}, "throttle_status": "N/A"},
        "temperature": {
            "edge": "N/A",
            "hotspot": {"value": 72, "unit": "C"},
            "mem": {"value": 60, "unit": "C"},
        },
        "ecc": {
            "total_correctable_count": 4,
            "total_uncorrectable_count": 1,
            "total_deferred_count": 0,
        },
        "mem_usage": {
            "total_vram": {"value": 196592, "unit": "MB"},
            "used_vram": {"value": 180000, "unit": "MB"},
        },
        "throttle": {
            "accumulation_counter": 123,
            "ppt_violation_status": "ACTIVE",
            "hbm_thermal_violation_status": "NOT ACTIVE",
            "socket_thermal_violation_status": {"xcp_0": ["ACTIVE", "N/A"]},
        },
    }
]
PROCESS = [
    {
        "gpu": 0,
        "process_list": [
            {
                "process_info": {
                    "name": "VLLM::EngineCore",
                    "pid": 4711,
                    "memory_usage": {
                        "gtt_mem": {"value": 0, "unit": "B"},
                        "cpu_mem": {"value": 0, "unit": "B"},
                        "vram_mem": {"value": 188743680000, "unit": "B"},
                    },
                    "mem_usage": {"value": 188743680001, "unit": "B"},
                }
            },
            {"process_info": "No running processes detected"},
        ],
    }
]


def test_metric_and_process_merge_card_by_card() -> None:
    output = read("amd-smi.json", json.dumps(METRIC) + "\n" + json.dumps(PROCESS, indent=2))
    assert output.problems == ()
    (card,) = output.cards
    assert (card.vendor, card.utilization_ratio, card.temperature_c) == ("amd", 0.87, 72)
    assert (card.memory_used_bytes, card.memory_total_bytes) == (180000 * MIB, 196592 * MIB)
    assert (card.ecc_uncorrected, card.ecc_corrected) == (1, 4)
    assert card.throttle == ("ppt", "socket_thermal")
    assert card.processes is not None
    assert [(process.pid, process.memory_bytes) for process in card.processes] == [
        (4711, 188743680000)
    ]


def test_the_wrapper_of_rocm_7_and_static_facts() -> None:
    static = {
        "gpu_data": [
            {
                "gpu": 0,
                "asic": {"market_name": "AMD Instinct MI300X"},
                "limit": {"max_power": {"value": 750, "unit": "W"}},
            }
        ]
    }
    (card,) = read(
        "amd-smi.json", json.dumps({"metric": {"gpu_data": METRIC}, "static": static})
    ).cards
    assert card.name == "AMD Instinct MI300X"
    assert card.power_ratio == 700 / 750


def test_plain_values_and_the_older_throttle_status() -> None:
    text = json.dumps(
        [
            {
                "gpu": 2,
                "power": {"throttle_status": "THROTTLED"},
                "mem_usage": {"total_vram": "65520 MB", "used_vram": 1000},
                "usage": {"gfx_activity": "5 %"},
            }
        ]
    )
    (card,) = read("amd-smi.json", text).cards
    assert (card.index, card.utilization_ratio, card.memory_used_bytes) == (2, 0.05, 1000 * MIB)
    assert card.throttle == ("throttled_without_reason",)


def test_monitor_json() -> None:
    text = json.dumps(
        [
            {
                "gpu": 1,
                "hotspot_temperature": {"value": 55, "unit": "C"},
                "gfx": {"value": 12, "unit": "%"},
                "vram_used": {"value": 283, "unit": "MB"},
                "vram_total": {"value": 196300, "unit": "MB"},
            }
        ]
    )
    (card,) = read("amd-smi.json", text).cards
    assert (card.utilization_ratio, card.temperature_c, card.memory_used_bytes) == (
        0.12,
        55,
        283 * MIB,
    )


def test_a_card_that_answers_nothing_is_lost() -> None:
    text = json.dumps(
        [
            {
                "gpu": 0,
                "usage": "N/A",
                "temperature": {"hotspot": "N/A"},
                "mem_usage": {"used_vram": "N/A"},
            }
        ]
    )
    assert read("amd-smi.json", text).cards[0].lost


def test_cut_json_keeps_the_whole_cards_and_says_so() -> None:
    text = json.dumps([METRIC[0], {**METRIC[0], "gpu": 1}], indent=1)
    output = read("amd-smi.json", text[: text.rindex("hbm_thermal")])
    assert [card.index for card in output.cards] == [0]
    assert "cut or broken" in output.problems[0]


ROCM = {
    "card0": {
        "Temperature (Sensor edge) (C)": "45.0",
        "Temperature (Sensor junction) (C)": "51.0",
        "Average Graphics Package Power (W)": "300.0",
        "Max Graphics Package Power (W)": "560.0",
        "GPU use (%)": "98",
        "VRAM Total Memory (B)": "68702699520",
        "VRAM Total Used Memory (B)": "66000000000",
        "Card Series": "AMD Instinct MI250X",
        "RAS": {
            "UMC": {"Correctable Error": "2", "Uncorrectable Error": "0"},
            "GFX": {"Correctable Error": "1", "Uncorrectable Error": "1"},
        },
    },
    "system": {"PID4711": "python3, 1, 65900000000, 0, 0", "Driver version": "6.3.6"},
}


def test_rocm_smi() -> None:
    output = read(
        "rocm-smi.json",
        "WARNING: AMD GPU device(s) is/are in a low-power state.\n" + json.dumps(ROCM),
    )
    assert output.problems == ()
    (card,) = output.cards
    assert (card.name, card.temperature_c, card.utilization_ratio) == (
        "AMD Instinct MI250X",
        51,
        0.98,
    )
    assert (card.memory_used_bytes, card.memory_total_bytes) == (66000000000, 68702699520)
    assert (card.ecc_corrected, card.ecc_uncorrected) == (3, 1)
    assert card.processes is not None
    assert (card.processes[0].pid, card.processes[0].name, card.processes[0].memory_bytes) == (
        4711,
        "python3",
        65900000000,
    )


def test_rocm_smi_cannot_place_a_process_on_one_of_two_cards() -> None:
    output = read("rocm-smi.json", json.dumps({**ROCM, "card1": ROCM["card0"]}))
    assert [card.processes for card in output.cards] == [None, None]
    assert "which of several cards" in output.problems[0]


def test_not_json_is_a_problem() -> None:
    assert "not JSON" in read("amd-smi.json", "command not found").problems[0]
    assert "no card" in read("rocm-smi.json", "[]").problems[0]
