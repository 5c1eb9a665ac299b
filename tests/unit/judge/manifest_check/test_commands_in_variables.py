"""Arguments that a script keeps in a variable: read as the shell hands them on, never edited where
the variable is used.
"""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check
from barostat.judge.manifest_check.scene import scene_of
from barostat.lint.facts import Engine


def engine(script: str) -> Engine:
    (found,) = scene_of([document_of(pod(script), "a.yaml")]).engines
    return found


def pod(script: str) -> str:
    lines = "".join(f"      {line}\n" for line in script.splitlines())
    return (
        "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec:\n  containers:\n  - name: "
        "a\n    image: vllm/vllm-openai:v0.32.0\n"
        f"    command: [bash, -c]\n    args:\n    - |\n{lines}    resources: {{limits: "
        f"{{nvidia.com/gpu: '2'}}}}\n"
    )


GROWING = (
    'ARGS="--max-model-len 8192 --swap-space 4"\nARGS="$ARGS --max-num-seqs=64"\nvllm serve '
    "a/b $ARGS --port 8000\n"
)


def test_a_variable_outside_of_quotes_is_several_words() -> None:
    found = engine(GROWING)
    assert {name: one.text for name, one in found.arguments.items()} == {
        "max_model_len": "8192",
        "swap_space": "4",
        "max_num_seqs": "64",
        "port": "8000",
    }


def test_the_use_of_a_variable_is_not_edited() -> None:
    findings = check([document_of(pod(GROWING), "a.yaml")]).findings
    (one,) = [finding for finding in findings if finding.rule == "unknown-flag"]
    assert (one.place.line, one.edits) == (13, ())


def test_within_quotes_it_is_one() -> None:
    assert (
        engine('M="a b"\nvllm serve a/b --served-model-name "$M"\n')
        .arguments["served_model_name"]
        .text
        == "a b"
    )


def test_a_variable_with_several_values_has_none() -> None:
    script = "if true; then\n  TP=2\nelse\n  TP=1\nfi\nvllm serve a/b --tensor-parallel-size $TP\n"
    assert engine(script).arguments["tensor_parallel_size"].text is None
    assert "idle-cards" not in [
        one.rule for one in check([document_of(pod(script), "a.yaml")]).findings
    ]
