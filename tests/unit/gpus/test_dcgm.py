"""DCGM exporter text: fields, blanks, and only the cards of the pod asked for."""

from __future__ import annotations

import pytest

from barostat.gpus import read
from barostat.gpus.card import MIB

TEXT = """\
# HELP DCGM_FI_DEV_FB_USED Framebuffer memory used (in MiB).
# TYPE DCGM_FI_DEV_FB_USED gauge
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",modelName="NVIDIA H100 80GB HBM3",Hostname="n1",namespace="inference",pod="vllm-0"} 73000
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-a",Hostname="n1",container="vllm",namespace="inference",pod="vllm-0"} 8000
DCGM_FI_DEV_FB_RESERVED{gpu="0",UUID="GPU-a",Hostname="n1",pod="vllm-0"} 559
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",Hostname="n1",pod="vllm-0"} 100
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-a",Hostname="n1",pod="vllm-0"} 0.41
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a",Hostname="n1",pod="vllm-0"} 61
DCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-a",Hostname="n1",pod="vllm-0",err_code="79",err_msg="GPU has fallen off the bus"} 79
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="0",UUID="GPU-a",Hostname="n1",pod="vllm-0"} 32
DCGM_FI_DEV_ROW_REMAP_PENDING{gpu="0",UUID="GPU-a",Hostname="n1",pod="vllm-0"} 1
DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{gpu="0",UUID="GPU-a",Hostname="n1",pod="vllm-0"} 9223372036854775792
DCGM_FI_DEV_FB_USED{gpu="1",UUID="GPU-b",Hostname="n1",pod="other-0"} 10 1700000000000
DCGM_FI_DEV_FB_FREE{gpu="1",UUID="GPU-b",Hostname="n1",pod="other-0"} 90
"""


def test_the_cards_of_one_pod() -> None:
    output = read("dcgm.prom", TEXT, pod="vllm-0")
    assert output.problems == ()
    (card,) = output.cards
    assert (card.index, card.uuid, card.name) == (0, "GPU-a", "NVIDIA H100 80GB HBM3")
    assert card.memory_used_bytes == 73000 * MIB
    assert card.memory_total_bytes == 81559 * MIB
    assert card.utilization_ratio == 0.41
    assert (card.xid, card.temperature_c, card.rows_pending) == (79, 61, 1)
    assert card.throttle == ("sw_thermal_slowdown",)
    assert card.ecc_uncorrected is None  # DCGM's blank


def test_a_pod_of_that_name_in_another_namespace_is_another() -> None:
    other = TEXT.replace("inference", "staging").replace("GPU-a", "GPU-c")
    seen = [
        [card.uuid for card in read("dcgm.prom", TEXT + other, pod=f"{space}/vllm-0").cards]
        for space in ("inference", "staging")
    ]
    assert seen == [["GPU-a"], ["GPU-c"]]
    assert read("dcgm.prom", TEXT, pod="staging/vllm-0").cards == ()


def test_every_card_where_no_pod_is_asked_for() -> None:
    assert [card.index for card in read("dcgm.prom", TEXT).cards] == [0, 1]


def test_cards_of_other_pods_are_not_ours() -> None:
    output = read("dcgm.prom", TEXT, pod="vllm-9")
    assert output.cards == ()
    assert "vllm-9" in output.problems[0]


def test_labels_that_tell_nothing_leave_every_card() -> None:
    text = 'DCGM_FI_DEV_GPU_UTIL{gpu="4",UUID="GPU-x",container="",namespace="",pod=""} 40\n'
    (card,) = read("dcgm.prom", text, pod="vllm-0").cards
    assert (card.index, card.utilization_ratio) == (4, 0.4)


def test_prometheus_renames_the_pod_label() -> None:
    text = (
        'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="a",exported_pod="vllm-0",pod="dcgm-exporter-x"} 40\n'
        'DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="b",exported_pod="other",pod="dcgm-exporter-x"} 50\n'
    )
    assert [card.uuid for card in read("dcgm.prom", text, pod="vllm-0").cards] == ["a"]


def test_counted_xids_name_their_code() -> None:
    assert (
        read(
            "dcgm.prom",
            'DCGM_EXP_XID_ERRORS_COUNT{gpu="0",UUID="a",xid="48",window_size_in_ms="300000"} 2\n',
        )
        .cards[0]
        .xid
        == 48
    )


def test_broken_lines_are_counted() -> None:
    output = read("dcgm.prom", "DCGM_FI_DEV_GPU_UTIL{gpu=\n")
    assert output.cards == ()
    assert output.problems == (
        "1 lines of the DCGM exporter cannot be read",
        "no DCGM metric in this text",
    )


@pytest.mark.parametrize(
    ("lines", "worst"),
    [
        ((("EXP_XID_ERRORS_COUNT", 45, 1), ("EXP_XID_ERRORS_COUNT", 79, 1)), 79),
        ((("EXP_XID_ERRORS_COUNT", 79, 1), ("EXP_XID_ERRORS_COUNT", 154, 1)), 79),
        ((("FI_DEV_XID_ERRORS", 0, 0), ("EXP_XID_ERRORS_COUNT", 79, 1)), 79),
        ((("EXP_XID_ERRORS_COUNT", 79, 1), ("FI_DEV_XID_ERRORS", 0, 0)), 79),
        ((("EXP_XID_ERRORS_COUNT", 79, 0), ("FI_DEV_XID_ERRORS", 0, 45)), 45),
        ((("FI_DEV_XID_ERRORS", 0, 2_147_483_632), ("EXP_XID_ERRORS_COUNT", 13, 2)), 13),
    ],
)
def test_the_worst_xid_of_a_card_is_kept(
    lines: tuple[tuple[str, int, int], ...], worst: int
) -> None:
    text = "".join(
        f'DCGM_{name}{{gpu="0",UUID="GPU-a",xid="{code}"}} {value}\n' for name, code, value in lines
    )
    (card,) = read("dcgm.prom", text).cards
    assert card.xid == worst


def test_a_row_that_could_not_be_remapped_is_no_row_that_waits() -> None:
    text = (
        'DCGM_FI_DEV_ROW_REMAP_PENDING{gpu="0",UUID="a"} '
        '0\nDCGM_FI_DEV_ROW_REMAP_FAILURE{gpu="0",UUID="a"} 1\n'
    )
    (card,) = read("dcgm.prom", text).cards
    assert (card.rows_pending, card.rows_failed) == (0, 1)
