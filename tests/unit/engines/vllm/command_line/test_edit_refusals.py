"""What is not understood is refused with its reason; what is, is edited."""

from __future__ import annotations

import shutil
import time
from itertools import islice
from pathlib import Path

import pytest
from tests.support.machine_pace import slower
from tests.support.shell_scripts import (
    Runner,
    Script,
    Start,
    kept_scripts,
    made_scripts,
    without_flag,
)

from barostat.core.errors import InputError
from barostat.engines.vllm.command_line.arguments import parse, script_index
from barostat.engines.vllm.command_line.edit_refusals import why_not_edited
from barostat.engines.vllm.command_line.write_flag import changed_elements, with_variable

SERVE = "vllm serve m --max-num-seqs 8"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{SERVE} --port `cat /port`", "backticks"),
        (f'{SERVE} --port "`cat /port`"', "backticks"),
        (f"cat <<EOF\n{SERVE}\nEOF\n{SERVE}", "here-document"),
        (f"cat <<-'EOF' > f\n{SERVE}\nEOF", "here-document"),
        (f"{SERVE} --served-model-name $'a\\tb'", r"\$'"),
        (f'{SERVE} --served-model-name $"a"', r"\$'"),
        (f'eval "{SERVE}"', "eval"),
        (f"sh -c '{SERVE}'", "another shell"),
        (f"exec /bin/bash -lc '{SERVE}'", "has a text that starts vLLM"),
        (f"vllm() {{ command vllm $@; }}; {SERVE}", "function"),
        (f"function vllm {{ command vllm; }}; {SERVE}", "function"),
        (f"{SERVE} & {SERVE} --port 1", "2 places"),
        (f"C='{SERVE}'; $C; {SERVE}", "a text that starts vLLM"),
        (f"trap '{SERVE}' EXIT; {SERVE}", "trap"),
        (f"X=$({SERVE})", "substitution"),
        (f"xargs {SERVE}", "xargs"),
        (f"ssh host {SERVE}", "ssh"),
        (f"alias x=y; {SERVE}", "alias"),
        ("exec $CMD", "no command"),
        (f"{SERVE}\r\n", "carriage return"),
        (f"{SERVE} 80>log", "redirection"),
        ("vllm serve -- m", "behind --"),
        (f"{SERVE} <<E\nx", "never closed"),
        (f"{SERVE} \\", "ends in a backslash"),
    ],
)
def test_what_is_not_understood_is_left_alone_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        changed_elements(["sh", "-c", text], "max_num_seqs", 4)
    assert with_variable(["sh", "-c", f"X=1; {text}"], "X", "2") is None


@pytest.mark.parametrize(
    "text",
    [
        SERVE,
        f"export A='`b`' && exec {SERVE}",
        f"set -e; # it's `old`\n{SERVE} --served-model-name 'a <<b' \"c\\`d\"",
        f"if [ -f x ]; then . x; fi; A=$(nproc) {SERVE}",
        f"(sleep 1; echo up) & {SERVE} 2>&1 | tee log",
        f"run() {{ {SERVE}; }}; run",
        f"for i in 1 2; do {SERVE}; done",
        f"while true; do {SERVE}; sleep 1; done",
        f"case x in x) {SERVE};; esac",
        f"cat >f <<EOF\nit's `x` (\nEOF\n{SERVE}",
        f"N=`nproc`; {SERVE} --port $((N + 1))",
        f'H="$(echo ")" | tr -d \')\')"; {SERVE}',
        f"echo vllm serve m --max-num-seqs 9; {SERVE}",
        f"{SERVE} --override-generation-config '{{\"f()\": 1}}'",
    ],
)
def test_what_is_understood_is_edited_in_that_word_alone(text: str) -> None:
    assert why_not_edited(text) == ""
    assert changed_elements(["sh", "-c", text], "max_num_seqs", 4)[2][1] == text.replace(
        "--max-num-seqs 8", "--max-num-seqs 4"
    )


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m $(",
        "vllm serve m --x $(cat x",
        "vllm serve m --x ${A",
        "vllm serve m --x $((1+(2)",
    ],
)
def test_what_is_opened_and_never_closed_is_left_alone(text: str) -> None:
    with pytest.raises(InputError, match="is not followed"):
        changed_elements(["sh", "-c", text], "max_num_seqs", 4)


