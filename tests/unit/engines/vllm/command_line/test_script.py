"""What an entrypoint script starts is read where it can be read, and nothing else of the script
goes on.
"""

from __future__ import annotations

import pytest

from barostat.engines.vllm.command_line.config import resolve
from barostat.engines.vllm.command_line.script import as_command, script_line

ARGUMENTS = ("/scripts/run.sh", "--model", "m/x", "--max-num-seqs", "64")


@pytest.mark.parametrize(
    ("script", "command"),
    [
        ('exec vllm serve "$@"', "exec vllm serve --model m/x --max-num-seqs 64"),
        (
            'exec vllm serve m/y --seed $SEED "$@"',
            "exec vllm serve m/y --seed $SEED --model m/x --max-num-seqs 64",
        ),
        ("vllm serve $MODEL --port $PORT", "exec vllm serve m/z --port $PORT"),
        (
            "export VLLM_USE_V1=0\nexport KEY=sk-1\ntok <<< sk-2\nvllm serve m/y",
            "VLLM_USE_V1=0 exec vllm serve m/y",
        ),
        (
            "python -m vllm.entrypoints.openai.api_server --model 'm/y' --port 1",
            "exec vllm serve --model m/y --port 1",
        ),
    ],
)
def test_the_engines_own_command_is_what_is_left(script: str, command: str) -> None:
    line = script_line(["sh", "-c", script, *ARGUMENTS], {"MODEL": "m/z"})
    assert line is not None
    kept = {name: value for name, value in line.env.items() if name.startswith("VLLM_")}
    assert as_command(line, kept) == ["sh", "-c", command]


@pytest.mark.parametrize(
    "script",
    [
        'ARGS=("$@"); exec vllm serve "${ARGS[@]}"',
        'MODE=$1; shift; exec vllm serve "$@"',
        ". /scripts/common.sh; start_engine",
        "#!/usr/bin/env python3\nimport os\nos.execvp('vllm', ['vllm', 'serve'])",
        "exec vllm serve m/y $EXTRA_ARGS",
    ],
)
def test_what_may_start_anything_tells_nothing(script: str) -> None:
    assert script_line(["sh", "-c", script, *ARGUMENTS]) is None


def test_all_of_an_array_is_not_taken_for_the_model() -> None:
    """Behind it any argument may stand: no default is certain."""
    found = resolve(args=("sh", "-c", 'ARGS=("$@"); exec vllm serve "${ARGS[@]}"', *ARGUMENTS))
    assert not found.values["max_num_batched_tokens"].certain
