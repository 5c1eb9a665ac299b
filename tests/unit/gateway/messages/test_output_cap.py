"""One number of a body changes, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.gateway.messages.output_cap import capped
from barostat.gateway.messages.routes import OUTPUT_PARAMETERS, Route
from barostat.gateway.messages.shape import Shape, shape_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
ROUTES: list[Route] = ["chat", "batch", "completions", "responses", "messages"]


@given(
    st.sampled_from(ROUTES), st.dictionaries(st.text(), JSON, max_size=4), st.none() | st.integers(0, 10**6), st.integers(1, 10**6),
    st.sampled_from([None, 1]), st.booleans(),
)  # fmt: skip
def test_only_the_limit_changes(
    route: Route,
    document: dict[str, Any],
    stated: int | None,
    cap: int,
    indent: int | None,
    ascii_only: bool,
) -> None:
    names = OUTPUT_PARAMETERS[route]
    document = {
        key: value
        for key, value in document.items()
        if key not in ("max_tokens", "max_completion_tokens", "max_output_tokens")
    }
    written = {**document, names[-1]: stated, "after": [{"max_tokens": 5, '"': "}"}]}
    body = json.dumps(written, indent=indent, ensure_ascii=ascii_only).encode(
        "utf-8", "surrogatepass"
    )
    made = json.loads(capped(route, body, cap))
    assert made.pop(names[-1]) == (cap if stated is None else min(stated, cap))
    written.pop(names[-1])
    assert made == json.loads(json.dumps(written))


@given(st.sampled_from(ROUTES), st.dictionaries(st.text(), JSON, max_size=4), st.integers(1, 10**6))
def test_an_absent_limit_is_put_first_and_every_other_byte_survives(
    route: Route, document: dict[str, Any], cap: int
) -> None:
    document = {
        key: value
        for key, value in document.items()
        if key not in ("max_tokens", "max_completion_tokens", "max_output_tokens")
    }
    body = json.dumps(document).encode()
    made = capped(route, body, cap)
    assert made.endswith(body[1:])
    shape = shape_of(route, made)
    assert not isinstance(shape, Shape) or shape.output_limit == cap


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        (b'{"max_tokens":900,"max_tokens":800}', 50),
        (b'{"max_completion_tokens":900,"max_tokens":7}', 50),
        (b'{"max_completion_tokens":null,"max_tokens":7}', 7),
        (b'{"max_completion_tokens":null,"max_tokens":700}', 50),
        (b'{"max_completion_tokens":null,"max_tokens":null}', 50),
        (b'{"max_tokens":5,"max_tokens":null}', 50),
        (b'{"max\\u005ftokens":900}', 50),
        (b'{ }', 50),
        (b'\n{\t"a" : 1 }', 50),
        (b'{"a":"\\\\\\"max_tokens\\":","max_tokens" :\n900 }', 50),
        (b'{"max_tokens":1e3}', 50),
    ],
)  # fmt: skip
def test_what_is_in_force_afterwards(body: bytes, limit: int) -> None:
    made = json.loads(capped("chat", body, 50))
    in_force = made.get("max_completion_tokens")
    assert (made.get("max_tokens") if in_force is None else in_force) == limit


def test_a_number_in_quotes_is_a_number() -> None:
    assert capped("chat", b'{"max_tokens": "5"}', 10) == b'{"max_tokens": "5"}'
    assert capped("chat", b'{"max_tokens": "50", "n": 1}', 10) == b'{"max_tokens": 10, "n": 1}'