@pytest.mark.sweep
@pytest.mark.parametrize("piece", ["--x ", "$((", "$(", '"$(', "${a:-", "<<-a\n", "{ ", "sh -c '"])
def test_what_is_repeated_is_read_in_time_and_what_is_too_long_is_said(piece: str) -> None:
    began = time.process_time()
    found = parse("vllm serve m " + piece * (4_000_000 // len(piece)))
    assert time.process_time() - began < 2.0 * slower()
    assert found.problems


@pytest.mark.sweep
def test_a_long_word_takes_no_longer_than_it_is() -> None:
    began = time.process_time()
    assert why_not_edited("vllm serve " + "a" * 130_000) == ""
    assert time.process_time() - began < 2.0 * slower()


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (
            "vllm serve m --max-num-seqs 8 $EXTRA --port 1",
            "vllm serve m $EXTRA --port 1 --max-num-seqs 4",
        ),
        ("vllm serve m $F 8", "vllm serve m $F 8 --max-num-seqs 4"),
        ("vllm serve --max-num-seqs 8 $MODEL", "vllm serve --max-num-seqs 4 $MODEL"),
        ('vllm serve m --max-num-seqs "8">log', "vllm serve m --max-num-seqs 4 >log"),
        ("vllm serve m>log", "vllm serve m --max-num-seqs 4 >log"),
    ],
)
def test_what_a_reference_may_hold_does_not_win_over_the_edit(text: str, after: str) -> None:
    assert changed_elements(["bash", "-c", text], "max_num_seqs", 4)[2][1] == after


def test_what_the_kubelet_fills_in_may_be_an_argument_too() -> None:
    given = ["vllm", "serve", "m", "--max-num-seqs=8", "$(EXTRA)"]
    assert [word for _, word in changed_elements(given, "max_num_seqs", 4)] == [
        "vllm",
        "serve",
        "m",
        "$(EXTRA)",
        "--max-num-seqs=4",
    ]
    with pytest.raises(InputError, match=r"\$\(EXTRA\) may hold max_num_seqs"):
        changed_elements(given, "max_num_seqs", None)
    named = ["$(MODEL)", "--max-num-seqs=8"]
    assert changed_elements(named, "max_num_seqs", None) == [(0, "$(MODEL)")]


@pytest.mark.parametrize("value", ["$(echo 1 --port 2)", "{1,2}", '"${A[@]}"', "`x`", "${N:-1 2}"])
def test_a_value_that_may_be_several_words_is_not_replaced(value: str) -> None:
    with pytest.raises(InputError, match=r"several words|backticks"):
        changed_elements(
            ["bash", "-c", f"vllm serve m --max-num-seqs {value} --port 1"], "max_num_seqs", 4
        )


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m $EXTRA --max-num-seqs 8",
        "vllm serve m $F 8 --port 1",
        'set -- m; vllm serve "$@"',
    ],
)
def test_what_a_reference_may_hold_is_not_said_to_be_gone(text: str) -> None:
    with pytest.raises(InputError, match="may hold"):
        changed_elements(["bash", "-c", text], "max_num_seqs", None)


EDITS: tuple[tuple[str, int | float | str | bool | None], ...] = (
    ("max_num_seqs", 37),
    ("max_num_seqs", None),
    ("max_model_len", 2048),
    ("enforce_eager", False),
    ("gpu_memory_utilization", 0.85),
    ("speculative_config", '{"a": 1, "b": "it\'s"}'),
)
SCRIPTS = [*kept_scripts(), *made_scripts(180)]
GROUPS = 10
SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]


@pytest.mark.sweep
@pytest.mark.parametrize("group", range(GROUPS))
def test_scripts_that_are_run_start_the_server_with_exactly_that_changed(
    group: int, tmp_path: Path
) -> None:
    """Each script is run before and after under each shell; the servers' words differ in that
    argument alone, and so does nothing else.
    """
    assert SHELLS, "neither dash nor bash is here"
    runner = Runner(tmp_path)
    edited = started = 0
    for script in islice(SCRIPTS, group, None, GROUPS):
        before = {
            (shell, env): runner.run([shell, "-c", script.text], env)
            for shell in SHELLS
            for env in script.environments
        }
        started += any(start.serves for starts, _ in before.values() for start in starts)
        for name, value in EDITS:
            try:
                text = changed_elements(["sh", "-c", script.text], name, value)[2][1]
            except InputError:
                continue
            edited += 1
            for (shell, env), (starts, left) in before.items():
                after, left_after = runner.run([shell, "-c", text], env)
                assert left_after == left, (script.name, shell, text)
                _differs_in(
                    name, value, starts, after, f"{script.name} under {shell} with {env}: {text}"
                )
        _variable_differs(runner, script, before)
    assert started >= 35, "the scripts of this group start too few servers to tell anything"
    assert edited >= 100, "too much is refused"


