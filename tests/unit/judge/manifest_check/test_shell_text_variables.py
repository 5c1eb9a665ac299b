"""Variables that scripts and units give to an engine, each at its place; and comments between the
lines of a unit's command.
"""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz12345678"


def told(text: str, file: str) -> list[tuple[int, int, str]]:
    found = check([document_of(text, file)]).findings
    rules = ("secret-in-plain-text", "bad-flag-value", "first-generation-forced")
    return [(one.place.line, one.place.column, one.rule) for one in found if one.rule in rules]


def test_a_unit_goes_on_behind_a_comment() -> None:
    unit = (
        f"[Service]\nEnvironment=HF_HOME=/m HF_TOKEN={TOKEN}\n# why\nExecStart=/bin/vllm "
        "serve a/b \\\n"
        "  # the port\n; and more\n  --gpu-memory-utilization 95 \\\n  --port 8000\n"
    )
    assert told(unit, "vllm.service") == [(2, 24, "secret-in-plain-text"), (7, 3, "bad-flag-value")]


def test_a_script_sets_them_before_or_beside_the_command() -> None:
    script = (
        f"#!/bin/sh\nexport HF_TOKEN={TOKEN}\nVLLM_API_KEY=sk-abcd1234efgh5678ijkl9012 vllm "
        "serve a/b\n"
    )
    assert told(script, "run.sh") == [
        (2, 8, "secret-in-plain-text"),
        (3, 1, "secret-in-plain-text"),
    ]


def test_docker_run_sets_them_for_its_container() -> None:
    line = (
        f"docker run -e HF_TOKEN={TOKEN} --env=VLLM_USE_V1=0 -e HOME -v A=b "
        "vllm/vllm-openai:v0.30.0 --model a/b\n"
    )
    assert told(line, "run.sh") == [
        (1, 15, "secret-in-plain-text"),
        (1, 62, "first-generation-forced"),
    ]
    named = (
        f"export HF_TOKEN={TOKEN}\ndocker run -e HF_TOKEN vllm/vllm-openai:v0.30.0 --model a/b\n"
    )
    assert told(named, "run.sh") == [(1, 8, "secret-in-plain-text")]


def test_where_a_secret_is_kept_instead() -> None:
    unit = f"[Service]\nEnvironment=HF_TOKEN={TOKEN}\nExecStart=/bin/vllm serve a/b\n"
    (one,) = [
        found
        for found in check([document_of(unit, "vllm.service")]).findings
        if found.rule == "secret-in-plain-text"
    ]
    assert (
        one.fix
        == "HF_TOKEN from an EnvironmentFile that only the service may read, and a new secret"
    )


def test_a_quadlet_is_an_image_and_what_stands_behind_it() -> None:
    quadlet = (
        "[Container]\nImage=docker.io/vllm/vllm-openai:v0.32.0\nExec=--model a/b \\\n  "
        "--swap-space 4\n"
        f"Environment=HF_TOKEN={TOKEN}\n[Service]\nRestart=always\n"
    )
    (one,) = [
        found
        for found in check([document_of(quadlet, "vllm.container")]).findings
        if found.rule == "unknown-flag"
    ]
    assert (one.place.line, one.place.column) == (4, 3)
    assert "v0.32.0" in one.message
    assert (
        check([document_of(quadlet.replace("vllm/vllm-openai", "a/b"), "a.container")]).findings
        == ()
    )
    moving = quadlet.replace("v0.32.0", "latest").replace("  --swap-space 4", "  --port 80")
    assert "floating-tag" in [
        found.rule for found in check([document_of(moving, "vllm.container")]).findings
    ]


def test_a_long_script_is_read_to_its_end() -> None:
    """A file is no argument, which Linux takes only so long."""
    script = (
        "#!/bin/sh\n"
        + "echo 'a line that does little'\n" * 8_000
        + f"HF_TOKEN={TOKEN} vllm serve a/b\n"
    )
    assert told(script, "run.sh") == [(8_002, 1, "secret-in-plain-text")]
