"""Files that mention vLLM and gave nothing to judge: each is a note with the reason."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check


@pytest.mark.parametrize(
    ("text", "file", "reason"),
    [
        ("pip install vllm\n", "a.sh", "a script in which no command"),
        ("jobs: [{name: vllm, program: x}]\n", "a.yaml", "a file in which no command"),
        (
            "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: 'x/vllm:1'}]}\n",
            "a.yaml",
            "what x/vllm:1 starts is not in its command",
        ),
        ("kind: Thing\nspec: {engine: vllm}\n", "a.yaml", "a Thing in which"),
    ],
)
def test_a_file_that_mentions_vllm_is_a_note(text: str, file: str, reason: str) -> None:
    (note,) = check([document_of(text, file)]).unread
    assert note.severity == "note"
    assert note.rule == "not-checked"
    assert reason in note.message


@pytest.mark.parametrize(
    "text",
    [
        "kind: Service\nmetadata: {name: vllm}\nspec: {}\n",
        "kind: PersistentVolumeClaim\nmetadata: {name: vllm}\n",
        "kind: ConfigMap\ndata: {URL: 'http://vllm:8000'}\n",
        "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: vllm-client, image: 'x:1'}]}\n",
        "# vllm\nkind: Thing\n",
        "services:\n  a: {image: team/vllm-router:v1}\n",
        (
            "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: "
            "'vllm/vllm-openai:v0.32.0', args: [--model, a/b]}]}\n"
        ),
    ],
)
def test_what_starts_nothing_or_was_read_is_not(text: str) -> None:
    assert check([document_of(text, "a.yaml")]).unread == ()
