"""Weights and the parts of memory against what public start-up logs say."""

from __future__ import annotations

from typing import Any

import pytest

from barostat.catalog.cards import CARDS, find_card
from barostat.catalog.models import close_names, find_model, model_names
from barostat.core.units import GIB
from barostat.core.version import parse_version
from barostat.kv.deployment import Deployment
from barostat.kv.estimate import exact
from barostat.kv.memory import above_budget, activations, available_bytes, footprint, graphs
from barostat.kv.model_runner import takes_v2
from barostat.kv.pool import lay_out
from barostat.kv.profiled.fitted import FITTED
from barostat.kv.quantization import weight_format
from barostat.kv.read_architecture import read_architecture
from barostat.kv.weights import module_bytes, rotary_bytes, weight_bytes


def model(name: str) -> Any:
    found = find_model(name)
    assert found is not None
    return read_architecture(found.config, name)


def flags(version: str, **changes: Any) -> Deployment:
    found = parse_version(version)
    assert found is not None
    return Deployment(
        version=found,
        max_model_len=8192,
        **{"max_num_batched_tokens": 8192, "max_num_seqs": 1024, **changes},
    )


@pytest.mark.parametrize(
    ("name", "tp", "pp", "gib"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", 1, 1, 14.99), ("meta-llama/Llama-3.1-8B-Instruct", 1, 4, 4.26),
        ("Qwen/Qwen3-14B", 1, 1, 27.52),
        ("google/gemma-2-27b", 1, 1, 50.72), ("google/gemma-2-9b", 1, 1, 17.22), ("microsoft/phi-4", 1, 1, 27.39),
        ("Qwen/Qwen2.5-72B-Instruct", 2, 1, 67.80), ("deepseek-ai/DeepSeek-V2-Lite", 1, 1, 29.43), ("openai/gpt-oss-120b", 4, 1, 17.22),
    ],
)  # fmt: skip
def test_weights_are_what_the_log_says(name: str, tp: int, pp: int, gib: float) -> None:
    found = model(name)
    form = weight_format(found.config, found.text, None, "bfloat16", name)
    assert weight_bytes(found, form, tp, pp).largest / GIB == pytest.approx(gib, rel=0.012)


@pytest.mark.parametrize(
    ("name", "tp", "dp"),
    [("deepseek-ai/DeepSeek-V3", 1, 8), ("deepseek-ai/DeepSeek-V3", 2, 4), ("Qwen/Qwen3-8B", 1, 8)],
)
def test_only_experts_are_spread_over_data_parallel_ranks(name: str, tp: int, dp: int) -> None:
    found = model(name)
    form = weight_format(found.config, found.text, None, "bfloat16", name)
    alone, spread = (weight_bytes(found, form, tp, 1, dp=ranks).by_component for ranks in (1, dp))
    assert {part: size for part, size in spread.items() if part != "experts"} == {
        part: size for part, size in alone.items() if part != "experts"
    }
    assert spread.get("experts", 0) == pytest.approx(alone.get("experts", 0) / dp)
    form_of_module = weight_format({}, {}, None, "bfloat16")
    last = len(found.layers) - 1
    if "experts" in alone:
        assert (
            module_bytes(found, last, 1, form_of_module, tp, dp)[1]
            < 0.3 * module_bytes(found, last, 1, form_of_module, tp)[1]
        )


def test_a_mixture_with_data_parallel_engines_fits_the_cards_that_it_was_made_for() -> None:
    """DeepSeek-V3 on eight H200: 629 GiB of weights, of which no rank holds more than its part of
    the experts.
    """
    found = model("deepseek-ai/DeepSeek-V3")
    form = weight_format(found.config, found.text, None, "bfloat16", found.name)
    spent = footprint(found, flags("0.32.0", dp=8), form, 9.0, eager=False)
    assert 90 < spent.weights.value / GIB < 100


@pytest.mark.parametrize(
    ("flag", "name", "bytes_each"),
    [
        (None, "x/Llama-8B-FP8", 1.0), (None, "x/Llama-8B-AWQ", 0.5 + 2.5 / 128), ("nvfp4", "x/Llama", 0.5625),
        (None, "x/Llama-NVFP4", 0.5625),
        ("compressed-tensors", "x/Llama-quantized.w8a8", 1.0), ("bitsandbytes", "x/Llama", 0.5 + 4.25 / 128), (None, "x/Llama", 2.0),
    ],
)  # fmt: skip
def test_the_format_of_weights(flag: str | None, name: str, bytes_each: float) -> None:
    assert weight_format({}, {}, flag, "bfloat16", name).bytes_of("mlp") == pytest.approx(
        bytes_each
    )


