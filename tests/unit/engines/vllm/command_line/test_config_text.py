"""An entry of a `--config` file is taken apart as YAML reads it, in one pass however long its line
is.
"""

from __future__ import annotations

import time

import pytest
from tests.support.machine_pace import slower

from barostat.engines.vllm.command_line.config_text import value_in, with_setting

MOST_S = 0.5
"""Of CPU. What looked for an end at each blank of the line took 2 s for 16 KiB."""


@pytest.mark.parametrize(
    ("line", "value", "changed"),
    [
        ("max-num-seqs: 4", "4", "max-num-seqs: 17"), ("max_num_seqs : 4  # few", "4", "max_num_seqs : 17  # few"),
        ("'max-num-seqs':\t4 ", "4", "'max-num-seqs':\t17 "), ("max-num-seqs:  # none", "", "max-num-seqs:  17 # none"),
        ("max-num-seqs: a#b", "a#b", "max-num-seqs: 17"), ("max-num-seqs:", "", "max-num-seqs: 17"), ("max-num-seqs:4", None, None),
    ],
)  # fmt: skip
def test_an_entry_is_a_key_a_value_and_what_follows_it(
    line: str, value: str | None, changed: str | None
) -> None:
    assert value_in(f"a: 1\n{line}\nb: 2\n", "max_num_seqs") == value
    if changed is not None:
        assert (
            with_setting(f"a: 1\n{line}\nb: 2\n", "max_num_seqs", 17) == f"a: 1\n{changed}\nb: 2\n"
        )


@pytest.mark.parametrize("repeated", [" ", "# ", " #", "\t\t ", "x "])
def test_a_line_of_any_length_is_gone_through_once(repeated: str) -> None:
    """Found by the fuzz."""
    began = time.process_time()
    value_in(f"true: \"{repeated * 60_000}\ntrue: '{repeated * 60_000}", "max_num_seqs")
    assert time.process_time() - began < MOST_S * slower()
