"""Switches with a value and arguments without one, which argparse refuses; and numbers in the forms
that Python and vLLM read.
"""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


def told(*args: str, tag: str = "v0.30.0") -> list[tuple[str, str]]:
    listed = "".join(f"    - {word!r}\n" for word in args)
    text = (
        "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec:\n  containers:\n"
        f"  - name: a\n    image: vllm/vllm-openai:{tag}\n    args:\n{listed}"
    )
    found = check([document_of(text, "a.yaml")]).findings
    return [(one.message, one.fix) for one in found if one.rule == "bad-flag-value"]


@pytest.mark.parametrize(
    ("args", "message", "fix"),
    [
        (
            ["--enforce-eager=true"],
            "--enforce-eager takes no value: vLLM rejects 'true' after it",
            "--enforce-eager",
        ),
        (
            ["--enable_chunked_prefill=False"],
            "--enable_chunked_prefill takes no value: vLLM rejects 'False' after it",
            "--no-enable-chunked-prefill",
        ),
        (
            ["--disable-log-stats=false"],
            "--disable-log-stats takes no value: vLLM rejects 'false' after it",
            "leave it out",
        ),
        (["--max-num-seqs"], "--max-num-seqs has no value: vLLM refuses to start", ""),
        (
            ["--max-num-seqs", "--enforce-eager"],
            "--max-num-seqs has no value: vLLM refuses to start",
            "",
        ),
    ],
)
def test_a_switch_takes_no_value_and_the_others_one(
    args: list[str], message: str, fix: str
) -> None:
    assert told("--model=a/b", *args) == [(message, fix)]


def test_a_value_apart_is_refused_behind_a_model() -> None:
    message = "--enable-prefix-caching takes no value: vLLM rejects 'True' after it"
    assert told("a/b", "--enable-prefix-caching", "True") == [(message, "--enable-prefix-caching")]
    assert told("--model", "a/b", "--enable-prefix-caching", "True") == []


def test_what_is_right_is_not_told() -> None:
    assert (
        told(
            "--model=a/b",
            "--enforce-eager",
            "--no-enable-chunked-prefill",
            "--max-num-seqs",
            "$(SEQS)",
            "--block-size=$(SIZE)",
        )
        == []
    )
    assert told("--model=a/b", "--enable-chunked-prefill=False", tag="v0.8.2") == []


def test_numbers_are_read_as_python_reads_them() -> None:
    assert (
        told(
            "--model=a/b",
            "--max-model-len=32_768",
            "--max-num-seqs=+128",
            "--gpu-memory-utilization=0.9_5",
        )
        == []
    )
    wrong = ["--max-model-len=32_", "--max-num-seqs=1__28", "--kv-cache-memory-bytes=2_0G"]
    assert [message.partition(":")[0] for message, _ in told("--model=a/b", *wrong)] == [
        "--max-model-len",
        "--max-num-seqs",
        "--kv-cache-memory-bytes",
    ]


def of_config_file(*lines: str) -> list[str]:
    written = "".join(f"    {line}\n" for line in lines)
    text = (
        f"kind: ConfigMap\napiVersion: v1\nmetadata: {{name: c}}\ndata:\n  c.yaml: "
        f"|\n{written}---\n"
        "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec:\n  volumes: [{name: c, "
        "configMap: {name: c}}]\n"
        "  containers: [{name: a, image: 'vllm/vllm-openai:v0.30.0', args: [--model, a/b, "
        "--config, /c/c.yaml],"
        " volumeMounts: [{name: c, mountPath: /c}]}]\n"
    )
    found = check([document_of(text, "a.yaml")]).findings
    return [one.message for one in found if one.rule == "bad-flag-value"]


def test_a_config_file_is_yaml_of_the_old_kind() -> None:
    assert (
        of_config_file(
            "enforce-eager: yes",
            "enable-prefix-caching: Off",
            "max-model-len: 16_384",
            "max-num-seqs: ~",
        )
        == []
    )
    assert of_config_file("speculative-config: >-", "  {}", "max-num-seqs: |", "  8") == []
    assert of_config_file("limit-mm-per-prompt: {image: 2}") == []
    assert of_config_file("gpu-memory-utilization: null") == [
        "--gpu-memory-utilization: 'None' is not a valid value"
    ]
    assert of_config_file("max-num-seqs: on") == ["--max-num-seqs: 'true' is not a valid value"]


def test_json_is_held_to_be_json() -> None:
    config = '{"kv_connector":"X","kv_role":"kv_both"}'
    assert told("--model=a/b", "--kv-transfer-config", config, "--speculative-config={}") == []
    ((message, fix),) = told("--model=a/b", "--kv-transfer-config", config.replace('"', ""))
    assert message.endswith(
        "is no JSON: its keys have no quotes; the shell removes unescaped quotes"
    )
    assert fix == "the whole value in single quotes, its names in double ones: '{\"name\": 1}'"
    assert len(told("--model=a/b", '--hf-overrides={"a": 1')) == 1


def test_a_shell_takes_quotes_away() -> None:
    for written, count in (
        ('{"a":1}', 1),
        ("'{\"a\":1}'", 0),
        ('"{\\"a\\":1}"', 0),
        ('"{\\"a\\":$N}"', 0),
    ):
        found = check(
            [document_of(f"vllm serve a/b --hf-overrides {written} --port 8000\n", "run.sh")]
        ).findings
        assert len([one for one in found if one.rule == "bad-flag-value"]) == count


def test_pairs_were_read_until_0_9() -> None:
    assert told("--model=a/b", "--limit-mm-per-prompt", "image=4,video=1", tag="v0.9.2") == []
    message = "--limit-mm-per-prompt: 'image=4' is read up to 0.9.2 only, JSON since"
    assert [one for one, _ in told("--model=a/b", "--limit-mm-per-prompt=image=4")] == [message]


@pytest.mark.parametrize(
    ("written", "why", "fix"),
    [
        ('{"a": 1,}', "there is a comma before a }", "remove the trailing comma"),
        (
            '{"a": [1, 2,\n]}',
            "there is a comma before a ]",
            "remove the trailing comma",
        ),
        (
            '{"a": 1, \\\n"b": 2}',
            "a line ends in a backslash, which single quotes preserve",
            "remove the backslash: a quoted string may span lines",
        ),
    ],
)
def test_json_says_what_is_wrong_with_it(written: str, why: str, fix: str) -> None:
    script = f"#!/bin/sh\nvllm serve a/b --kv-transfer-config '{written}'\n"
    (found,) = [
        one for one in check([document_of(script, "a.sh")]).findings if one.rule == "bad-flag-value"
    ]
    assert found.message.endswith(f"is no JSON: {why}")
    assert found.fix == fix


@pytest.mark.parametrize("written", ["{...}", '{"model": <draft-model>}'])
def test_json_that_somebody_is_to_fill_in_is_not_judged(written: str) -> None:
    assert told("--model=a/b", "--speculative-config", written) == []
