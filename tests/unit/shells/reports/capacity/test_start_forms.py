"""A plan pasted back starts the engine that was planned, whatever form it was printed in."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from barostat.catalog.settings.table import SETTINGS
from barostat.engines.vllm.command_line.arguments import CommandLine, parse
from barostat.shells.cli.main import main
from barostat.shells.reports.capacity.start_forms import START_FORMS

BUNDLES = Path(__file__).parents[4] / "data/bundles"
TINY = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 2048, "max_position_embeddings": 8192, "intermediate_size": 256,
}  # fmt: skip
QWEN = "Qwen/Qwen2.5-72B-Instruct"
PLANS = {
    "four cards, quantised": (["--gpu", "4xH100", "--quantization", "fp8"], ["vllm", "serve", QWEN]),
    "a command line of its own": (
        ["--gpu", "2xH200"],
        [
            "vllm", "serve", QWEN, "--quantization=fp8", "--enable-auto-tool-choice",
            "--tool-call-parser", "hermes", "--no-enable-prefix-caching", "--max-num-seqs", "64",
            "--served-model-name", "qwen", "chat",
            "--speculative-config", '{"method": "ngram", "num_speculative_tokens": 3}',
        ],
    ),
    "ranks of several kinds": (
        ["--gpu", "MI300X", "--tp", "2", "--pp", "2", "--kv-cache-dtype", "fp8", "--enforce-eager"],
        ["vllm", "serve", QWEN],
    ),
    "a pool set by hand": (
        ["--gpu", "H100", "--kv-cache-memory-bytes", "20G"],
        ["vllm", "serve", "Qwen/Qwen3-8B", "--gpu-memory-utilization", "0.8"],
    ),
    "the CPU backend": (["--gpu", "cpu", "--cpu-kvcache-space-gib", "8"], ["vllm", "serve", "Qwen/Qwen3-0.6B"]),
}  # fmt: skip
# What the second plan derives from a pool that is larger, as fewer sequences need less beside it.
FROM_THE_POOL = ("max_num_queued_tokens", "kv_cache_memory_bytes")


def planned(
    form: str, own: list[str], command: list[str], capsys: pytest.CaptureFixture[str]
) -> str:
    assert main(["plan", *own, "-o", form, "--", *command]) == 0
    return capsys.readouterr().out


def settings(line: CommandLine) -> dict[str, str | None]:
    return {"model": line.model} | {name: found.text for name, found in line.settings.items()}


@pytest.fixture(params=PLANS)
def plan(request: pytest.FixtureRequest) -> tuple[list[str], list[str]]:
    return PLANS[request.param]


def test_arguments_keep_the_model_and_everything_that_was_given(
    plan: tuple[list[str], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    own, command = plan
    printed = settings(parse(f"vllm serve {planned('args', own, command, capsys)}"))
    given = settings(parse(command))
    decided = ("max_num_seqs", "gpu_memory_utilization")
    assert {name: printed.get(name) for name in given if name not in decided} == {
        name: text for name, text in given.items() if name not in decided
    }
    names = {"--tp": "tensor_parallel_size", "--pp": "pipeline_parallel_size"}
    for option, name in (names | {"--quantization": "quantization"}).items():
        if option in own:
            assert printed[name] == own[own.index(option) + 1]
    if "4xH100" in own:
        assert printed["tensor_parallel_size"] == "4"


def test_arguments_planned_again_come_out_the_same(
    plan: tuple[list[str], list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    own, command = plan
    place = own[: own.index("--tp")] if "--tp" in own else own[:2]
    first = planned("args", own, command, capsys).split("\n")[0]
    again = planned("args", place, ["vllm", "serve", *shlex.split(first)], capsys)
    before, after = (settings(parse(f"vllm serve {text}")) for text in (first, again))
    for name in FROM_THE_POOL:
        old, new = before.pop(name, None), after.pop(name, None)
        assert (old is None) == (new is None)
        if old is not None and new is not None:
            assert float(new) == pytest.approx(float(old), rel=0.03)
    assert before == after


@pytest.mark.parametrize("form", [form for form in START_FORMS if form != "args"])
def test_every_form_holds_the_same_engine_and_passes_check(
    form: str, plan: tuple[list[str], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, command = plan
    wanted = settings(parse(f"vllm serve {planned('args', own, command, capsys)}"))
    text = planned(form, own, command, capsys)
    file = tmp_path / ("start.sh" if form == "serve" else f"{form}.yaml")
    file.write_text(f"#!/bin/sh\n{text}" if form == "serve" else text)
    assert settings(started_by(form, text)) == wanted
    main(["check", str(file), "-o", "json"])
    report = json.loads(capsys.readouterr().out)
    assert report["engines"] == 1
    assert [found["rule"] for found in report["findings"] if found["severity"] == "error"] == []


def started_by(form: str, text: str) -> CommandLine:
    """The command line that this form makes a container run."""
    if form == "serve":
        return parse(text)
    document: Any = yaml.safe_load(text)
    if form == "compose":
        service = document["services"]["vllm"]
        return parse([*service["entrypoint"], *service["command"]])
    if form == "kustomize":
        container = document["spec"]["template"]["spec"]["containers"][0]
        return parse([*container["command"], *container["args"]])
    spec = document["servingEngineSpec"]["modelSpec"][0]
    options = {row.chart: row.option for row in SETTINGS.values() if row.chart}
    config = spec["vllmConfig"]
    keyed = [w for key, value in config.items() if key in options for w in (options[key], str(value))]  # fmt: skip
    return parse(["vllm", "serve", spec["modelURL"], *keyed, *config.get("extraArgs", [])])


def test_variables_that_the_plan_rests_on_are_set(capsys: pytest.CaptureFixture[str]) -> None:
    own, command = PLANS["the CPU backend"]
    assert planned("serve", own, command, capsys).startswith("VLLM_CPU_KVCACHE_SPACE=8 vllm serve ")
    compose = yaml.safe_load(planned("compose", own, command, capsys))
    assert compose["services"]["vllm"]["environment"] == {"VLLM_CPU_KVCACHE_SPACE": "8"}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl renders the patch")
def test_the_patch_applies_to_a_deployment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, command = PLANS["four cards, quantised"]
    container = {"name": "vllm", "image": "vllm/vllm-openai:v0.10.0", "args": ["--model", "old"]}
    base = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "vllm"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    (tmp_path / "deployment.yaml").write_text(yaml.safe_dump(base))
    (tmp_path / "vllm-patch.yaml").write_text(planned("kustomize", own, command, capsys))
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [deployment.yaml]\npatches: [{path: vllm-patch.yaml}]\n"
    )
    rendered = subprocess.run(
        ["kubectl", "kustomize", str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout
    wanted = settings(parse(f"vllm serve {planned('args', own, command, capsys)}"))
    assert settings(started_by("kustomize", rendered)) == wanted


def test_a_running_engine_is_started_with_what_it_was_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "config.json"
    model.write_text(json.dumps(TINY))
    bundle = str(BUNDLES / "kv-preemption-thrash")
    assert main(["plan", "--from", bundle, "--model-config", str(model), "-o", "serve"]) == 0
    line = parse(capsys.readouterr().out)
    given = settings(
        parse(
            yaml.safe_load((BUNDLES / "kv-preemption-thrash/bundle.yaml").read_text())["replicas"][
                0
            ]["args"]
        )
    )
    decided = ("max_num_seqs", "max_model_len")
    assert {name: settings(line).get(name) for name in given if name not in decided} == {
        name: text for name, text in given.items() if name not in decided
    }
    assert line.env["VLLM_CPU_KVCACHE_SPACE"] == "1"


def test_where_a_running_engine_s_command_line_is_not_known_its_log_and_metrics_stand_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, bundle = tmp_path / "config.json", tmp_path / "bundle"
    model.write_text(json.dumps(TINY))
    shutil.copytree(BUNDLES / "kv-preemption-thrash", bundle)
    recorded = yaml.safe_load((bundle / "bundle.yaml").read_text())
    del recorded["replicas"][0]["args"]
    (bundle / "bundle.yaml").write_text(yaml.safe_dump(recorded))
    assert main(["plan", "--from", str(bundle), "--model-config", str(model), "-o", "args"]) == 0
    printed = settings(parse(f"vllm serve {capsys.readouterr().out}"))
    assert printed["model"] == "/models/tiny"
    assert printed["enforce_eager"] == "true"
    assert printed["num_gpu_blocks_override"] == "64"
    assert not {"max_running", "version", "num_gpu_blocks", "port"} & set(printed)
