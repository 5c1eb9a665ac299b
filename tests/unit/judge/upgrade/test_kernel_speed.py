"""Ratios of kernels between two versions, part by part and for whole steps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.planned_engines import planned
from tests.unit.judge.upgrade.test_upgrade import deployed, version

from barostat.catalog.kernel_ratios import KERNEL_RATIOS
from barostat.judge.upgrade.deployed import Deployed
from barostat.judge.upgrade.kernel_speed import kernel_speed


def on(gpu: str, model: str, before: str, *flags: str) -> Deployed:
    plan = planned(model, gpu, *flags, version=before)
    return replace(deployed(before, gpu), before=plan, after=plan)


def test_rows_follow_each_other_and_hold_their_own_ratio() -> None:
    for row in KERNEL_RATIOS:
        assert 0 < row.low <= row.ratio <= row.high, row
        assert version(row.before) < version(row.after), row


def test_a_chain_of_tables_multiplies() -> None:
    found = kernel_speed(deployed("0.19.0"), version("0.24.0"))
    (one,) = [c for c in found.changes if (c.part, c.arithmetic) == ("decode-attention", "16-bit")]
    rows = [
        row
        for row in KERNEL_RATIOS
        if (row.card, row.part, row.arithmetic) == ("H200-SXM", "decode-attention", "16-bit")
        and row.before in ("0.19.0", "0.22.0")
    ]
    assert len(rows) == 2
    assert one.ratio == pytest.approx(rows[0].ratio * rows[1].ratio)
    assert (one.before, one.after, found.unknown) == ("0.19.0", "0.24.0", "")


def test_back_is_the_inverse_with_its_ends_turned() -> None:
    there = kernel_speed(deployed("0.19.0"), version("0.24.0")).changes
    back = kernel_speed(deployed("0.24.0"), version("0.19.0")).changes
    for one, other in zip(there, back, strict=True):
        assert one.ratio * other.ratio == pytest.approx(1)
        assert one.low * other.high == pytest.approx(1)
        assert (one.before, one.after) == (other.after, other.before)


def test_only_the_parts_of_the_model_are_told_and_a_whole_step_lies_between_them() -> None:
    found = kernel_speed(on("H100", "Qwen/Qwen3-8B", "0.19.0"), version("0.24.0"))
    assert {(one.part, one.arithmetic) for one in found.changes} == {
        ("weights", "16-bit"), ("decode-attention", "16-bit"), ("prompt-attention", "16-bit"),
    }  # fmt: skip
    ends = [one.ratio for one in found.changes]
    for step in found.steps:
        assert not step.lacks
        assert min(*ends, 1) <= step.ratio <= max(*ends, 1)
        assert step.low <= step.ratio <= step.high


def test_a_step_without_the_ratio_of_a_large_part_says_so() -> None:
    found = kernel_speed(on("H200", "openai/gpt-oss-120b", "0.19.0"), version("0.24.0"))
    assert all("experts" in step.lacks for step in found.steps)


@pytest.mark.parametrize(
    ("gpu", "before", "after", "clause"),
    [
        ("H100", "0.25.0", "0.33.0", "after vLLM 0.24.0, the newest with a table"),
        ("H100", "0.12.0", "0.33.0", "before vLLM 0.14.0 and after vLLM 0.24.0"),
        ("MI300X", "0.19.0", "0.24.0", "no table is on record"),
    ],
)
def test_what_no_table_covers_is_said(gpu: str, before: str, after: str, clause: str) -> None:
    assert clause in kernel_speed(deployed(before, gpu), version(after)).unknown


def test_patches_of_one_minor_change_no_kernels() -> None:
    assert kernel_speed(deployed("0.32.0"), version("0.32.1")) == kernel_speed(
        deployed("0.20.0", "MI300X"), version("0.20.2")
    )
