"""What compose puts in from the `.env` beside the file is read with it; secrets are left where they
are.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from barostat.io.manifests.read import read_file
from barostat.judge.manifest_check.check import check

COMPOSE = """\
services:
  chat:
    image: vllm/vllm-openai:${TAG:-v0.17.0}
    command: --model ${MODEL} --max-model-len 8192 --swap-space 4 --api-key ${CHAT_KEY}
    volumes: [hf:/root/.cache]
"""


@pytest.mark.parametrize(
    ("env", "found"),
    [
        (None, ["flag-does-nothing"]),
        ("OTHER=1\n", ["flag-does-nothing"]),
        ("# pinned\nTAG=v0.18.0\n", ["unknown-flag"]),
        ("export TAG = 'v0.18.0' # pinned\n", ["unknown-flag"]),
        ("TAG=v0.18.0\nCHAT_KEY=sk-abcdefghijklmnop0123456789\n", ["unknown-flag"]),
        ("TAG=v0.18.0\nMODEL=hf_abcdefghijklmnopqrstuvwxyzABCDEFGH\n", ["unknown-flag"]),
    ],
)
def test_a_tag_from_the_folder(tmp_path: Path, env: str | None, found: list[str]) -> None:
    (tmp_path / "compose.yaml").write_text(COMPOSE)
    if env is not None:
        (tmp_path / ".env").write_text(env)
    document = read_file(tmp_path / "compose.yaml")
    assert [one.rule for one in check([document]).findings] == found
    assert "CHAT_KEY" not in document.variables
    assert not any(value.startswith("hf_") for value in document.variables.values())


def test_other_files_have_none(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TAG=v0.18.0\n")
    (tmp_path / "pod.yaml").write_text("kind: Pod\nspec: {containers: []}\n")
    assert read_file(tmp_path / "pod.yaml").variables == {}
