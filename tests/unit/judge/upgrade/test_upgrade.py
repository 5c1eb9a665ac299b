"""One verdict from all that a change of version brings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.planned_engines import planned

from barostat.catalog.cards import find_card
from barostat.core.config import ConfigScalar, ConfigValue, EngineConfig
from barostat.core.version import EngineVersion, parse_version
from barostat.judge.upgrade.deployed import Deployed
from barostat.judge.upgrade.upgrade import SimulatedVersion, upgrade

FIGURES = {"requests/s": 10.0, "preemptions": 0.0}


def version(text: str) -> EngineVersion:
    found = parse_version(text)
    assert found is not None
    return found


def deployed(before: str, gpu: str = "H200", **flags: ConfigScalar) -> Deployed:
    config = EngineConfig({name: ConfigValue(value, "flag", name) for name, value in flags.items()})
    return Deployed(version(before), config, "some/model", find_card(gpu))


def levels(found: object) -> list[str]:
    return [reason.level for reason in found.reasons]  # type: ignore[attr-defined]


def test_a_patch_that_changes_nothing_known_is_safe() -> None:
    found = upgrade(deployed("0.32.0"), version("0.32.1"))
    assert (found.verdict, found.reasons) == ("safe", ())


def test_a_refused_argument_is_a_do_not_and_names_the_replacement() -> None:
    found = upgrade(deployed("0.17.0", swap_space=4), version("0.18.0"))
    assert found.verdict == "do-not"
    assert any("--swap-space; use --kv-offloading-size" in one.text for one in found.reasons)


def test_a_changed_default_is_watched_and_one_that_is_set_is_not() -> None:
    moved = upgrade(deployed("0.19.0"), version("0.20.0"))
    kept = upgrade(deployed("0.19.0", gpu_memory_utilization=0.9), version("0.20.0"))
    assert [one.name for one in moved.defaults] == ["--gpu-memory-utilization"]
    assert kept.defaults == ()
    assert moved.verdict == "watch"


def test_rules_that_act_are_watched_without_traffic_and_by_their_effect_with_it() -> None:
    one = deployed("0.22.0", gpu="L4")
    target = version("0.23.0")
    without = upgrade(one, target)
    assert any("no traffic was given" in reason.text for reason in without.reasons)
    still = upgrade(one, target, SimulatedVersion(FIGURES, FIGURES))
    assert not any("traffic" in reason.text for reason in still.reasons)
    moved = upgrade(one, target, SimulatedVersion(FIGURES, {"requests/s": 8.0, "preemptions": 0.0}))
    assert any("more than 5 % different: requests/s" in reason.text for reason in moved.reasons)


@pytest.mark.parametrize(
    "tried",
    [
        SimulatedVersion(FIGURES, FIGURES, ("meets", "misses")),
        SimulatedVersion(FIGURES, FIGURES, refuses="one request does not fit"),
    ],
)
def test_what_loses_the_service_level_or_does_not_start_is_a_do_not(
    tried: SimulatedVersion,
) -> None:
    assert upgrade(deployed("0.32.0"), version("0.32.1"), tried).verdict == "do-not"


def test_a_service_level_that_is_missed_today_is_no_reason_against_the_change() -> None:
    tried = SimulatedVersion(FIGURES, FIGURES, ("misses", "misses"))
    assert upgrade(deployed("0.32.0"), version("0.32.1"), tried).verdict == "safe"


def test_a_pool_that_shrinks_is_watched_and_one_that_no_longer_fits_is_a_do_not() -> None:
    before = planned("Qwen/Qwen3-8B", "H100", version="0.19.0")
    smaller = planned("Qwen/Qwen3-8B", "H100", "--gpu-memory-utilization", "0.5", version="0.19.1")
    one = replace(deployed("0.19.0", gpu="H100"), before=before, after=smaller)
    assert any(
        "of each GPU instead of" in reason.text
        for reason in upgrade(one, version("0.19.1")).reasons
    )
    none = replace(one, after=replace(smaller, fits=False))
    assert upgrade(none, version("0.19.1")).verdict == "do-not"


def test_a_severe_regression_that_hits_is_a_do_not_and_one_that_may_is_watched() -> None:
    hit = replace(
        deployed("0.25.0", gpu="GB10", tensor_parallel_size=4), model_name="deepseek-ai/DeepSeek-V4-Flash"
    )  # fmt: skip
    assert upgrade(hit, version("0.27.0")).verdict == "do-not"
    later = upgrade(hit, version("0.31.0"))
    assert "do-not" not in levels(later)
    assert any("may hit" in reason.text for reason in later.reasons)


def test_unknown_kernels_and_a_version_that_nobody_read_are_watched() -> None:
    texts = [one.text for one in upgrade(deployed("0.32.0"), version("0.40.0")).reasons]
    assert any("after vLLM 0.24.0" in text for text in texts)
    assert any("newer than" in text for text in texts)
