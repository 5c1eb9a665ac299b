"""The command line of each tool's call: read-only verbs, and no value that becomes another flag."""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.shells.cli.main import parser
from barostat.shells.mcp.tools import TOOLS, Call, Refused, ToolAccess, call, input_schema

BY_NAME = {tool.name: tool for tool in TOOLS}
READ_ONLY = {"survey", "diagnose", "plan", "what-if", "check", "explain", "incident"}
CLUSTER = ToolAccess(kubeconfig="/k", context="staging")


def words(tool: str, access: ToolAccess = CLUSTER, /, **given: object) -> tuple[str, ...]:
    made = call(BY_NAME[tool], given, access)
    assert isinstance(made, Call), made
    return made.words


def test_no_tool_writes() -> None:
    assert {tool.verb[0] for tool in TOOLS} <= READ_ONLY
    assert BY_NAME["incident_show"].verb == ("incident", "show")
    flags = {one.flag or one.name for tool in TOOLS for one in tool.arguments}
    assert not flags & {"fix", "out", "force", "kubeconfig", "context", "log", "pid", "probe"}


def test_every_call_is_a_command_line_that_the_verb_reads() -> None:
    lines = [
        words("survey"),
        words("survey", namespace="a", price="H100=2"),
        words("diagnose", target="deploy/vllm", namespace="a", seconds=5),
        words("diagnose", all_namespaces=True),
        words("plan", gpu="H100", command="vllm serve Qwen/Qwen3-8B --max-model-len 8192"),
        words("what_if", target="deploy/vllm", set=["max-num-seqs=8", "watermark=0.1"], slo_ttft=2),
        words("check", manifest="kind: Pod", gpu="L4"),
        words("explain", name="kv-preemption-thrash"),
        words("incident_show", id="vllm-1", namespace="a"),
    ]
    for line in lines:
        before = line[: line.index("--")] if "--" in line else line
        assert parser(line[0]).parse_args(before).output == "json"


def test_the_cluster_is_the_servers_own() -> None:
    assert words("survey")[1:] == ("-A", "--kubeconfig=/k", "--context=staging", "--output=json")
    assert "--kubeconfig=/k" not in words("explain", name="x")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("diagnose", {"target": "--log=/etc/passwd"}),
        ("explain", {"name": "-o"}),
        ("plan", {"gpu": "H100", "command": "vllm serve 'x"}),
        ("diagnose", {"bundle": "../secret"}),
        ("diagnose", {"bundle": "."}),
        ("diagnose", {"bundle": "link"}),
    ],
)
def test_what_would_reach_elsewhere_is_refused(
    name: str, given: dict[str, object], tmp_path: Path
) -> None:
    folder = tmp_path / "bundles"
    folder.mkdir()
    (tmp_path / "secret").mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    made = call(BY_NAME[name], given, ToolAccess(bundles=folder))
    assert isinstance(made, Refused)


def test_a_flags_value_stays_its_value() -> None:
    assert "--namespace=--fix" in words("survey", namespace="--fix")


def test_a_bundle_is_read_below_the_folder_and_without_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    access = ToolAccess("/k", None, tmp_path)
    assert words("survey", access, bundle="b") == (
        "survey",
        f"--bundle={tmp_path / 'b'}",
        "--output=json",
    )
    assert "bundle" not in input_schema(BY_NAME["survey"], ToolAccess())["properties"]
    assert "bundle" in input_schema(BY_NAME["survey"], access)["properties"]
