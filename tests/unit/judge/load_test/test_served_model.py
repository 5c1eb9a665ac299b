"""Is the model that is served the one that limits are for."""

from __future__ import annotations

import pytest

from barostat.judge.load_test.served_model import model_check

QWEN = "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    "names",
    [
        (QWEN,),
        ("qwen/qwen3-8b",),
        ("chat", QWEN),
        ("chat", "unsloth/Qwen3-8B"),
        ("chat", "/models/Qwen3-8B"),
        ("chat", "/root/.cache/hub/models--Qwen--Qwen3-8B/snapshots/0123abcd"),
        ("sql-adapter", "/adapters/sql", QWEN),
    ],
)
def test_the_same_model_by_another_name(names: tuple[str, ...]) -> None:
    assert model_check(QWEN, names) is None


@pytest.mark.parametrize(
    ("names", "standing"),
    [
        (("Qwen/Qwen3-8B-FP8", "Qwen/Qwen3-8B-FP8"), "fail"),
        (("chat", "meta-llama/Llama-3.1-8B-Instruct"), "fail"),
        (("chat", "/mnt/models"), "note"),
        (("chat", "s3://bucket/prod"), "note"),
        (("chat",), "note"),
        ((), "note"),
    ],
)
def test_another_model_or_one_that_cannot_be_told(names: tuple[str, ...], standing: str) -> None:
    check = model_check(QWEN, names)
    assert check is not None
    assert check.standing == standing
    assert QWEN in check.told


def test_limits_without_a_model_are_for_any() -> None:
    assert model_check(None, ("chat",)) is None
