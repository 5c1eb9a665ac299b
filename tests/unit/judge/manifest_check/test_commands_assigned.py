"""Variables that the shell text of a container sets are the engine's, as those of its `env` are."""

from __future__ import annotations

from barostat.io.manifests.read import document_of
from barostat.judge.manifest_check.check import check

TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz12345678"


def told(script: str) -> list[tuple[int, str]]:
    lines = "".join(f"      {line}\n" for line in script.splitlines())
    text = (
        "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec:\n  containers:\n  - name: "
        "a\n    image: vllm/vllm-openai:v0.32.0\n"
        f"    command: [bash, -c]\n    args:\n    - |\n{lines}    resources: {{limits: "
        f"{{nvidia.com/gpu: '2'}}}}\n"
    )
    found = check([document_of(text, "a.yaml")]).findings
    return [(one.place.line, one.rule) for one in found if one.persona == "ordinary"]


def test_engines_that_share_the_cards_leave_none_idle() -> None:
    both = (
        "CUDA_VISIBLE_DEVICES=0 vllm serve a/b --port 1 &\nCUDA_VISIBLE_DEVICES=1 vllm serve "
        "a/b --port 2 &\nwait\n"
    )
    assert told(both) == []
    assert told("vllm serve a/b --port 1\n") == [(12, "idle-cards")]


def test_what_is_exported_is_judged_where_it_is_set() -> None:
    script = (
        f"set -e\nexport VLLM_USE_V1=0 HF_TOKEN={TOKEN}\nvllm serve a/b -tp 2 --enforce-eager\n"
    )
    assert [one for one in told(script) if one[0] == 12] == [
        (12, "first-generation-forced"),
        (12, "secret-in-plain-text"),
    ]
