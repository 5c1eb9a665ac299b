"""Edits of findings, made: what stands in a list's item afterwards."""

from __future__ import annotations

import pytest

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.lint.document import edited

HEAD = (
    "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec:\n  containers:\n  - name: "
    "vllm\n    image: vllm/vllm-openai:v0.32.0\n"
    "    args:\n    - --model=Qwen/Qwen3-8B\n"
)


def mended(text: str, rule: str) -> str:
    """The text with the edits of that rule's findings made."""
    found = [one for one in check([document_of(text, "a.yaml")]).findings if one.rule == rule]
    assert found
    return edited(text, [edit for one in found for edit in one.edits])[0]


@pytest.mark.parametrize(
    ("item", "after"),
    [
        ("    - --swap-space 4\n", ""),
        ("    - '--swap-space 4'\n", ""),
        ("    - --swap-space 4 --max-num-seqs 8  # both\n", "    - --max-num-seqs 8  # both\n"),
        ("    - --swap-space=4  # GiB\n", ""),
        ('    - --swap-space\n    - "4"\n', ""),
    ],
)
def test_an_argument_goes_with_its_item_where_nothing_else_is_in_it(item: str, after: str) -> None:
    assert mended(HEAD + item, "unknown-flag") == HEAD + after


@pytest.mark.parametrize(
    ("item", "after"),
    [
        ("--max-model-len 4096 --max-num-seqs 8", None),
        ('"--max-model-len 4096 --max-num-seqs 8"', None),
        ("--served-model-name one two", None),
        ("--max-num-seqs 8", '--max-num-seqs\n    - "8"'),
        ("--served-model-name yes", '--served-model-name\n    - "yes"'),
        ("--dtype True", '--dtype\n    - "True"'),
        ("--download-dir ~", '--download-dir\n    - "~"'),
        ("--kv-cache-memory-bytes 1e9", '--kv-cache-memory-bytes\n    - "1e9"'),
        ("--served-model-name org/model:v1", "--served-model-name\n    - org/model:v1"),
        (
            '--speculative-config {"method":"ngram"}',
            '--speculative-config\n    - \'{"method":"ngram"}\'',
        ),
        ("'--speculative-config {\"a\": 1}'", "'--speculative-config'\n    - '{\"a\": 1}'"),
        ("'--speculative-config {\"a\": 1} --port 1'", None),
    ],
)
def test_an_item_is_taken_apart_where_one_value_is_in_it_which_stays_a_text(
    item: str, after: str | None
) -> None:
    assert (
        mended(f"{HEAD}    - {item}\n", "flag-and-value-in-one-item")
        == f"{HEAD}    - {after or item}\n"
    )


def test_within_brackets_an_item_becomes_one_word() -> None:
    listed = HEAD.replace("args:\n    - --model=Qwen/Qwen3-8B\n", 'args: ["--model=a/b", {}]\n')
    for item, after in (
        ('"--port 8000"', '"--port=8000"'),
        ('"--port 8000 --max-num-seqs 8"',) * 2,
    ):
        assert mended(
            listed.replace("{}]", f"{item}]"), "flag-and-value-in-one-item"
        ) == listed.replace("{}]", f"{after}]")
