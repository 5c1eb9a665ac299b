"""What does not start for its arguments is told before memory is spoken of."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.support.page_text import unbroken

from barostat.core.limits import TargetRef
from barostat.io.input_files.limits_file import parse
from barostat.shells.cli.capacity import plan_inputs
from barostat.shells.cli.main import main, parser

HEALTHY = Path(__file__).parents[4] / "data/bundles/healthy-busy/metrics/replica-0"


@pytest.mark.parametrize(
    ("words", "because"),
    [
        (["--swap-space", "4"], "--swap-space does not exist since"),
        (["--max-modle-len", "9"], "did you mean --max-model-len"),
    ],
)
def test_a_refused_argument_is_the_first_thing_said(
    words: list[str], because: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["plan", "--gpu", "H100"], ["--", "vllm", "serve", "Qwen/Qwen3-8B", *words]
    assert main([*asked[0], *asked[1]]) == 1
    told = capsys.readouterr().out
    assert "vLLM 0.32.0" in told.splitlines()[1]
    assert told.index("It does not start\n") < told.index("KV memory")
    assert because in " ".join(told.split())
    assert "It fits" not in told
    assert main([*asked[0], "-o", "json", *asked[1]]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["fits"] is False
    assert because in document["refusal"]
    for form in ("md", "html"):
        assert main([*asked[0], "-o", form, *asked[1]]) == 1
        assert because in unbroken(capsys.readouterr().out)


@pytest.mark.parametrize("value", ["abc", "9" * 20, "9" * 5_000, "1e9", "nan", "1.5"])
def test_what_is_no_number_of_an_engine_is_refused_and_not_left_out(
    value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--max-num-seqs", value]) == 2
    said = capsys.readouterr().err
    assert "--max-num-seqs" in said
    assert len(said) < 200


@pytest.mark.parametrize(
    "words",
    [
        ("--gpu-memory-utilization", "nan"), ("--gpu-memory-utilization", "90%"), ("--block-size", "foo"), ("--block-size", "-16"),
        ("--max-model-len", "-2"), ("--max-model-len", "0"), ("--max-model-len", "1e99"), ("--max-num-seqs", "1e3"),
    ],
)  # fmt: skip
def test_a_value_of_the_engines_own_command_line_is_refused_and_not_left_out(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--model", "Qwen/Qwen3-8B", "--gpu", "H100", "--", *words]) == 2
    option, value = words
    assert f"barostat: {option}: " in (said := capsys.readouterr().err)
    assert value in said


@pytest.mark.parametrize(
    "words",
    [
        ("--gpu", "cpu", "--cpu-kvcache-space-gib", "nan"),
        (
            "--gpu",
            "H100",
            "--input-p50",
            "nan",
            "--input-p99",
            "2",
            "--output-p50",
            "3",
            "--output-p99",
            "4",
        ),
        (
            "--gpu",
            "H100",
            "--input-p50",
            "1",
            "--input-p99",
            "1e300",
            "--output-p50",
            "3",
            "--output-p99",
            "inf",
        ),
    ],
)
def test_an_amount_that_cannot_be_is_refused(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--model", "Qwen/Qwen3-8B", *words]) == 2
    assert len(capsys.readouterr().err) < 200


def test_our_flags_reach_an_engine_that_a_shell_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["plan", "--gpu", "H100", "--tp", "2", "--", "bash", "-c", "vllm serve Qwen/Qwen3-8B"])
        == 0
    )
    assert "on 2 x H100" in capsys.readouterr().out


def test_what_moves_memory_and_is_not_counted_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "plan",
                "--gpu",
                "H100",
                "--",
                "vllm",
                "serve",
                "Qwen/Qwen3-8B",
                "--cpu-offload-gb",
                "4",
                "--enable-lora=false",
            ]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert "--cpu-offload-gb is not counted here" in told
    assert "--enable-lora" not in told


def test_adapters_are_a_part_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("plan", "--gpu", "H100", "--", "vllm", "serve", "Qwen/Qwen3-8B")
    assert main([*words, "--enable-lora", "--max-loras", "8", "--max-lora-rank", "64"]) == 0
    assert "LoRA adapters  2.90 GiB" in capsys.readouterr().out
    assert (
        main(
            [
                *words,
                "--enable-lora",
                "--lora-target-modules",
                "q_proj",
                "--enable-tower-connector-lora",
            ]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert "--lora-target-modules is not counted here" in told
    assert "--enable-tower-connector-lora is not counted here" in told
    assert main([*words]) == 0
    assert "LoRA" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [("--max-loras", "0"), ("--max-lora-rank", "-8"), ("--lora-dtype", "float3")]
)
def test_places_that_cannot_be_are_refused(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "plan",
                "--gpu",
                "H100",
                "--",
                "vllm",
                "serve",
                "Qwen/Qwen3-8B",
                "--enable-lora",
                *words,
            ]
        )
        == 2
    )
    assert words[1] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        (("L4", "Qwen/Qwen3-32B", "--kv-cache-memory-bytes", "40G"), False),
        (("L4", "Qwen/Qwen3-32B", "--num-gpu-blocks-override", "100000"), False),
        (("H100", "Qwen/Qwen3-8B", "--kv-cache-memory-bytes", "70G"), False),
        (("H100", "Qwen/Qwen3-8B", "--num-gpu-blocks-override", "100000"), False),
        (("H100", "Qwen/Qwen3-8B", "--kv-cache-memory-bytes", "60G"), True),
        (("H100", "Qwen/Qwen3-8B", "--num-gpu-blocks-override", "20000"), True),
        (
            (
                "H100",
                "Qwen/Qwen3-8B",
                "--kv-cache-memory-bytes",
                "55G",
                "--gpu-memory-utilization",
                "0.2",
            ),
            True,
        ),
    ],
)
def test_a_pool_that_a_flag_sets_is_held_against_the_card(
    words: tuple[str, ...], fits: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    card, model, flag, *rest = words
    assert main(["plan", "--gpu", card, "--", "vllm", "serve", model, flag, *rest]) == (
        0 if fits else 1
    )
    told = " ".join(capsys.readouterr().out.split())
    assert (" FITS It fits " in told) is fits
    assert (f"that {flag} sets" in told and "out of memory" in told) is not fits
    assert "short on each GPU" not in told


def test_a_pool_that_is_too_large_is_made_smaller(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--gpu", "H100", "-o", "json", "--", "vllm", "serve", "Qwen/Qwen3-8B"]
    assert main([*asked, "--kv-cache-memory-bytes", "70G"]) == 1
    flag, value = json.loads(capsys.readouterr().out)["changesThatFit"][0]["arguments"].split()
    assert flag == "--kv-cache-memory-bytes"
    assert main([*asked, flag, value]) == 0


def test_an_estimate_whose_lower_end_is_empty_is_doubted_and_its_limits_are_sound(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """8-bit weights of a Llama of 70 B leave 1.5 GiB of an H100, give or take 2."""
    command = [
        "plan",
        "--model",
        "meta-llama/Llama-3.1-70B-Instruct",
        "--gpu",
        "H100",
        "--max-model-len",
        "4096",
    ]
    own = ["--", "--quantization", "fp8"]
    assert main([*command, *own]) == 0
    assert "may not start at the lower end of the estimate" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main([*command, "-o", "json", *own]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kvCacheTokensRange"][0] == 0
    assert "at the lower end" in found["mayNotStart"]
    for form in ("md", "html"):
        assert main([*command, "-o", form, *own]) == 0
        assert "may not start" in capsys.readouterr().out
    assert main([*command, "-o", "limits", *own]) == 0
    spec = parse(capsys.readouterr().out).spec
    assert spec.capacity.kv_cache_tokens == found["kvCacheTokens"]
    assert "lower end holds no request" in str(spec.capacity.measured_from)
    assert 0.8 * found["kvCacheTokens"] < (spec.edge.kv_token_budget or 0) <= found["kvCacheTokens"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ("vllm", "serve", "Qwen/Qwen3-8B", "--max-model-len", "50000"),
            "above the model's own 40,960",
        ),
        (("vllm", "serve", "Qwen/Qwen3-8B", "--max-model-len", "40960"), ""),
        (
            (
                "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1",
                "vllm",
                "serve",
                "Qwen/Qwen3-8B",
                "--max-model-len",
                "50000",
            ),
            "",
        ),
        (
            (
                "VLLM_ALLOW_LONG_MAX_MODEL_LEN=0",
                "vllm",
                "serve",
                "Qwen/Qwen3-8B",
                "--max-model-len",
                "50000",
            ),
            "above the model's own 40,960",
        ),
        (
            (
                "vllm",
                "serve",
                "Qwen/Qwen3-8B",
                "--max-model-len",
                "50000",
                "--hf-overrides",
                '{"max_position_embeddings": 65536}',
            ),
            "",
        ),
        (
            ("vllm", "serve", "google/gemma-3-27b-it", "--max-model-len", "131073"),
            "above the model's own 131,072",
        ),
        (("vllm", "serve", "google/gemma-3-12b-it", "--max-model-len", "131072"), ""),
    ],
)
def test_a_length_above_the_models_own_is_refused_unless_something_allows_it(
    words: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--gpu", "H200", "-o", "json", "--", *words]) == (1 if why else 0)
    found = json.loads(capsys.readouterr().out)
    assert found["fits"] is not bool(why)
    assert why in (found["refusal"] or "")


def test_a_service_level_goes_into_the_limits_and_nowhere_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["plan", "Qwen/Qwen3-8B", "--gpu", "H100", "--slo", "ttft=2s,itl=50ms"]
    assert main([*command, "-o", "limits"]) == 0
    limits = parse(capsys.readouterr().out)
    assert (limits.spec.slo.ttft_p99_seconds, limits.spec.slo.itl_p99_seconds) == (2.0, 0.05)
    assert "slo.ttftP99Seconds" in limits.because
    assert main(command) == 2
    assert "-o limits" in capsys.readouterr().err


@pytest.mark.parametrize("served", ["Qwen/Qwen3-8B", "chat"])
def test_the_model_of_a_running_engine_is_the_one_it_is_served_as(
    served: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (
        sorted(HEALTHY.glob("*.prom"))[-1]
        .read_text()
        .replace('model_name="tiny"', f'model_name="{served}"')
    )
    (tmp_path / "page.prom").write_text(page)
    asked = ["plan", "--from", str(tmp_path / "page.prom"), "--max-model-len", "4096", "-o", "json"]
    known = served != "chat"
    assert main(asked) == (0 if known else 2)
    said = capsys.readouterr()
    assert ("the model is taken to be Qwen/Qwen3-8B" in said.out) is known
    assert ("which model? 'chat', as which it is served" in said.err) is not known
    assert main([*asked, "--model", "Qwen/Qwen3-8B"]) == 0
    assert "taken to be" not in capsys.readouterr().err


def test_a_path_that_is_not_here_is_the_model_it_is_served_as(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The engine was started with /models/tiny, and its metrics name another."""
    bundle = tmp_path / "bundle"
    shutil.copytree(HEALTHY.parents[1], bundle)
    for page in bundle.rglob("*.prom"):
        page.write_text(page.read_text().replace('model_name="tiny"', 'model_name="Qwen/Qwen3-8B"'))
    asked = ["plan", "--from", str(bundle), "--max-model-len", "4096", "-o", "json"]
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert "the model is taken to be Qwen/Qwen3-8B" in said


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("deploy/vllm", TargetRef("apps/v1", "Deployment", "vllm")),
        ("lws/big", TargetRef("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "big")),
        ("pod/vllm-0", None),
        ("http://localhost:8000", None),
        (None, None),
    ],
)
def test_limits_of_a_workload_name_it(source: str | None, expected: TargetRef | None) -> None:
    arguments = parser().parse_args(["plan", "--model", "Qwen/Qwen3-8B", "--gpu", "H100"])
    answer = plan_inputs.answer(plan_inputs.asked(arguments))
    assert plan_inputs.about(answer, source).derived.limits.spec.target_ref == expected


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "Qwen/Qwen3-8B", "--gpu", "H100", "foo", "bar"],
        ["Qwen/Qwen3-8B", "foo", "bar", "--gpu", "H100"],
        ["--gpu", "H100", "--", "vllm", "serve", "Qwen/Qwen3-8B", "foo", "bar"],
        [
            "--model",
            "Qwen/Qwen3-8B",
            "--for",
            "1/s input=100 output=10",
            "--gpu",
            "L4",
            "foo",
            "bar",
        ],
    ],
)
def test_words_that_are_no_argument_are_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *words]) == 2
    said = capsys.readouterr()
    assert "foo bar: neither an argument nor the model" in said.err
    assert not said.out


def test_an_argument_that_is_not_known_stands_in_the_result(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["--", "vllm", "serve", "Qwen/Qwen3-8B", "--frobnicate", "3"]
    assert main(["plan", "--gpu", "H100", "-o", "json", *command]) == 0
    notes = json.loads(capsys.readouterr().out)["assumptions"]
    assert any("--frobnicate is no argument of vLLM" in note for note in notes)