@pytest.mark.parametrize(("tp", "gib"), [(2, 74.08), (8, 19.79)])
def test_what_deepseek_v4_keeps_unquantised_counts(tp: int, gib: float) -> None:
    """Logs of 0.23.0 and 0.31.1: tables of angles and residual mixing in float32, compressors in
    bfloat16, on every rank.
    """
    found = model("deepseek-ai/DeepSeek-V4-Flash")
    form = weight_format(found.config, found.text, None, "bfloat16", found.name)
    assert weight_bytes(found, form, tp, 1).largest / GIB == pytest.approx(gib, rel=0.006)


def test_a_checkpoint_says_which_modules_stay_plain() -> None:
    config = {
        "quantization_config": {
            "quant_method": "fp8",
            "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"],
        }
    }
    form = weight_format(config, config, None, "bfloat16")
    assert (form.bytes_of("attention"), form.bytes_of("experts"), form.bytes_of("head")) == (
        2,
        1.0,
        2,
    )


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", 1.89),
        ("google/gemma-2-27b", 3.66),
        ("Qwen/Qwen3-8B", 2.21),
        ("microsoft/phi-4", 1.52),
    ],
)
def test_activations_are_what_the_profile_logged(name: str, gib: float) -> None:
    found = activations(model(name), flags("0.19.0"), FITTED)
    assert found.value / GIB == pytest.approx(gib, rel=0.03)
    assert found.low < gib * GIB < found.high


@pytest.mark.parametrize(
    ("name", "changes", "eager", "gib"),
    [
        ("Qwen/Qwen3-8B", {}, True, 0.844), ("Qwen/Qwen3-8B", {"max_num_batched_tokens": 2048}, True, 0.346),
        ("Qwen/Qwen3-8B", {"max_num_batched_tokens": 32768}, True, 3.281), ("Qwen/Qwen3-8B", {}, False, 1.285),
        ("Qwen/Qwen3-8B", {"max_num_batched_tokens": 2048, "max_num_seqs": 64}, False, 1.191),
        ("google/gemma-2-9b", {}, True, 1.069), ("google/gemma-2-9b", {}, False, 1.818), ("Qwen/Qwen3-0.6B", {}, False, 0.34),
        ("Qwen/Qwen2.5-7B-Instruct", {}, True, 1.118), ("meta-llama/Llama-3.1-8B-Instruct", {}, False, 1.104),
        ("deepseek-ai/DeepSeek-V2-Lite", {}, True, 1.134),
    ],
)  # fmt: skip
def test_the_newer_runner_profiles_less(
    name: str, changes: dict[str, int], eager: bool, gib: float
) -> None:
    """What vLLM 0.26.0 took on an H100. The second of two starts took 0.78 GiB for the 1.285: its
    compiler's cache was warm.
    """
    found = activations(
        model(name), flags("0.26.0", v2_runner=True, **changes), FITTED, eager=eager
    )
    assert found.low < gib * GIB < found.high
    if name != "deepseek-ai/DeepSeek-V2-Lite":
        assert found.value / GIB == pytest.approx(gib, rel=0.08)
    if name == "Qwen/Qwen3-8B" and not changes and not eager:
        assert found.low < 0.78 * GIB


def test_drafts_are_sampled_beside_the_tokens_by_the_older_runner() -> None:
    found = activations(model("Qwen/Qwen3-8B"), flags("0.26.0", num_speculative_tokens=3), FITTED)
    assert found.low < 4.535 * GIB < found.high


def test_the_newer_runner_charges_its_graphs_since_0_29() -> None:
    llama = model("meta-llama/Llama-3.1-8B-Instruct")
    form = weight_format({}, {}, None, "bfloat16")
    before, after = (
        footprint(llama, flags(text, v2_runner=True), form, 9.0, eager=False)
        for text in ("0.28.0", "0.29.0")
    )
    assert (before.graphs_counted, after.graphs_counted) == (False, True)
    assert before.graphs.value / GIB == pytest.approx(0.98, rel=0.1)


