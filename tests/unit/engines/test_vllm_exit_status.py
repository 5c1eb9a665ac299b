"""An exit status says little, and nothing more is made of it."""

from __future__ import annotations

import pytest

from barostat.engines.vllm.exit_status import exit_status


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (0, "clean"),
        (1, "failed"),
        (2, "refused"),
        (-9, "killed"),
        (137, "killed"),
        (-15, "told-to-stop"),
        (143, "told-to-stop"),
        (130, "told-to-stop"),
        (-7, "shared-memory"),
        (135, "shared-memory"),
        (139, "crashed"),
        (-11, "crashed"),
        (134, "crashed"),
        (255, "crashed"),
        (3, "failed"),
    ],
)
def test_the_kind_of_a_status(code: int, kind: str) -> None:
    assert exit_status(code).kind == kind


def test_a_kill_is_only_a_candidate_for_host_memory() -> None:
    assert exit_status(137).host_oom_candidate
    assert "does not tell which" in exit_status(-9).meaning
    assert not any(exit_status(code).host_oom_candidate for code in (0, 1, 2, -15, 139, -7))
