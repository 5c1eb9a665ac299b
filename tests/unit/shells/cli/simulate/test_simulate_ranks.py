"""`barostat simulate --data-parallel-size N`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barostat.shells.cli.main import main

ENGINE = ("--kv-blocks", "64", "--step-time", "0.02", "--max-model-len", "1024")
TWO = ("--data-parallel-size", "2")


def _trace(tmp_path: Path) -> str:
    rows = [
        {
            "arrival_s": n * 0.01,
            "input_tokens": 80,
            "output_tokens": 150,
            "data_parallel_rank": 1 if n % 20 else 0,
        }
        for n in range(80)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_the_rank_that_thrashes_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["simulate", "--trace", _trace(tmp_path), *ENGINE, *TWO])
    out = capsys.readouterr().out
    assert "2 data-parallel ranks like this" in out.replace("\n", " ")
    assert "of 126 blocks" in out
    assert "Rank 1 THRASHES" in out
    assert "rank 0 not." in out


def test_the_ranks_are_told_apart_in_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["simulate", "--trace", _trace(tmp_path), *ENGINE, *TWO, "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    assert [one["requests"] for one in document["ranks"]] == [4, 76]
    assert [one["thrashes"] for one in document["ranks"]] == [False, True]
    assert sum(one["preemptions"] for one in document["ranks"]) == document["preemptions"]
    assert document["ranksStepTogether"] is False


def test_the_ranks_have_a_page_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    main(["simulate", "--trace", _trace(tmp_path), *ENGINE, *TWO, "--html", str(page)])
    assert "Data-parallel ranks:" in capsys.readouterr().out
    assert "Rank 1 THRASHES" in page.read_text()


def test_a_mixture_of_experts_steps_together(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--workload", "poisson:rate=2,minutes=1,input=100,output=20", "--gpu", "H100")
    main(["simulate", *words, "--model-config", "Qwen/Qwen3-30B-A3B", *TWO, "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["ranksStepTogether"] is True
    assert document["dummySteps"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--until-it-breaks",), "goes without --until-it-breaks"),
        (("--steps-out", "steps.jsonl"), "is of one engine"),
    ],
)
def test_what_is_of_one_engine_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...], said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "--trace", _trace(tmp_path), *ENGINE, *TWO, *words]) == 2
    assert said in capsys.readouterr().err


def test_a_row_of_a_rank_that_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"arrival_s": 0, "input_tokens": 5, "output_tokens": 5, "data_parallel_rank": 2}\n'
    )
    assert main(["simulate", "--trace", str(path), *ENGINE, *TWO]) == 2
    assert "asks for rank 2 of 2" in capsys.readouterr().err