@pytest.mark.parametrize(
    ("name", "version", "method", "newer"),
    [
        ("Qwen/Qwen3-8B", "0.20.0", "", False), ("Qwen/Qwen3-8B", "0.22.0", "", True), ("Qwen/Qwen3-8B", "0.26.0", "ngram", False),
        ("Qwen/Qwen3-8B", "0.26.0", "eagle3", True), ("Qwen/Qwen3-8B", "0.31.0", "ngram", False),
        ("Qwen/Qwen3-8B", "0.32.0", "ngram", True), ("Qwen/Qwen3-8B", "0.33.0", "suffix", False),
        ("meta-llama/Llama-3.1-8B-Instruct", "0.22.0", "", False), ("meta-llama/Llama-3.1-8B-Instruct", "0.23.0", "", True),
        ("google/gemma-2-9b", "0.24.0", "", False), ("google/gemma-2-9b", "0.25.0", "", True),
        ("deepseek-ai/DeepSeek-V2-Lite", "0.26.0", "", True), ("Qwen/Qwen3-30B-A3B", "0.26.0", "", False),
        ("openai/gpt-oss-20b", "0.28.0", "", False), ("openai/gpt-oss-20b", "0.29.0", "", True),
        ("Qwen/Qwen3.5-27B", "0.26.0", "", False),
    ],
)  # fmt: skip
def test_which_runner_the_engine_takes(name: str, version: str, method: str, newer: bool) -> None:
    found = parse_version(version)
    assert found is not None
    assert takes_v2(model(name), found, method) is newer


@pytest.mark.parametrize(
    ("version", "requests"),
    [("0.20.0", False), ("0.20.1rc1.dev16", False), ("0.20.1rc1.dev91", True), ("0.20.1", True)],
)
def test_from_which_build_on_the_logged_tokens_are_those_of_requests(
    version: str, requests: bool
) -> None:
    assert flags(version).logs_tokens_of_requests is requests


def test_states_are_scanned_in_chunks_of_the_models_own() -> None:
    listed = find_model("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")
    assert listed is not None
    longer, short = (
        read_architecture({**listed.config, "chunk_size": size}, listed.name) for size in (128, 64)
    )
    steps = flags("0.20.1", max_num_batched_tokens=32_768, max_num_seqs=128)
    saved = activations(short, steps, FITTED).value - activations(longer, steps, FITTED).value
    assert saved / GIB == pytest.approx(0.5, abs=0.1)


def test_quantised_weights_came_to_the_newer_runner_last() -> None:
    versions = [parse_version(text) for text in ("0.23.0", "0.25.0")]
    assert [
        takes_v2(model("Qwen/Qwen3-8B"), version, "", quantized=True)
        for version in versions
        if version
    ] == [False, True]


def test_graphs_are_charged_since_0_20_and_not_at_all_when_eager() -> None:
    llama = model("meta-llama/Llama-3.1-8B-Instruct")
    form = weight_format({}, {}, None, "bfloat16")
    before, after = (
        footprint(llama, flags(text), form, 9.0, eager=False) for text in ("0.19.0", "0.20.0")
    )
    assert (before.graphs_counted, after.graphs_counted) == (False, True)
    assert graphs(llama, flags("0.20.0"), True, FITTED).value == 0
    assert before.graphs.value / GIB == pytest.approx(0.91, rel=0.1)


@pytest.mark.parametrize(
    ("utilization", "says"), [(0.92, ""), (0.99, ""), (0.999, "refuses to start above 0.99")]
)
def test_a_budget_must_leave_the_context(utilization: float, says: str) -> None:
    said = " ".join(above_budget(exact("memory", 79.18 * GIB, "log"), utilization))
    assert says in said
    assert bool(says) is bool(said)


def test_what_is_left_is_the_budget_less_the_parts() -> None:
    card = find_card("NVIDIA H100 80GB HBM3")
    assert card is not None
    llama = model("meta-llama/Llama-3.1-8B-Instruct")
    parts = footprint(
        llama, flags("0.19.0"), weight_format({}, {}, None, "bfloat16"), 9.0, eager=False
    )
    left = available_bytes(exact("memory", 79.19 * GIB, "log"), 0.95, parts)[0]
    assert left.value / GIB == pytest.approx(58.11, abs=0.1)
    assert left.low < 58.11 * GIB < left.high


