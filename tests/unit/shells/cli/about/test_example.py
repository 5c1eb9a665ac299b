"""The samples that come with the package: whole, and what the commands of the guide need."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from barostat.io.input_files.limits_file import load
from barostat.shells.cli.about.example import BESIDE, SAMPLES
from barostat.shells.cli.main import main

RECORDED = Path(__file__).parents[4] / "data" / "bundles" / "kv-preemption-thrash"


def test_all_are_written_once_and_never_over_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vllm.yaml").write_text("mine\n")
    assert main(["example", "all", "-o", str(tmp_path)]) == 0
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "vllm.yaml").read_text() == "mine\n"
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == {
        name for name, _, _ in SAMPLES.values()
    } | {
        *BESIDE,
        "deploy",
    }
    assert load(tmp_path / "tight.yaml").spec.request.max_stream_seconds == 30.0
    assert load(tmp_path / "limits.yaml").spec.engine.max_num_seqs
    rows = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    assert len(rows) > 400


def test_all_makes_the_folder_that_is_named(tmp_path: Path) -> None:
    assert main(["example", "all", "-o", str(tmp_path / "samples")]) == 0
    assert (tmp_path / "samples" / "deploy" / "vllm.yaml").exists()
    assert main(["example", "all", "-o", str(tmp_path / "no" / "samples")]) == 2


def test_the_bundle_is_the_recorded_one_byte_for_byte() -> None:
    with tarfile.open(fileobj=io.BytesIO(SAMPLES["bundle"][2]())) as packed:
        found = {
            member.name.partition("/")[2]: packed.extractfile(member).read()  # type: ignore[union-attr]
            for member in packed
        }
    assert found == {
        str(path.relative_to(RECORDED)): path.read_bytes()
        for path in RECORDED.rglob("*")
        if path.is_file()
    }


def test_one_goes_to_a_file_or_to_the_output(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["example", "log"]) == 0
    assert capfdbinary.readouterr().out == SAMPLES["log"][2]()
    assert main(["example", "trace", "-o", str(tmp_path / "no" / "where.jsonl")]) == 2
    assert b"cannot be written" in capfdbinary.readouterr().err
