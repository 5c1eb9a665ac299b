"""Towers: what they weigh and what profiling them takes, against public start-up logs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barostat.catalog.models import find_model
from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.kv.deployment import Deployment
from barostat.kv.memory import activations
from barostat.kv.profiled.fitted import FITTED
from barostat.kv.profiled.towers import tower_profile, tower_weights
from barostat.kv.quantization import weight_format
from barostat.kv.read_architecture import read_architecture
from barostat.kv.weights import weight_bytes


def model(name: str, **vision: Any) -> Any:
    found = find_model(name)
    assert found is not None
    config: dict[str, Any] = dict(found.config)
    if vision:
        config["vision_config"] = {**config["vision_config"], **vision}
    return read_architecture(config, name)


def flags(version: str = "0.22.0", **changes: Any) -> Deployment:
    found = parse_version(version)
    assert found is not None
    return Deployment(
        version=found,
        max_model_len=8192,
        **{"max_num_batched_tokens": 8192, "max_num_seqs": 16, **changes},
    )


@pytest.mark.parametrize(
    ("name", "gib"),
    [("google/gemma-4-26B-A4B", 48.5), ("google/gemma-4-31B-it", 58.9), ("Qwen/Qwen3.6-27B", 51.1)],
)
def test_weights_with_a_tower_are_what_the_log_says(name: str, gib: float) -> None:
    found = model(name)
    form = weight_format(found.config, found.text, None, "bfloat16", name)
    assert weight_bytes(found, form, 1, 1).largest / GIB == pytest.approx(gib, abs=0.06)


def test_each_rank_holds_all_of_a_tower_that_is_not_vllms_own() -> None:
    found = model("google/gemma-4-31B-it")
    form = weight_format(found.config, found.text, None, "bfloat16")
    one, two = (weight_bytes(found, form, tp, 1).by_component["tower"] for tp in (1, 2))
    assert one == two == 2 * tower_weights(found)


@pytest.mark.parametrize(
    ("vision", "budget", "tp", "gib"),
    [
        ({}, 2048, 1, 1.80), ({}, 8192, 1, 1.80), ({"hidden_size": 1024, "intermediate_size": 4096}, 8192, 1, 1.62),
        ({}, 8192, 2, 1.275), ({}, 65536, 1, 7.2),
    ],
)  # fmt: skip
def test_the_largest_image_takes_what_logs_leave_for_it(
    vision: dict[str, int], budget: int, tp: int, gib: float
) -> None:
    """1.8 of the 27B on a GB10 (0.27.1) and of the 9B on an L40S (0.19.0), which has the same
    tower; 1.6 of the 4B's at 2,048 and 8,192 tokens (0.22.0).
    """
    profile = tower_profile(
        model("Qwen/Qwen3.6-27B", **vision), flags(max_num_batched_tokens=budget, tp=tp)
    )
    assert profile is not None
    assert profile.peak_bytes / GIB == pytest.approx(gib, rel=0.05)


def test_the_tower_decides_on_a_small_card_and_not_where_text_alone_is_served() -> None:
    found = model("Qwen/Qwen3.6-27B")
    small = flags(max_num_batched_tokens=2048)
    seen, text = (
        activations(found, flags(max_num_batched_tokens=2048, text_only=only), FITTED)
        for only in (False, True)
    )
    assert "largest image" in seen.source
    assert seen.value > 2 * text.value
    assert activations(found, small, FITTED, first=False).value == text.value


def test_a_tower_that_rotates_in_float32_takes_what_a_log_leaves_for_it() -> None:
    """dots.ocr on an RTX 3090, 0.12.0: 5.72 GiB of weights; 4.4 GiB are neither those nor the
    pool's.
    """
    vision = {
        "embed_dim": 1536,
        "intermediate_size": 4224,
        "num_hidden_layers": 42,
        "patch_size": 14,
        "temporal_patch_size": 1,
    }
    text = {
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
    }
    config = {
        "architectures": ["DotsOCRForCausalLM"],
        "model_type": "dots_ocr",
        "vocab_size": 151936,
        **text,
        "vision_config": vision,
    }
    found = read_architecture(config, "dots.ocr")
    profile = tower_profile(found, flags("0.12.0", max_num_batched_tokens=16384, max_num_seqs=8))
    assert profile is not None
    assert profile.patches == 57_600
    assert profile.peak_bytes / GIB == pytest.approx(4.3, abs=0.2)
    assert weight_bytes(
        found, weight_format(config, config, None, "bfloat16"), 1, 1
    ).largest / GIB == pytest.approx(5.72, rel=0.012)


def test_towers_of_other_kinds_have_no_profile_of_their_own() -> None:
    assert tower_profile(model("google/gemma-4-31B-it"), flags()) is None
    assert tower_profile(model("Qwen/Qwen3-8B"), flags()) is None
    assert tower_profile(model("Qwen/Qwen3.6-27B"), flags("0.10.0", generation="V0")) is None


@pytest.mark.parametrize(("version", "length", "videos", "tokens"), [
    ("0.23.0", 128_000, True, 114_688),
    ("0.8.5", 128_000, True, 98_304),
    ("0.10.2", 32_768, True, 32_768),
    ("0.8.5", 32_768, True, 16_384),
    ("0.23.0", 128_000, False, 16_384),
])  # fmt: skip
def test_the_longest_video_is_profiled_as_the_logs_say_how_long(
    version: str, length: int, videos: bool, tokens: int
) -> None:
    set_up = replace(
        flags(version, max_num_batched_tokens=2048), max_model_len=length, videos=videos
    )
    found = tower_profile(model("Qwen/Qwen2.5-VL-7B-Instruct"), set_up)
    assert found is not None
    assert found.patches == 4 * tokens


def test_a_video_leaves_a_small_budget_nothing() -> None:
    """0.23.0 on an A100 at 0.22 of its memory: 15.67 GiB of weights, and 14.28 GiB less than
    nothing for the cache.
    """
    found = model("Qwen/Qwen2.5-VL-7B-Instruct")
    form = weight_format(found.config, found.text, None, "bfloat16")
    assert weight_bytes(found, form, 1, 1).largest / GIB == pytest.approx(15.67, abs=0.2)
    peak = activations(
        found, replace(flags("0.23.0", max_num_batched_tokens=2048), max_model_len=128_000), FITTED
    )
    assert peak.low < 15.3 * GIB < peak.high


@pytest.mark.parametrize(
    ("audio", "parameters"),
    [
        (None, 300e6),
        ({"model_type": "gemma4_audio", "hidden_size": 1024, "num_hidden_layers": 12}, 302e6),
    ],
)
def test_an_e_model_hears_and_its_tower_counts(
    audio: dict[str, Any] | None, parameters: float
) -> None:
    listed = find_model("google/gemma-4-E4B-it")
    assert listed is not None
    config: Any = listed.config
    deaf = {**config, "text_config": {**config["text_config"], "hidden_size_per_layer_input": 0}}
    both = {**config, **({"audio_config": audio} if audio else {})}
    sizes = [tower_weights(read_architecture(one, listed.name)) for one in (both, deaf)]
    assert sizes[0] - sizes[1] == pytest.approx(parameters, rel=0.02)