@pytest.mark.parametrize(
    ("said", "card"),
    [
        ("NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"), ("nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("h100", "H100-SXM5-80GB"),
        ("Tesla T4", "T4"), ("AMD Instinct MI300X VF", "MI300X"), ("NVIDIA GeForce RTX 3090", "RTX 3090"), ("NVIDIA L4", "L4"),
        ("L40S", "L40S"),
        ("NVIDIA A10G", "A10G"), ("NVIDIA H20", "H20-96GB"), ("NVIDIA H200", "H200-SXM-141GB"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("NVIDIA-H100-80GB-HBM3-SHARED", "H100-SXM5-80GB"), ("GB200", "GB200"), ("NVIDIA A40", "A40"),
    ],
)  # fmt: skip
def test_a_card_is_found_by_the_names_of_tools_and_labels(said: str, card: str) -> None:
    found = find_card(said)
    assert found is not None
    assert found.name == card


def test_every_card_finds_itself_and_has_memory() -> None:
    assert len(CARDS) > 40
    for card in CARDS:
        assert find_card(card.name) == card
        value, low, high = card.memory_bytes
        assert 0 < low <= value <= high


def test_every_model_of_the_catalogue_reads() -> None:
    assert len(model_names()) > 130
    unread = [
        name for name in model_names() if model(name).hidden_size <= 0 or not model(name).known
    ]
    assert not unread


def test_a_model_is_found_by_its_short_name_and_close_ones_are_offered() -> None:
    short = find_model("qwen3-8b")
    assert short is not None
    assert short.name == "Qwen/Qwen3-8B"
    assert find_model("nothing-like-it") is None
    assert "Qwen/Qwen3-8B" in close_names("Qwen/Qwen3-9B")
    assert close_names("qwen2.5-72b-in")[0] == "Qwen/Qwen2.5-72B-Instruct"


def test_mxfp4_experts_are_padded_per_rank() -> None:
    """Logged by real engines: 65.97 GiB for the 120b on one GPU, 13.72 for the 20b, 17.22 for the
    120b on each of four.
    """
    for name, tp, logged in (
        ("openai/gpt-oss-120b", 1, 65.97),
        ("openai/gpt-oss-20b", 1, 13.72),
        ("openai/gpt-oss-120b", 4, 17.22),
    ):
        read = model(name)
        form = weight_format(read.config, read.text, None, "bfloat16", name)
        assert weight_bytes(read, form, tp, 1).largest / GIB == pytest.approx(logged, rel=0.01)


def test_an_early_engine_without_flashinfer_lies_within_the_interval() -> None:
    """Logged by pip or conda installations: 7.3 GiB beside the weights with 1,024 rows of gpt-oss,
    1.5 GiB with 256 of Qwen3-8B.
    """
    for name, changes, logged in (
        ("openai/gpt-oss-120b", {}, 7.3),
        ("Qwen/Qwen3-8B", {"max_num_seqs": 256}, 1.5),
    ):
        early, late = (
            activations(model(name), flags(version, **changes), FITTED)
            for version in ("0.11.0", "0.17.0")
        )
        assert early.value < logged * GIB <= early.high
        assert "FlashInfer" in early.source
        assert late.high < logged * GIB


def test_the_sampler_sorts_in_versions_that_do() -> None:
    """Logged with 1,024 rows: 6.3 GiB beside the weights of Qwen3-235B on 0.9.2; the same model's
    rows of 0.19 keep 3.6 copies.
    """
    qwen = model("Qwen/Qwen3-8B")
    sizes = {
        v: activations(qwen, flags(v), FITTED).value / GIB
        for v in ("0.8.5", "0.9.2", "0.10.1", "0.11.2", "0.16.0", "0.17.0")
    }
    assert {version for version, size in sizes.items() if size > 5.5} == {
        "0.8.5",
        "0.9.2",
        "0.11.2",
        "0.16.0",
    }
    asked = {
        switch: activations(qwen, flags("0.13.0", flashinfer_sampler=switch), FITTED).value / GIB
        for switch in (True, False, None)
    }
    assert asked[False] == asked[None] > 5.5 > asked[True]


def test_without_flashinfer_on_amd_cards_the_sampler_sorts_until_there_is_a_kernel() -> None:
    """Gemma 3 27B on an MI300X with 0.11.0 leaves 10.9 GiB for sampler, context and tower: ten copies
    of 1,024 rows of 262,208 logits are 10.0.
    """
    gemma = model("google/gemma-3-27b-it")
    sizes = {
        (version, rocm): activations(gemma, flags(version, rocm=rocm), FITTED).value / GIB
        for version in ("0.11.0", "0.17.0")
        for rocm in (False, True)
    }
    assert 9.5 < sizes["0.11.0", True] < 10.9
    assert sizes["0.11.0", False] < 5.0
    assert sizes["0.17.0", True] == sizes["0.17.0", False]
    switched = activations(gemma, flags("0.11.0", rocm=True, flashinfer_sampler=True), FITTED)
    assert switched.value / GIB == sizes["0.11.0", True]


def test_tables_of_angles_count_as_weights() -> None:
    """Gemma 3 stretches the positions of its global layers eightfold, not those of its windows; a
    log of 4B (0.19.0) says 8.58 GiB.
    """
    gemma = model("google/gemma-3-4b-it")
    assert rotary_bytes(gemma, 2) == 131072 * (8 + 1) * 256 * 2
    assert weight_bytes(
        gemma, weight_format({}, {}, None, "bfloat16"), 1, 1
    ).largest / GIB == pytest.approx(8.58, abs=0.01)
    llama = model("meta-llama/Llama-3.1-8B-Instruct")
    assert rotary_bytes(llama, 2) == 131072 * 128 * 2


def test_latent_projections_are_kept_twice_and_were_multiplied_out_before() -> None:
    """Logged for DeepSeek-R1 on 8 GPUs: 83.88 GiB by 0.7.3, 79.74 by 0.20.0."""
    found = model("deepseek-ai/DeepSeek-R1")
    form = weight_format(found.config, found.text, None, "bfloat16", "deepseek-ai/DeepSeek-R1")
    early, late = (
        weight_bytes(found, form, 8, 1, absorbs_latents=absorbs).largest / GIB
        for absorbs in (True, False)
    )
    assert early == pytest.approx(83.88, rel=0.004)
    assert late == pytest.approx(79.74, rel=0.004)


def test_text_alone_loads_no_tower_and_profiles_none() -> None:
    gemma = model("google/gemma-3-4b-it")
    form = weight_format(gemma.config, gemma.text, None, "bfloat16")
    both, text = (
        footprint(gemma, flags("0.26.0", text_only=only), form, 9.0, eager=True)
        for only in (False, True)
    )
    assert (both.weights.value - text.weights.value) / GIB == pytest.approx(0.782, abs=0.01)
    assert both.activations.value - text.activations.value == pytest.approx(FITTED.tower_bytes)


def test_quantised_inputs_stand_beside_the_widest() -> None:
    qwen = model("Qwen/Qwen2.5-7B-Instruct")
    plain, fp8 = (weight_format({}, {}, flag, "bfloat16") for flag in (None, "fp8"))
    wide = [
        activations(qwen, flags("0.26.0", v2_runner=True), FITTED, form=form).value
        for form in (plain, fp8)
    ]
    assert wide[1] - wide[0] == 8192 * 18944


def test_memory_that_the_host_shares_is_short_by_the_host() -> None:
    qwen = model("Qwen/Qwen3-8B")
    form = weight_format({}, {}, None, "bfloat16")
    alone, shared = (
        footprint(qwen, flags("0.28.0"), form, 12.1, eager=True, unified=unified)
        for unified in (False, True)
    )
    assert shared.non_torch.value > alone.non_torch.value
    total = exact("memory", 121.69 * GIB, "log")
    assert "the host" in " ".join(above_budget(total, 0.97, unified=True))
    assert above_budget(total, 0.9, unified=True) == []


def test_latents_of_the_old_engine_start_on_256_bytes() -> None:
    """294,688 tokens of DeepSeek-R1 in 21.43 GiB by 0.7.3: 1,280 bytes a layer and token, 1,152 in
    later versions.
    """
    found = model("deepseek-ai/DeepSeek-R1")
    sizes = {
        version: lay_out(found, flags(version, tp=8, generation=generation)).block_bytes / 16 / 61
        for version, generation in (
            ("0.7.1", "V0"),
            ("0.7.3", "V0"),
            ("0.8.1", "V0"),
            ("0.9.2", "V1"),
        )
    }
    assert sizes == {"0.7.1": 1152, "0.7.3": 1280, "0.8.1": 1152, "0.9.2": 1152}


def test_weights_whose_format_only_a_word_names_may_have_their_attention_quantised() -> None:
    """A Llama in NVFP4 logs 5.65 GiB (its attention quantised), where makers of others leave it as
    it was.
    """
    found = model("meta-llama/Llama-3.1-8B-Instruct")
    by_word = weight_format(found.config, found.text, "nvfp4", "bfloat16", "Llama-3.1-8B-Instruct")
    weights = footprint(found, flags("0.13.0"), by_word, 12.0, eager=True).weights
    assert weights.low / GIB < 5.6473 < weights.high / GIB
    assert "attention may be quantised, too" in weights.source
    assert (
        by_word.smallest.bytes_of("attention")
        == by_word.bytes_of("mlp")
        < by_word.bytes_of("attention")
        == 2
    )


def test_a_format_of_which_the_checkpoint_tells_leaves_nothing_open() -> None:
    listed = model("nvidia/Gemma-4-31B-IT-NVFP4")
    assert not weight_format(listed.config, listed.text, None, "bfloat16").open
    found = model("meta-llama/Llama-3.1-8B-Instruct")
    assert not weight_format(found.config, found.text, "awq", "bfloat16").open
