"""One argument changes; every other byte of the command line stays."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from barostat.catalog.settings.table import SETTINGS
from barostat.core.errors import InputError
from barostat.engines.vllm.command_line.arguments import parse
from barostat.engines.vllm.command_line.write_flag import with_flag

SCRIPT = (
    "set -e; export A=1\nexec vllm serve org/m \\\n  --port 8000 \\\n  --max-num-seqs {n} "
    "--enforce-eager > /log 2>&1  # as agreed"
)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (
            ["m/x", "--max-num-seqs", "64", "--port", "80"],
            ["m/x", "--max-num-seqs", "32", "--port", "80"],
        ),
        (["--max_num_seqs=64"], ["--max_num_seqs=32"]),
        (["m/x", "--port=80"], ["m/x", "--port=80", "--max-num-seqs=32"]),
        (["m/x", "--port", "80"], ["m/x", "--port", "80", "--max-num-seqs", "32"]),
        (["--max-num-seqs 64", "--port 80"], ["--max-num-seqs 32", "--port 80"]),
        (["--port 80 --max-num-seqs 64"], ["--port 80 --max-num-seqs 32"]),
        (["max_num_seqs=64 (tried)"], ["max_num_seqs=32 (tried)"]),
        (
            ["--max-num-seqs", "64", "--max-num-seqs", "48"],
            ["--max-num-seqs", "64", "--max-num-seqs", "32"],
        ),
        (["--max-num-seqs"], ["--max-num-seqs", "32"]),
        (["--max-num-seqs", "$(N)"], ["--max-num-seqs", "32"]),
        (["vllm", "serve"], ["vllm", "serve", "--max-num-seqs", "32"]),
        (
            ["sh", "-c", "vllm serve m | tee x"],
            ["sh", "-c", "vllm serve m --max-num-seqs 32 | tee x"],
        ),
        (
            ["sh", "-c", 'vllm serve "$@"', "--", "m/x"],
            ["sh", "-c", 'vllm serve "$@"', "--", "m/x", "--max-num-seqs", "32"],
        ),
        ([], ["--max-num-seqs", "32"]),
        ("", "--max-num-seqs 32"),
        (SCRIPT.format(n="64"), SCRIPT.format(n="32")),
        (SCRIPT.format(n="'64'"), SCRIPT.format(n="32")),
        ("vllm serve m # note", "vllm serve m --max-num-seqs 32 # note"),
        ("vllm serve m '--max-num-seqs=64'", "vllm serve m --max-num-seqs=32"),
    ],
)
def test_a_number_is_written(args: list[str] | str, expected: list[str] | str) -> None:
    assert with_flag(args, "max_num_seqs", 32) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["m/x", "--swap-space", "4", "--port", "80"], ["m/x", "--port", "80"]),
        (["m/x", "--swap-space=4", "--swap_space", "5"], ["m/x"]),
        (["m/x", "--swap-space 4", "--port 80"], ["m/x", "--port 80"]),
        (["--swap-space 4 --port 80"], ["--port 80"]),
        (["m/x"], ["m/x"]),
        ("vllm serve m \\\n  --swap-space 4 \\\n  --port 80", "vllm serve m \\\n  --port 80"),
        ("vllm serve m --swap-space=4", "vllm serve m"),
    ],
)
def test_an_argument_is_removed(args: list[str] | str, expected: list[str] | str) -> None:
    assert with_flag(args, "--swap-space", None) == expected


@pytest.mark.parametrize(
    ("args", "on", "expected"),
    [
        (["--no-enable-prefix-caching"], True, ["--enable-prefix-caching"]),
        (["--enable_prefix_caching"], False, ["--no_enable_prefix_caching"]),
        (
            ["--enable-prefix-caching", "False", "--port", "1"],
            True,
            ["--enable-prefix-caching", "--port", "1"],
        ),
        (["--port", "1"], False, ["--port", "1", "--no-enable-prefix-caching"]),
        (
            "vllm serve m --no-enable-prefix-caching -tp 2",
            True,
            "vllm serve m --enable-prefix-caching -tp 2",
        ),
    ],
)
def test_a_switch_is_set(args: list[str] | str, on: bool, expected: list[str] | str) -> None:
    assert with_flag(args, "enable_prefix_caching", on) == expected


def test_short_names_and_lists_keep_their_form() -> None:
    assert with_flag(["-tp", "2", "x/m"], "tensor_parallel_size", 4) == ["-tp", "4", "x/m"]
    assert with_flag(
        ["--served-model-name", "a", "b", "--port", "1"], "served_model_name", "c"
    ) == [
        "--served-model-name",
        "c",
        "--port",
        "1",
    ]


def test_a_value_with_blanks_is_quoted_for_a_shell_only() -> None:
    value = '{"a": 1}'
    assert (
        with_flag("vllm serve m", "speculative_config", value)
        == f"vllm serve m --speculative-config '{value}'"
    )
    assert with_flag(["m/x"], "speculative_config", value) == ["m/x", "--speculative-config", value]


def test_the_model_in_its_own_place_is_not_ours_to_write() -> None:
    with pytest.raises(InputError):
        with_flag("vllm serve org/m", "model", "org/n")
    assert with_flag(["--model", "org/m"], "model", "org/n") == ["--model", "org/n"]


NUMBERS = st.sampled_from([name for name, flag in SETTINGS.items() if flag.kind == "int"])
VALUES = st.integers(1, 10**6)
PIECES = st.lists(
    st.tuples(NUMBERS, VALUES, st.sampled_from(["dash", "under", "equals"])), min_size=1, max_size=5
)


def _list_form(pieces: list[tuple[str, int, str]]) -> list[str]:
    args = ["vllm", "serve", "org/m"]
    for name, value, form in pieces:
        option = "--" + (name if form == "under" else name.replace("_", "-"))
        args += [f"{option}={value}"] if form == "equals" else [option, str(value)]
    return args


@given(PIECES, NUMBERS, VALUES, st.booleans())
def test_only_the_named_argument_changes(
    pieces: list[tuple[str, int, str]], name: str, value: int, shell: bool
) -> None:
    args: list[str] | str = " \\\n  ".join(_list_form(pieces)) if shell else _list_form(pieces)
    before, after = parse(args), parse(with_flag(args, name, value))
    assert after.text(name) == str(value)
    others = {each: setting.text for each, setting in before.settings.items() if each != name}
    assert {
        each: setting.text for each, setting in after.settings.items() if each != name
    } == others
    assert after.model == before.model


@given(PIECES, NUMBERS, VALUES, st.booleans())
def test_adding_and_taking_away_gives_back_every_byte(
    pieces: list[tuple[str, int, str]], name: str, value: int, shell: bool
) -> None:
    args: list[str] | str = " \\\n  ".join(_list_form(pieces)) if shell else _list_form(pieces)
    assume(name not in parse(args).settings)
    assert with_flag(with_flag(args, name, value), name, None) == args


@given(PIECES, VALUES, st.booleans())
def test_changing_back_gives_back_every_byte(
    pieces: list[tuple[str, int, str]], value: int, shell: bool
) -> None:
    args: list[str] | str = " \\\n  ".join(_list_form(pieces)) if shell else _list_form(pieces)
    name = pieces[0][0]
    former = parse(args).text(name)
    assert former is not None
    assert with_flag(with_flag(args, name, value), name, int(former)) == args


@given(st.one_of(st.text(), st.lists(st.text(), max_size=4)), VALUES)
def test_any_text_is_written_or_refused(args: str | list[str], value: int) -> None:
    try:
        written = with_flag(args, "max_num_seqs", value)
    except InputError:
        return
    assert type(written) is type(args)


@pytest.mark.parametrize("script", ["&", "", "# vllm"])
def test_a_shell_text_without_a_command_gets_no_argument(script: str) -> None:
    with pytest.raises(InputError, match="no command that is known to start vLLM"):
        with_flag(["sh", "-c", script], "max_num_seqs", 17)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("vllm serve m>/log", "vllm serve m --max-num-seqs 17 >/log"),
        ("vllm serve m --max-num-seqs $N>/log", "vllm serve m --max-num-seqs 17 >/log"),
    ],
)
def test_a_number_before_a_redirection_stays_a_word(script: str, expected: str) -> None:
    """`17>/log` would send what goes to file 17 there, and give the flag no value."""
    assert with_flag(script, "max_num_seqs", 17) == expected


def test_a_value_of_several_words_in_one_argument_is_replaced_whole() -> None:
    """Found by the fuzz: `-e 8` in one argument is the value of the flag before it."""
    assert with_flag(["--max-num-seqs", "-e 8"], "max_num_seqs", 17) == ["--max-num-seqs", "17"]
