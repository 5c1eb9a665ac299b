"""What a command line leaves open, as it is written and with what is told of it."""

from __future__ import annotations

import pytest

from barostat.engines.vllm.command_line.arguments import parse
from barostat.engines.vllm.command_line.open_words import open_words, untold_words


@pytest.mark.parametrize(
    ("args", "written", "untold"),
    [
        (
            ["sh", "-c", "vllm serve $MODEL --port $PORT $MORE --$NAME 5"],
            ["$MORE", "--$NAME"],
            ["--$NAME"],
        ),
        (["sh", "-c", "vllm serve m $MODEL"], ["$MODEL"], ["$MODEL"]),
        (
            ["sh", "-c", 'vllm serve --model "$WHICH" "${A[@]}" $1'],
            ['"${A[@]}"', "$1"],
            ['"${A[@]}"', "$1"],
        ),
        (
            ["sh", "-c", 'vllm serve m x$@ --served-model-name a "$B"'],
            ["x$@", '"$B"'],
            ["x$@", '"$B"'],
        ),
        (["$(WHICH)", "--port", "$(PORT)", "$(MORE)"], ["$(MORE)"], []),
        (["m", "--lora-modules", "a=$(A)", "b=$(B)", "--seed=$(S)"], [], []),
        (["--model=$(WHICH)", "$(EXTRA)"], ["$(EXTRA)"], ["$(EXTRA)"]),
    ],
)
def test_a_word_is_open_where_an_argument_can_stand(
    args: list[str], written: list[str], untold: list[str]
) -> None:
    assert [word.raw or word.text for word in open_words(parse(args))] == written
    told = parse(args, {"MORE": "--seed 1"})
    assert [word.raw or word.text for word in untold_words(told)] == untold
