"""The command line itself: help loads nothing that it does not need."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from barostat.shells.cli.main import main

DEAR = {
    "asyncio",
    "tempfile",
    "ssl",
    "dataclasses",
    "yaml",
    "httpx",
    "rich",
    "msgspec",
    "importlib.metadata",
}


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["diagnose", "--help"], ["mitigate", "--help"], ["plan", "--help"]],
)
def test_help_loads_nothing_dear(words: list[str]) -> None:
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
        f"sys.argv = ['barostat', *{words!r}]; "
    )
    code += "from barostat.shells.cli.main import run; run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "barostat" in done.stdout
    loaded = set(done.stderr.split())
    assert "barostat.shells.cli.main" in loaded
    assert not loaded & DEAR


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["diagnose", "--outptu", "json"],
            (
                "barostat diagnose: unrecognized arguments: --outptu; did you mean --output? "
                "(barostat diagnose --help"
            ),
        ),
        (["check", "x.yaml", "--prfoile=strict"], "did you mean --profile?"),
        (
            ["limits", "diff", "a", "b", "--exitzero"],
            "barostat limits: unrecognized arguments: --exitzero; did you mean --exit-zero?",
        ),
        (
            ["diagnose", "-z"],
            "barostat diagnose: unrecognized arguments: -z (barostat diagnose --help shows how)",
        ),
        (["diagnose", "--json"], "unrecognized arguments: --json; did you mean -o json?"),
        (["config", "shwo"], "barostat config: argument show: invalid choice"),
    ],
)
def test_a_flag_that_is_not_there_is_answered_by_its_verb(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert says in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["-n", "inference", "diagnose", "deploy/vllm"],
            "a verb's flags come after it: barostat diagnose -n inference deploy/vllm\n",
        ),
        (["--log", "a b.log", "diagnose"], "barostat diagnose --log 'a b.log'\n"),
        (["-n", "inference"], "no verb is called 'inference'"),
        (["diagnos", "plan"], "no verb is called 'diagnos'"),
    ],
)
def test_flags_before_the_verb_are_told_their_place(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("verb", "one_of"),
    [
        ("example", "(trace, bundle, manifest, limits, log, all)"),
        ("limits", "(show, validate, diff, schema)"),
    ],
)
def test_a_word_that_is_missing_is_told_with_what_it_may_be(
    verb: str, one_of: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb])
    assert ended.value.code == 2
    assert one_of in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "Qwen/Qwen3-8B", "--gpu", "H100", "--api-key", "Zq8kLm77x"],
        ["what-if", "http://u:Zq8kLm77x@127.0.0.1:9", "--set", "x=1"],
        ["diagnose", "deploy/x", "--kubeconfig", "https://u:Zq8kLm77x@host"],
        ["limits", "validate", "/nowhere?token=Zq8kLm77x"],
    ],
)
def test_a_refused_argument_is_said_without_the_secret_in_it(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(words)
    except SystemExit as end:
        code = int(end.code or 0)
    told = capsys.readouterr().err
    assert code == 2
    assert "Zq8kLm77x" not in told
    assert "[redacted]" in told


def test_more_flags_than_any_verb_has_are_refused_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Found by the fuzz: argparse looks through all of them for each. What stands behind `--` is
    the engine's.
    """
    assert main(["plan", *["--kv-cach", "64"] * 20_000]) == 2
    assert (
        "20,000 flags are more than any verb has; at most 1,000 are read" in capsys.readouterr().err
    )
    assert (
        main(
            [
                "plan",
                "--model",
                "Qwen/Qwen3-8B",
                "--gpu",
                "H100",
                "--",
                *["--max-num-seqs", "64"] * 2_000,
            ]
        )
        == 0
    )


@pytest.mark.parametrize("verb", ["example", "report"])
def test_the_prose_of_a_help_is_as_wide_as_the_terminal(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    prose, _, examples = capsys.readouterr().out.partition("\nexamples:\n")
    assert max(map(len, prose.splitlines())) <= 80
    assert examples.count(f"\n  barostat {verb} ") >= 1


@pytest.mark.parametrize("action", ["validate", "show"])
def test_limits_are_read_from_a_pipe(
    action: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    document = b"apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nspec: {request: {maxInputTokens: 100}}\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(document)))
    assert main(["limits", action, "-"]) == 0
    assert {"validate": "stdin: valid", "show": "request.maxInputTokens"}[
        action
    ] in capsys.readouterr().out
    for wrong, said in (
        (b"\xff\xfe", "stdin: is not UTF-8 text"),
        (b"x" * 1_000_001, "stdin: is larger than 1 MB"),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(wrong)))
        assert main(["limits", action, "-"]) == 2
        assert said in capsys.readouterr().err