def _differs_in(
    name: str,
    value: int | float | str | bool | None,
    before: list[Start],
    after: list[Start],
    where: str,
) -> None:
    bare = name.replace("_", "-")
    spellings = [f"--{bare}", f"--{name}", f"--no-{bare}", f"--no_{name}"]
    switch = isinstance(value, bool)
    expected = sorted(
        (
            without_flag(start.words, spellings, switch=switch)[0]
            if start.serves
            else [*start.words],
            start.environment,
        )
        for start in before
    )
    found = sorted(
        (
            without_flag(start.words, spellings, switch=switch)[0]
            if start.serves
            else [*start.words],
            start.environment,
        )
        for start in after
    )
    assert found == expected, where
    for start in after:
        if start.serves:
            values = without_flag(start.words, spellings, switch=switch)[1]
            assert values[-1:] == ([] if value is None else [str(value)]), where


def _variable_differs(
    runner: Runner,
    script: Script,
    before: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[list[Start], dict[str, str]]],
) -> None:
    for value in ("6", None):
        changed = with_variable(["sh", "-c", script.text], "VLLM_CPU_KVCACHE_SPACE", value)
        if changed is None:
            continue
        for (shell, env), (starts, left) in before.items():
            if shell == "dash" and "bash" in script.name:
                continue  # its way to set a variable is no command there
            after, left_after = runner.run([shell, "-c", changed[2][1]], env)
            assert left_after == left
            assert [start.words for start in after] == [start.words for start in starts], (
                script.name,
                changed,
            )
            assert all(
                start.environment[-1] == f"KV={value or ''}" for start in after if start.serves
            ), (script.name, shell, changed)


def test_there_are_enough_scripts() -> None:
    assert len(SCRIPTS) >= 300
    assert len({script.text for script in SCRIPTS}) == len(SCRIPTS)


ELEMENTS = (
    ["sh", "-c", "--", "exec vllm serve m --max-num-seqs 8"],
    ["bash", "-c", "-e", "vllm serve m --max-num-seqs 8"],
    ["bash", "-euxo", "pipefail", "-c", "vllm serve m --max-num-seqs 8"],
    ["bash", "-o", "errexit", "-c", "vllm serve m --max-num-seqs 8"],
    ["env", "A=1", "sh", "-ec", "vllm serve m --max-num-seqs 8"],
    ["sh", "-c", 'exec vllm serve "$@"', "--", "m", "--max-num-seqs", "8"],
    ["sh", "-c", 'exec "$@"', "--", "vllm", "serve", "m", "--max-num-seqs", "8"],
    ["sh", "-c", 'vllm serve m --max-num-seqs 8 "$@"', "--", "--port", "80"],
    ["sh", "-c", 'vllm serve --max-num-seqs 8 "$@"', "--", "m", "--max-num-seqs", "9"],
    ["sh", "-c", 'shift; vllm serve m "$@"', "--", "--max-num-seqs", "8", "--port", "80"],
    ["sh", "-c", 'set -- m --max-num-seqs 9; vllm serve "$@"', "--", "--max-num-seqs", "8"],
    ["sh", "-c", 'run() { vllm serve m "$@"; }; run --max-num-seqs 9', "--", "--max-num-seqs", "8"],
    ["sh", "-c", "vllm serve m", "--max-num-seqs", "8"],
    ["sh", "-c", "vllm serve m $1 $2", "--", "--max-num-seqs", "8"],
    ["sh", "-c", 'vllm serve m "$*"', "--", "--max-num-seqs=8"],
    ["sh", "-c", "exec python3 launch.py --max-num-seqs 8"],
    ["env", "vllm", "serve", "m", "--max-num-seqs", "8"],
)


@pytest.mark.parametrize("elements", ELEMENTS, ids=lambda elements: " ".join(elements))
def test_a_shell_among_other_words_is_found_and_what_it_gets_is_changed_alone(
    elements: list[str], tmp_path: Path
) -> None:
    runner = Runner(tmp_path)
    before, left = runner.run(elements, ())
    for name, value in EDITS[:3]:
        try:
            changed = [text for _, text in changed_elements(elements, name, value)]
        except InputError:
            continue
        after, left_after = runner.run(changed, ())
        assert left_after == left
        _differs_in(name, value, before, after, f"{changed}")


def test_a_program_in_python_is_no_shell_text() -> None:
    assert script_index(["python3", "-c", "import vllm; serve('vllm serve m')"]) is None
    assert script_index(["sh", "-c", "--", "vllm serve m"]) == 3
    assert script_index(["sh", "run.sh", "-c", "8"]) is None


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c"],
        ["/bin/bash"],
        ["", "sh", "-x", "+e"],
        ["sh", "-", "-c", "-vllm"],
        ["sh", "-c", "--max-num-se"],
    ],
)
def test_a_shell_without_a_text_gets_no_argument(words: list[str]) -> None:
    with pytest.raises(InputError, match="no vLLM command was found"):
        changed_elements(words, "max_num_seqs", 4)
