"""`barostat simulate --kv-link`."""

from __future__ import annotations

import json

import pytest

from barostat.shells.cli.main import main

LOAD = ("--workload", "poisson:rate=4,minutes=1,input=300,output=50")
ENGINE = ("--kv-blocks", "400", "--step-time", "0.02", "--max-model-len", "2048")
LINK = ("--kv-link", "bandwidth=1e9,latency=0.001,token-bytes=131072")


def test_the_halves_and_the_link_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *LOAD, *ENGINE, *LINK, "--decode-set", "kv-blocks=600"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "and a decode engine: vLLM 0.32.0, 600 blocks" in out
    assert "of 998 blocks" in out
    assert "prefill " in out
    assert "decode " in out
    assert "GB, p50" in out


def test_the_pair_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--decode-set", "max-num-seqs=7,kv-blocks=500")
    main(["simulate", *LOAD, *ENGINE, *LINK, *words, "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    pair = document["pair"]
    assert pair["decodeSettings"]["maxNumSeqs"] == 7
    assert pair["decodeSettings"]["kvBlocks"] == 500
    assert pair["prefill"]["requests"] == pair["decode"]["requests"]
    assert pair["link"]["transfers"] == document["requests"]["finished"]
    assert pair["link"]["bytes"] > 300 * 131_072


def test_a_narrow_link_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    main(["simulate", *LOAD, *ENGINE, "--kv-link", "bandwidth=1e8,token-bytes=131072"])
    assert "The LINK IS TOO NARROW" in capsys.readouterr().out


def test_the_model_says_how_large_a_token_is(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--model-config", "Qwen/Qwen3-8B", "--gpu", "H100", "--kv-link", "bandwidth=25e9")
    main(["simulate", *LOAD, *words, "-o", "json"])
    link = json.loads(capsys.readouterr().out)["pair"]["link"]
    assert (
        link["bytes"] % (16 * 147_456) == 0
    )  # whole blocks of 36 layers, 8 heads of 128, 2 x 2 bytes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*LINK, "--until-it-breaks"), "goes without --until-it-breaks"),
        ((*LINK, "--data-parallel-size", "2"), "goes without --kv-link"),
        ((*LINK, "--steps-out", "steps.jsonl"), "is of one engine"),
        (("--kv-link", "bandwidth=1e9"), "say token-bytes=N"),
        (("--kv-link", "token-bytes=5"), "bandwidth=BYTES per second is needed"),
        (("--kv-link", "width=5"), "are known, each once"),
        (("--kv-link", "bandwidth=0,token-bytes=5"), "must be above 0"),
        (("--decode-set", "kv-blocks=9"), "say --kv-link LINK too"),
        ((*LINK, "--decode-set", "replicas=3"), "only settings of the engine"),
        ((*LINK, "--decode-set", "kv-blocks=many"), "whole number"),
        ((*LINK, "--decode-set", "dtype=half"), "dtype acts on what the twin does not model"),
    ],
)
def test_what_is_wrong_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert main(["simulate", *LOAD, *ENGINE, *words]) == 2
    assert said in capsys.readouterr().err
