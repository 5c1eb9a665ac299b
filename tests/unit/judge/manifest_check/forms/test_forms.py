"""Each kind of file: what starts in it, and what only looks like it."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.forms import forms
from barostat.judge.manifest_check.scene import scene_of
from barostat.lint.facts import Engine


def engines(text: str, file: str) -> tuple[Engine, ...]:
    document = document_of(text, file)
    assert document.problem is None
    return scene_of([document]).engines


def test_general_forms_are_read_last() -> None:
    assert [form.general for form in forms()] == sorted(form.general for form in forms())
    assert len({form.name for form in forms()}) == len(forms())


@pytest.mark.parametrize(
    "line",
    [
        'pgrep -f "vllm serve"',
        'if ! pgrep -f "vllm serve a/b" >/dev/null; then echo down; fi',
        "docker manifest create vllm/vllm-openai:latest --amend vllm/vllm-openai:a",
        "docker buildx create --name vllm/builder --use",
        "docker pull vllm/vllm-openai:latest --quiet",
        "docker build -t team/vllm:1 --build-arg A=run .",
        'git commit -m "vllm serve a/b --port 1"',
        "echo 'vllm serve a/b' >> notes",
        "man vllm && vllm serve --help",
    ],
)
def test_commands_that_start_no_server(line: str) -> None:
    assert engines(f"{line}\n", "a.sh") == ()


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve a/b --port 8001",
        "nohup env A=1 vllm serve a/b --port 8001 > log 2>&1 &",
        'bash -lc "vllm serve a/b --port 8001"',
        'ssh node1 "vllm serve a/b --port 8001"',
        "tmux new-session -d -s llm 'vllm serve a/b --port 8001'",
        "docker exec llm vllm serve a/b --port 8001",
        "docker --context gpu run --rm vllm/vllm-openai:v0.32.0 --model a/b --port 8001",
        "sudo podman container run vllm/vllm-openai:v0.32.0 a/b --port 8001",
        "if true; then vllm serve a/b --port 8001; fi",
        "ssh node1 <<EOF\nvllm serve a/b --port 8001\nEOF",
    ],
)
def test_commands_that_start_a_server(line: str) -> None:
    (engine,) = engines(f"{line}\n", "a.sh")
    assert engine.model is not None
    assert engine.model.text == "a/b"
    assert engine.arguments["port"].text == "8001"


@pytest.mark.parametrize(
    ("service", "model", "length"),
    [
        ("command: a/b --max-model-len 8", "a/b", "8"),
        ("command: [a/b, --max-model-len, '8']", "a/b", "8"),
        ("command: [--model=a/b, --max-model-len=8]", "a/b", "8"),
        ("command: >\n      --model a/b\n      --max-model-len 8", "a/b", "8"),
        ("command: |\n      --model a/b\n      --max-model-len 8", "a/b", "8"),
        ("entrypoint: [vllm, serve]\n    command: a/b --max-model-len 8", "a/b", "8"),
        ("entrypoint: vllm serve\n    command: [a/b, --max-model-len, '8']", "a/b", "8"),
        ("ports: ['8001:8000']", None, None),
    ],
)
def test_a_service_of_compose(service: str, model: str | None, length: str | None) -> None:
    """A string is split into words: none of these is an argument and its value in one item."""
    text = f"services:\n  llm:\n    image: vllm/vllm-openai:v0.32.0\n    {service}\n"
    (engine,) = engines(text, "compose.yaml")
    assert engine.stuck == ()
    assert (engine.model.text if engine.model else None) == model
    given = engine.arguments.get("max_model_len")
    assert (given.text if given else None) == length


def test_what_another_service_runs_is_no_engine() -> None:
    text = "services:\n  a: {image: vllm/vllm-openai:v1, command: [sleep, infinity]}\n"
    assert engines(f"{text}  b: {{image: team/vllm-router:v1}}\n", "compose.yaml") == ()


@pytest.mark.parametrize(
    "text",
    [
        'FROM vllm/vllm-openai:v0.19.0\nCMD ["--model", "a/b", "--port", "8001"]\n',
        "FROM vllm/vllm-openai:v0.19.0\nENTRYPOINT vllm serve a/b \\\n  --port 8001\n",
        (
            'FROM x AS one\nCMD ["other"]\nFROM vllm/vllm-openai:v0.19.0\n'
            'ENTRYPOINT ["vllm", "serve"]\nCMD ["a/b", "--port=8001"]\n'
        ),
        'ARG TAG=v0.19.0\nFROM vllm/vllm-openai:${TAG}\nCMD ["a/b", "--port", "8001"]\n',
    ],
)
def test_a_dockerfile(text: str) -> None:
    (engine,) = engines(text, "Dockerfile")
    assert engine.model is not None
    assert (engine.model.text, engine.arguments["port"].text) == ("a/b", "8001")
    assert str(engine.version) == "v0.19.0"


@pytest.mark.parametrize(
    "text",
    ["FROM x\nRUN vllm serve a/b &\n", 'FROM x\nCMD ["python", "a.py"]\n'],
)
def test_a_dockerfile_that_starts_none(text: str) -> None:
    assert engines(text, "deploy/Dockerfile.llm") == ()


@pytest.mark.parametrize(
    ("text", "file", "start"),
    [
        ("export M=a/b\r\nvllm serve $M \\\r\n  --port 8001\r\n", "a.sh", 26),
        ("vllm serve a/b `\r\n  --port 8001\r\n", "a.ps1", 20),
        ("docker run vllm/vllm-openai:v1 ^\n  --model a/b --port 8001\n", "a.bat", 47),
    ],
)
def test_line_ends_of_windows(text: str, file: str, start: int) -> None:
    (engine,) = engines(text, file)
    assert engine.arguments["port"].text == "8001"
    assert text[start:].startswith("--port") or engine.arguments["port"].place.start >= 0
    place = engine.arguments["port"].words[0]
    assert text[place.start : place.end] == "--port"


def test_a_template_of_ansible_keeps_its_text_and_its_values_are_unknown() -> None:
    text = "[Service]\nExecStart={{ venv }}/bin/vllm serve {{ model }} --port {{ port }} -tp 2\n"
    document = document_of(text, "vllm.service.j2")
    assert document.text == text
    (engine,) = scene_of([document]).engines
    assert engine.arguments["port"].text is None
    assert engine.arguments["tensor_parallel_size"].text == "2"
    assert not engine.complete


@pytest.mark.parametrize("ending", ["tpl", "tftpl", "tmpl"])
def test_a_template_of_terraform_is_read_and_its_values_are_unknown(ending: str) -> None:
    text = (
        "services:\n  a:\n    image: vllm/vllm-openai:v0.32.0\n%{ if gpu }\n"
        "    runtime: nvidia\n%{ endif }\n"
        "    command: --model ${model} --port {port} --swap-space 4\n"
    )
    document = document_of(text, f"compose.yaml.{ending}")
    assert document.text == text
    (engine,) = scene_of([document]).engines
    assert engine.arguments["port"].text is None
    assert engine.arguments["model"].text is None
    assert engine.arguments["swap_space"].words[0].line == 7


def test_a_template_that_is_no_yaml_unfilled_says_so() -> None:
    document = document_of("run: |\n  vllm serve a/b\n{ports}\n", "sky.yaml.tpl")
    assert document.is_template
    assert document.problem is not None
    assert "check what it renders to" in document.problem.reason


def test_an_array_of_mappings_with_an_image_is_read_once() -> None:
    """Neither a pod's container nor a service of compose is read a second time as a mapping."""
    pod = (
        "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: "
        "'vllm/vllm-openai:v1', args: [--model, a/b]}]}\n"
    )
    assert len(engines(pod, "a.yaml")) == 1
    custom = "kind: Engine\nspec: {server: {image: 'vllm/vllm-openai:v1', args: [--model, a/b]}}\n"
    (engine,) = engines(custom, "a.yaml")
    assert engine.form == "task"
    assert not engine.complete


def test_a_dockerfile_inherits_the_entry_point_of_its_base() -> None:
    (engine,) = engines("FROM vllm/vllm-openai:latest\nRUN pip install x\n", "Dockerfile.vllm")
    assert engine.floating
    assert not engine.complete


def test_values_of_vllms_chart_have_its_probes() -> None:
    (engine,) = engines(
        """\
        image: {repository: vllm/vllm-openai, tag: v0.32.0, command: [vllm, serve, /data/]}
        livenessProbe: {initialDelaySeconds: 15, httpGet: {path: /health, port: 8000}}
        """,
        "values.yaml",
    )
    assert engine.host is not None
    assert engine.host.probes["liveness"].patience_s == 45
