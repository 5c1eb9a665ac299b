"""One setting changes wherever it lives; nothing else does, byte for byte and setting for
setting.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from barostat.catalog.settings.table import SETTINGS
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.config import resolve
from barostat.engines.vllm.command_line.config_text import NotPlain, value_in, with_setting
from barostat.judge.manifest_edit.flag_surgery import NotChanged, Surgery, is_former_whole, set_flag
from barostat.platform.pods import engine_container

TWICE = [
    {"name": "VLLM_CPU_KVCACHE_SPACE", "value": "2"},
    {"name": "A", "value": "1"},
    {"name": "VLLM_CPU_KVCACHE_SPACE", "value": "4"},
]
"""Kubernetes gives a container the last one."""
CONFIG = "# ours\nmax-model-len: 4096   # long enough\nmax_num_seqs: 64\nport: 8000\n"


def template(
    *,
    command: list[str] | None = None,
    args: list[str] | None = None,
    env: list[dict[str, Any]] | None = None,
    path: str = "",
) -> Any:
    container: dict[str, Any] = {"name": "vllm", "image": "vllm/vllm-openai:v0.32.0"}
    container |= {
        key: value
        for key, value in (("command", command), ("args", args), ("env", env))
        if value is not None
    }
    spec: dict[str, Any] = {"containers": [{"name": "sidecar", "image": "envoy"}, container]}
    if path:
        container["volumeMounts"] = [{"name": "config", "mountPath": path}]
        spec["volumes"] = [{"name": "config", "configMap": {"name": "vllm-config"}}]
    return {"metadata": {"labels": {"app": "vllm"}}, "spec": spec}


def done(found: Surgery | NotChanged) -> Surgery:
    assert isinstance(found, Surgery), found
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"args": ["m/x", "--max-num-seqs", "64"]}, {"args": ["m/x", "--max-num-seqs", "32"]}),
        (
            {"args": ["m/x", "--max-num-seqs=64", "--port=80"]},
            {"args": ["m/x", "--max-num-seqs=32", "--port=80"]},
        ),
        ({"args": ["m/x"]}, {"args": ["m/x", "--max-num-seqs", "32"]}),
        ({}, {"args": ["--max-num-seqs", "32"]}),
        (
            {"command": ["vllm", "serve", "m/x"]},
            {"command": ["vllm", "serve", "m/x", "--max-num-seqs", "32"]},
        ),
        (
            {"command": ["vllm", "serve"], "args": ["m/x", "--max-num-seqs", "6"]},
            {"command": ["vllm", "serve"], "args": ["m/x", "--max-num-seqs", "32"]},
        ),
        (
            {"command": ["vllm", "serve", "m/x", "--max-num-seqs", "6"], "args": ["--port", "80"]},
            {"command": ["vllm", "serve", "m/x", "--max-num-seqs", "32"], "args": ["--port", "80"]},
        ),
        (
            {"command": ["sh", "-c"], "args": ["exec vllm serve m/x --port 80"]},
            {"command": ["sh", "-c"], "args": ["exec vllm serve m/x --port 80 --max-num-seqs 32"]},
        ),
        (
            {"command": ["/bin/bash", "-c", "vllm serve m/x \\\n --max-num-seqs 64 | tee log"]},
            {"command": ["/bin/bash", "-c", "vllm serve m/x \\\n --max-num-seqs 32 | tee log"]},
        ),
        (
            {
                "args": ["m/x", "--max-num-seqs", "$(SEQS)"],
                "env": [{"name": "SEQS", "value": "64"}],
            },
            {"args": ["m/x", "--max-num-seqs", "32"], "env": [{"name": "SEQS", "value": "64"}]},
        ),
    ],
)
def test_an_argument_changes_where_it_stands(before: dict[str, Any], after: dict[str, Any]) -> None:
    old = template(**before)
    found = done(set_flag(old, "max_num_seqs", 32))
    assert found.template == template(**after)
    assert found.change.name == "--max-num-seqs"
    assert found.change.value == "32"
    assert any("32" in line and line.startswith("+") for line in found.diff)
    assert old == template(**before)


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        (
            {"env": [{"name": "A", "value": "1"}]},
            8,
            {
                "env": [
                    {"name": "A", "value": "1"},
                    {"name": "VLLM_CPU_KVCACHE_SPACE", "value": "8"},
                ]
            },
        ),
        ({}, 8, {"env": [{"name": "VLLM_CPU_KVCACHE_SPACE", "value": "8"}]}),
        (
            {"env": [{"name": "VLLM_CPU_KVCACHE_SPACE", "value": "4"}]},
            8,
            {"env": [{"name": "VLLM_CPU_KVCACHE_SPACE", "value": "8"}]},
        ),
        (
            {
                "env": [
                    {
                        "name": "VLLM_CPU_KVCACHE_SPACE",
                        "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}},
                    }
                ]
            },
            8,
            {"env": [{"name": "VLLM_CPU_KVCACHE_SPACE", "value": "8"}]},
        ),
        ({"env": [{"name": "VLLM_CPU_KVCACHE_SPACE", "value": "4"}]}, None, {"env": []}),
        (
            {"env": TWICE},
            8,
            {"env": [*TWICE[:2], {"name": "VLLM_CPU_KVCACHE_SPACE", "value": "8"}]},
        ),
        ({"env": TWICE}, None, {"env": [TWICE[1]]}),
        (
            {"command": ["sh", "-c", "VLLM_CPU_KVCACHE_SPACE=4 vllm serve m"]},
            8,
            {"command": ["sh", "-c", "VLLM_CPU_KVCACHE_SPACE=8 vllm serve m"]},
        ),
        (
            {"command": ["sh", "-c", "export VLLM_CPU_KVCACHE_SPACE=4 A=1; vllm serve m"]},
            None,
            {"command": ["sh", "-c", "export A=1; vllm serve m"]},
        ),
    ],
)
def test_a_variable_changes_where_it_is_set(
    before: dict[str, Any], value: int | None, after: dict[str, Any]
) -> None:
    old = template(**before)
    found = done(set_flag(old, "VLLM_CPU_KVCACHE_SPACE", value))
    assert found.template == template(**after)
    assert found.change.kind == "environment"


def test_a_secret_is_not_shown() -> None:
    old = template(env=[{"name": "VLLM_API_KEY", "value": "hunter2"}])
    found = done(set_flag(old, "VLLM_API_KEY", "swordfish"))
    assert "hunter2" not in f"{found.diff} {found.change}"
    assert "swordfish" not in f"{found.diff} {found.change}"


def test_the_config_file_changes_in_its_line() -> None:
    old = template(args=["m/x", "--config", "/etc/vllm/config.yaml"], path="/etc/vllm")
    maps = {
        "vllm-config": {
            "kind": "ConfigMap",
            "metadata": {"name": "vllm-config"},
            "data": {"config.yaml": CONFIG, "other": "x"},
        }
    }
    found = done(set_flag(old, "--max-num-seqs", 32, config_maps=maps))
    assert found.template == old
    assert found.config_map is not None
    assert found.config_map["data"] == {
        "config.yaml": CONFIG.replace("seqs: 64", "seqs: 32"),
        "other": "x",
    }
    assert found.patch.kind == "ConfigMap"
    assert maps["vllm-config"]["data"] == {"config.yaml": CONFIG, "other": "x"}


def test_an_argument_overrules_a_config_file_that_others_share() -> None:
    old = template(args=["m/x", "--config=/etc/vllm/config.yaml"], path="/etc/vllm")
    maps = {"vllm-config": {"data": {"config.yaml": CONFIG}}}
    found = done(set_flag(old, "max_num_seqs", 32, config_maps=maps, template_only=True))
    assert engine_container(found.template).args[-1:] == ("--max-num-seqs=32",)  # type: ignore[union-attr]
    assert found.config_map is None
    assert isinstance(
        set_flag(old, "max_num_seqs", None, config_maps=maps, template_only=True), NotChanged
    )


def test_nothing_changes_that_is_so_already_or_cannot_be_told() -> None:
    assert isinstance(
        set_flag(template(args=["m/x", "--max-num-seqs", "32"]), "max_num_seqs", 32), NotChanged
    )
    assert isinstance(set_flag(template(args=["m/x"]), "swap_space", None), NotChanged)
    unread = template(args=["m/x", "--config", "/etc/vllm/config.yaml"], path="/etc/vllm")
    assert isinstance(set_flag(unread, "swap_space", None), NotChanged)
    assert isinstance(set_flag({"spec": {}}, "max_num_seqs", 1), NotChanged)


NUMBERS = ("max_num_seqs", "max_model_len", "max_num_batched_tokens", "block_size", "port")
FORMS = st.sampled_from(("list", "joined", "script", "command", "config"))


@given(
    given_values=st.dictionaries(st.sampled_from(NUMBERS), st.integers(1, 9999), max_size=4),
    extra=st.lists(
        st.sampled_from(["--enforce-eager", "--no-enable-prefix-caching", "--trust-remote-code"]),
        unique=True,
        max_size=3,
    ),
    form=FORMS,
    name=st.sampled_from(NUMBERS),
    value=st.integers(1, 9999) | st.none(),
    kept_here=st.booleans(),
)
@settings(max_examples=100)
def test_what_is_resolved_differs_in_that_setting_only(
    given_values: dict[str, int],
    extra: list[str],
    form: str,
    name: str,
    value: int | None,
    *,
    kept_here: bool,
) -> None:
    words = [
        word for key, number in given_values.items() for word in (SETTINGS[key].option, str(number))
    ]
    joined = [f"{SETTINGS[key].option}={number}" for key, number in given_values.items()]
    config = "".join(f"{key.replace('_', '-')}: {number}\n" for key, number in given_values.items())
    old = {
        "list": template(args=["m/x", *words, *extra]),
        "joined": template(args=["m/x", *joined, *extra]),
        "script": template(
            command=["sh", "-c"],
            args=["set -e\nexec vllm serve m/x " + " ".join([*words, *extra]) + " 2>&1 | tee /log"],
        ),
        "command": template(command=["vllm", "serve", "m/x", *words], args=extra or None),
        "config": template(args=["m/x", "--config", "/etc/vllm/c.yaml", *extra], path="/etc/vllm"),
    }[form]
    maps = {"vllm-config": {"data": {"c.yaml": config}}}
    found = set_flag(old, name, value, config_maps=maps, template_only=kept_here)
    if isinstance(found, NotChanged):
        assert given_values.get(name) == value or (value is None and form == "config" and kept_here)
        return
    before = resolved(old, config if form == "config" else "")
    after_text = found.config_map["data"]["c.yaml"] if found.config_map is not None else config
    after = resolved(found.template, after_text if form == "config" else "")
    assert (
        after.get(name) == value
        if value is not None
        else name not in after or after[name] != before[name]
    )
    assert {key: one for key, one in before.items() if key != name} == {
        key: one for key, one in after.items() if key != name
    }
    json.dumps(found.patch.strategic)


FOLLOWS = "max_running"
"""What the scheduler makes of max_num_seqs: it changes with it."""


def resolved(template: Any, config: str) -> dict[str, Any]:
    container = engine_container(template)
    assert container is not None
    config_file = yaml.safe_load(config) if config else None
    found = resolve(
        args=container.args,
        env=container.env,
        config_file=config_file,
        version=parse_version("0.32.0"),
    )
    return {
        name: value.value
        for name, value in found.values.items()
        if value.provenance in ("flag", "config-file", "environment") and name != FOLLOWS
    }


KEYS = st.sampled_from(
    ["max-model-len", "max-num-seqs", "port", "kv-cache-dtype", "served-model-name"]
)
SCALARS = (
    st.integers(-5, 10**6)
    | st.booleans()
    | st.floats(0.001, 1, allow_nan=False).map(lambda x: round(x, 4))
    | st.text(max_size=12).filter(lambda text: all(char.isprintable() for char in text))
)


@given(
    st.dictionaries(KEYS, SCALARS, max_size=5),
    KEYS,
    SCALARS | st.none(),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@settings(max_examples=100)
def test_a_config_file_is_read_back_with_that_value(
    entries: dict[str, Any], key: str, value: Any, ending: str, whole: bool
) -> None:
    text = "# head\n" + "".join(
        yaml.safe_dump({one: held}, width=1000) for one, held in entries.items()
    )
    text = (text if whole else text.rstrip("\n")).replace("\n", ending)
    name = key.replace("-", "_")
    changed = with_setting(text, name, value)
    if isinstance(changed, NotPlain):
        assert "\n " in text or any(isinstance(held, str) for held in entries.values())
        return
    wanted = (
        {**entries, key: value}
        if value is not None
        else {one: held for one, held in entries.items() if one != key}
    )
    assert (yaml.safe_load(changed) or {}) == wanted
    kept = [line for line in text.splitlines() if not line.startswith(f"{key}:")]
    assert [line for line in changed.splitlines() if not line.startswith(f"{key}:")] == kept


def test_comments_and_order_stay() -> None:
    changed = with_setting(CONFIG, "max_model_len", 2048)
    assert changed == CONFIG.replace("4096   #", "2048   #")
    assert value_in(CONFIG, "--max-model-len") == "4096"
    assert with_setting(CONFIG, "max_model_len", None) == CONFIG.replace(
        "max-model-len: 4096   # long enough\n", ""
    )
    assert with_setting(CONFIG.rstrip(), "block_size", 16) == CONFIG.rstrip() + "\nblock-size: 16"


@pytest.mark.parametrize(
    "text",
    ["{port: 80}", "- port: 80", "lora-modules:\n  - a\n  - b\nport: 80", "lora-modules: [a, b]"],
)
def test_what_is_no_plain_line_is_refused(text: str) -> None:
    assert isinstance(
        with_setting(text, "lora_modules" if "lora" in text else "port", "x"), NotPlain
    )


def test_a_comment_behind_an_empty_value_stays_a_comment() -> None:
    changed = with_setting("block-size: # later\n", "block_size", 16)
    assert isinstance(changed, str)
    assert yaml.safe_load(changed) == {"block-size": 16}


def test_a_file_that_yaml_divides_otherwise_is_left_alone() -> None:
    assert isinstance(with_setting("max-num-seqs: \x1c9\n", "max_num_seqs", 17), NotPlain)


@pytest.mark.parametrize(
    ("args", "value", "already"),
    [
        (["--gpu-memory-utilization", "0.90"], "0.9", "--gpu-memory-utilization is 0.90 already"),
        (["--max-model-len=4K"], "4096", "--max-model-len is 4K already"),
        (["--max-model-len", "4k"], 4000, "--max-model-len is 4k already"),
    ],
)
def test_what_reads_as_the_same_is_not_changed(args: list[str], value: Any, already: str) -> None:
    found = set_flag(template(args=["m", *args]), args[0].partition("=")[0], value)
    assert isinstance(found, NotChanged)
    assert found.why == already


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ('exec vllm serve m --max-num-seqs 64 "$@"', True),
        ('exec vllm serve m --max-num-seqs "${SEQS:-64}" $@ 2>&1', True),
        ("exec vllm serve m --max-num-seqs 64", False),
        ('exec vllm serve m "$@" --max-num-seqs 64', False),
        ('set -- m "$@"\nexec vllm serve "$@"', True),
        ('ARGS=("$@")\nexec vllm serve "${ARGS[@]}"', True),
        (". ./common.sh\nstart_engine", False),
    ],
)
def test_an_argument_is_added_to_a_script_that_hands_it_on_and_to_no_other(
    text: str, heard: bool
) -> None:
    maps = {
        "vllm-config": {
            "metadata": {"name": "vllm-config"},
            "data": {"start.sh": f"#!/bin/sh\n{text}\n"},
        }
    }
    given = template(command=["/etc/vllm/start.sh"], path="/etc/vllm")
    found = set_flag(given, "--max-num-seqs", 16, config_maps=maps, template_only=True)
    assert isinstance(found, Surgery) is heard
    if isinstance(found, Surgery):
        assert str(found.change) == f"--max-num-seqs: {'64' if '64' in text else 'absent'} -> 16"
        assert found.template["spec"]["containers"][1]["command"] == [
            "/etc/vllm/start.sh",
            "--max-num-seqs",
            "16",
        ]
    else:
        assert found.why.startswith(
            "start.sh of ConfigMap vllm-config decides on --max-num-seqs, whatever the "
            "arguments say"
        )
    assert isinstance(
        set_flag(given, "--max-num-seqs", None, config_maps=maps, template_only=True), NotChanged
    )


@pytest.mark.parametrize(
    ("args", "former", "whole"),
    [
        (["m", "--max-num-seqs", "$(SEQS)"], "$(SEQS)", True),
        (["m", "--max-num-seqs=$(SEQS)"], "$(SEQS)", True),
        (["sh", "-c", "vllm serve m --max-num-seqs $(SEQS)"], "$(SEQS)", True),
        (["sh", "-c", "vllm serve m --max-num-seqs '$(SEQS)'"], "'$(SEQS)'", True),
        (["sh", "-c", "vllm serve m --max-num-seqs ${SEQS}"], "${SEQS}", True),
        (["sh", "-c", 'vllm serve m --max-num-seqs="$SEQS" --port 1'], '"$SEQS"', True),
        (["sh", "-c", "vllm serve m --max-num-seqs ${SEQS:-64}"], "${SEQS:-64}", True),
        (["sh", "-c", "SEQS=64; vllm serve m --max-num-seqs $SEQS"], "$SEQS", True),
        (["sh", "-c", "vllm serve m --max-num-seqs $((SEQS*2))"], "$((SEQS*2))", False),
    ],
)
@pytest.mark.parametrize("told", [None, "secret", "config map", "literal"])
def test_a_reference_is_kept_as_it_is_written_so_that_it_can_be_put_back(
    args: list[str], former: str, whole: bool, told: str | None
) -> None:
    """Whoever can tell its value: a number in its place would not follow it any more."""
    maps = {"sizes": {"metadata": {"name": "sizes"}, "data": {"seqs": "64"}}}
    entry: dict[str, Any] = {"name": "SEQS", "value": "64"}
    if told in ("secret", "config map"):
        kind = "secretKeyRef" if told == "secret" else "configMapKeyRef"
        entry = {"name": "SEQS", "valueFrom": {kind: {"name": "sizes", "key": "seqs"}}}
    given = template(args=args, env=[entry] if told is not None else [])
    found = done(set_flag(given, "--max-num-seqs", 16, config_maps=maps))
    assert found.change.former == former
    assert is_former_whole(found.change) is whole
    if whole:
        assert (
            done(set_flag(found.template, "--max-num-seqs", former, config_maps=maps)).template
            == given
        )
    if told in ("config map", "literal") and whole:
        assert isinstance(set_flag(given, "--max-num-seqs", 64, config_maps=maps), NotChanged)


@pytest.mark.parametrize(
    "args",
    [["sh", "-c", "vllm serve m --chat-template '$abc'"], ["m", "--chat-template", "'$abc'"]],
)
def test_what_a_shell_is_kept_from_filling_in_is_put_back_so(args: list[str]) -> None:
    given = template(args=args)
    found = done(set_flag(given, "--chat-template", "other"))
    assert found.change.former == "'$abc'"
    assert done(set_flag(found.template, "--chat-template", found.change.former)).template == given


def test_what_a_shell_fills_in_is_written_where_a_shell_reads_it() -> None:
    assert isinstance(
        set_flag(template(args=["m", "--max-num-seqs", "64"]), "--max-num-seqs", "$SEQS"),
        NotChanged,
    )


def test_the_lines_that_go_are_shown_too() -> None:
    found = done(
        set_flag(
            template(args=["m", "--max-num-seqs=64", "--enforce-eager"]), "--max-num-seqs", None
        )
    )
    assert "---max-num-seqs=64" in found.diff
