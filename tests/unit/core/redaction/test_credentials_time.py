"""No text makes the search for secrets slow: what a stranger repeats is gone through once."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from tests.support.machine_pace import slower

from barostat.core.redaction.credentials import arguments, clean

pytestmark = pytest.mark.sweep

LENGTH = 64_000
MOST_S = 2.0
"""Of CPU. What went through the rest of the text at each place took 7 s and more."""
REPEATED = (
    "http://a:b", "http://authorization", "tokenhttp://", "-", "--", "-x", "1-", "key=", "password ", "-----BEGIN ", "curl -u ", '\\"',
    "basic ", "?key=", "a@", "key=[", "token: (", "'", "eyJ.", "api_", "auth-", "_key_",
)  # fmt: skip


@pytest.mark.parametrize("text", REPEATED)
@pytest.mark.parametrize("taken", [clean, arguments])
def test_what_is_repeated_takes_no_longer_than_it_is_long(
    text: str, taken: Callable[[str], object]
) -> None:
    began = time.process_time()
    taken("key token http://a curl " + (text * LENGTH)[:LENGTH])
    assert time.process_time() - began < MOST_S * slower()


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\\n", "\\", '"', "x ", "a=b "])
@pytest.mark.parametrize(
    "before",
    [
        "secret",
        "password is",
        "api key provided",
        "token:",
        "authorization:",
        "name: token",
        "bearer",
        "curl -u",
        "mysql",
        "docker login",
        "--token",
    ],
)
def test_what_goes_on_without_an_end_behind_a_telling_word_is_gone_through_once(
    before: str, blank: str
) -> None:
    """Found by the fuzz: one word and 15,000 blanks took seconds."""
    began = time.process_time()
    clean(f"key {before} {blank * (LENGTH // len(blank))}")
    assert time.process_time() - began < MOST_S * slower()


def test_a_password_of_a_thousand_characters_is_still_one() -> None:
    for text in (f"postgres://u:{'p/' * 500}@db/x", f"https://{'t' * 1000}@host/x"):
        assert "[redacted]@" in clean(text)
