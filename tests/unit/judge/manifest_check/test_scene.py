"""Readers: what each form of manifest says, and where."""

from __future__ import annotations

import textwrap

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.images import image_facts
from barostat.judge.manifest_check.limits_document import KIND
from barostat.judge.manifest_check.scene import scene_of
from barostat.lint.facts import Engine


def _engines(text: str, file: str = "a.yaml") -> tuple[Engine, ...]:
    return scene_of([document_of(textwrap.dedent(text), file)]).engines


def test_the_kind_is_the_limits_own() -> None:
    from barostat.core.limits import KIND as ours

    assert ours == KIND


def test_a_word_in_a_folded_block_has_its_own_place() -> None:
    (engine,) = _engines("""
        apiVersion: v1
        kind: Pod
        metadata: {name: a}
        spec:
          containers:
          - name: v
            image: vllm/vllm-openai:v0.32.0
            command: [sh, -c]
            args:
            - >-
              exec vllm serve Qwen/Qwen3-8B
              --max-num-seqs 64
              --port=8000
    """)
    seqs, port = engine.arguments["max_num_seqs"], engine.arguments["port"]
    assert (seqs.place.line, seqs.place.column, seqs.value) == (13, 7, 64)
    assert (port.place.line, port.place.column, port.value) == (14, 7, 8000)
    assert engine.model is not None
    assert (engine.model.text, engine.model.place.line) == ("Qwen/Qwen3-8B", 12)


def test_a_line_of_a_unit_that_goes_on_is_one_command() -> None:
    line = "ExecStart=/usr/bin/vllm serve Qwen/Qwen3-8B \\\n"
    (engine,) = scene_of(
        [document_of("[Service]\n" + line * 200 + "  --port 8001\n", "vllm.service")]
    ).engines
    assert engine.form == "systemd"


def test_a_script_may_start_several_servers() -> None:
    first, second = _engines(
        """\
        #!/bin/sh
        export CUDA_VISIBLE_DEVICES=0
        vllm serve Qwen/Qwen3-0.6B --port 8001 &
        CUDA_VISIBLE_DEVICES=1 vllm serve Qwen/Qwen3-8B \\
          --port 8002
        """,
        "start.sh",
    )
    assert first.env["CUDA_VISIBLE_DEVICES"].text == "0"
    assert second.env["CUDA_VISIBLE_DEVICES"].text == "1"
    assert second.arguments["port"].place.line == 5


def test_a_config_file_of_a_config_map_is_read_in_its_place() -> None:
    (engine,) = _engines("""
        {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {vllm.yaml: "max-num-seqs: 7"}}
        ---
        apiVersion: v1
        kind: Pod
        metadata: {name: a}
        spec:
          volumes: [{name: c, configMap: {name: c}}]
          containers:
          - name: v
            image: vllm/vllm-openai:v0.32.0
            args: [--config, /etc/vllm/vllm.yaml]
            volumeMounts: [{name: c, mountPath: /etc/vllm}]
    """)
    assert engine.complete
    assert engine.arguments["max_num_seqs"].value == 7
    assert engine.arguments["max_num_seqs"].place.line == 2


def test_an_unknown_config_file_makes_the_engine_incomplete() -> None:
    (engine,) = _engines("vllm serve Qwen/Qwen3-8B --config /etc/vllm.yaml", "a.sh")
    assert not engine.complete


def test_only_servers_are_engines() -> None:
    assert (
        _engines(
            "echo vllm serve x --port 1\nvllm bench serve --model x\npip install vllm\n", "a.sh"
        )
        == ()
    )
    assert _engines("docker build -t team/vllm:nightly -f Dockerfile .", "a.sh") == ()


def test_what_is_named_like_a_subcommand_is_served_all_the_same() -> None:
    pod = (
        "{{kind: Pod, apiVersion: v1, metadata: {{name: a}}, spec: {{containers: [{{image: "
        "'vllm/vllm-openai:v0.32.0', args: [{}]}}]}}}}"
    )
    for name in ("chat", "complete", "bench"):
        (engine,) = _engines(pod.format(f"--model, Qwen/Qwen3-8B, --served-model-name, {name}"))
        assert engine.arguments["served_model_name"].text == name
    for words in (
        "bench, serve, --model, Qwen/Qwen3-8B",
        "bench serve --model Qwen/Qwen3-8B, --port=1",
        "chat, --url, 'http://a'",
    ):
        assert _engines(pod.format(words)) == ()


def test_images() -> None:
    told = image_facts("vllm/vllm-openai:v0.19.1")
    assert (told.server, str(told.version), told.floating) == (True, "v0.19.1", False)
    assert image_facts("registry:5000/x/vllm-openai").floating
    assert image_facts("vllm/vllm-openai:nightly").floating
    assert (
        str(image_facts("${REGISTRY:-docker.io}/vllm/vllm-openai:${TAG:-v0.21.0}").version)
        == "v0.21.0"
    )
    assert str(image_facts("${REGISTRY}/vllm/vllm-openai:v0.21.0").version) == "v0.21.0"
    assert not image_facts("vllm/vllm-openai:${TAG:-latest}").floating
    assert not image_facts("vllm/vllm-openai:${TAG}").floating
    assert not image_facts("vllm/vllm-openai:nightly-2025-08-25").floating
    assert not image_facts("vllm/vllm-openai@sha256:abc").floating
    assert image_facts("nvcr.io/nvidia/vllm:25.09-py3").version is None
    assert str(image_facts("rocm/vllm:rocm6.3.1_vllm_0.8.5_20250513").version) == "0.8.5"
    assert not image_facts("lmcache/lmstack-router:latest").server
    assert not image_facts("example.com/vllm-exporter:1.0").server


def test_limits_belong_to_the_workload_that_they_name() -> None:
    text = """
        {apiVersion: barostat.dev/v1alpha1, kind: ServingLimits, spec: {targetRef: {name: b}, engine: {maxNumSeqs: 4}}}
        ---
        {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{image: "vllm/vllm-openai:v0.32.0", args: [--model=x/y]}]}}
        ---
        {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: [{image: "vllm/vllm-openai:v0.32.0", args: [--model=x/y]}]}}
    """
    scene = scene_of([document_of(textwrap.dedent(text), "a.yaml")])
    first, second = scene.engines
    assert scene.limits_for(first) is None
    assert scene.limits_for(second) is scene.limits[0]


def test_the_card_of_the_user_counts_where_the_manifest_names_none() -> None:
    text = "vllm serve meta-llama/Llama-3.1-70B-Instruct"
    (without,) = scene_of([document_of(text, "a.sh")]).engines
    (with_card,) = scene_of([document_of(text, "a.sh")], gpu="L4").engines
    assert without.planned is None or not without.planned.card
    assert with_card.planned is not None
    assert not with_card.planned.fits
