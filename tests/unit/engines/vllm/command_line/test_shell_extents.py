"""Where quotes, substitutions and here-documents end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.engines.vllm.command_line.shell_extents import (
    end_of_double,
    end_of_expansion,
    end_of_here_document,
    references,
)


@pytest.mark.parametrize(
    "piece",
    [
        "$(a)", "$((1 + (2)))", "${a:-b c}", "${a:-${b:-c}}", '${a:-"}"}', "$(echo ')')", '$(echo ")")', "`a \\` b`", "<(a (b))",
        "$(a `b)` c)",
        "$(a # )\n)", "${a%\\}}", "${a:-$(b } )}", '$("$(")")")',
    ],
)  # fmt: skip
def test_a_substitution_ends_at_its_own_bracket(piece: str) -> None:
    assert end_of_expansion(f"x{piece} ) }} ` y", 1) == 1 + len(piece)


@pytest.mark.parametrize(
    "text",
    ["$(a", "${a", "`a", "$(case x in x) y;; esac)", "$(" * 100 + ")" * 100, "$(echo '", "`\\"],
)
def test_what_has_no_end_or_is_not_followed_is_said(text: str) -> None:
    assert end_of_expansion(text, 0) == -1


def test_double_quotes_end_behind_what_stands_in_them() -> None:
    text = '"a \\" $(echo ")") `x"y` b" c"'
    assert text[: end_of_double(text, 0)] == '"a \\" $(echo ")") `x"y` b"'
    assert end_of_double('"a', 0) == -1


def test_a_here_document_ends_at_its_marker_alone() -> None:
    text = "EOFX\n EOF\nEOF\nrest"
    assert text[end_of_here_document(text, 0, "EOF", tabs=False) :] == "rest"
    assert end_of_here_document("\tEOF", 0, "EOF", tabs=True) == 4
    assert end_of_here_document("\tEOF", 0, "EOF", tabs=False) == -1


def test_references_outside_single_quotes_are_found() -> None:
    assert references("a'$b'\"$c it's ${d}\"\\\\$e`f`$") == [
        ("$c", True),
        ("${d}", True),
        ("$e", False),
        ("`f`", False),
    ]
    assert references("\\$a '`b`'") == []


@given(st.text(alphabet="$({`'\")}<> \\\n#ab"))
def test_any_text_is_read_to_its_end(text: str) -> None:
    assert all(piece in text for piece, _ in references(text))
    assert -1 <= end_of_double(f'"{text}', 0) <= len(text) + 1
