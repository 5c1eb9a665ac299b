"""Where an answer ends is found in any pieces, and what could be read in two ways is broken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.gateway.engine_query import joined_chunks
from barostat.gateway.messages.response_framing import Framing, rewritten

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def framed(body: bytes, cuts: list[int]) -> tuple[Framing, int]:
    framing = Framing()
    assert framing.head_of(HEAD, to_head_request=False) == len(HEAD)
    used = at = 0
    for cut in [*sorted({cut % (len(body) + 1) for cut in cuts}), len(body)]:
        if framing.done or framing.broken:
            break
        if cut > at:
            used += framing.body(body[at:cut])
            at = cut
    return framing, used


@given(
    st.lists(st.binary(min_size=1, max_size=50), max_size=8),
    st.lists(st.integers(0, 600), max_size=12),
    st.booleans(),
    st.binary(max_size=5),
)
def test_chunks_in_any_pieces(
    chunks: list[bytes], cuts: list[int], trailers: bool, after: bytes
) -> None:
    end = b"0;ext=1\r\nx: y\r\n\r\n" if trailers else b"0\r\n\r\n"
    body = b"".join(b"%X \r\n%b\r\n" % (len(one), one) for one in chunks) + end
    framing, used = framed(body, cuts)
    assert framing.done
    assert not framing.broken
    assert used == len(body)
    assert joined_chunks(body) == b"".join(chunks)
    whole, used = framed(body + after, [])
    assert whole.done
    assert used == len(body)


@given(st.binary(max_size=80), st.lists(st.integers(0, 80), max_size=8))
def test_any_bytes_as_chunks_are_read_the_same_in_any_pieces(body: bytes, cuts: list[int]) -> None:
    once, _ = framed(body, [])
    often, _ = framed(body, cuts)
    assert (once.done, bool(once.broken)) == (often.done, bool(often.broken))


@given(st.integers(0, 100), st.lists(st.integers(0, 100), max_size=5))
def test_a_length_in_any_pieces(length: int, cuts: list[int]) -> None:
    framing = Framing()
    framing.head_of(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length, to_head_request=False
    )
    taken = 0
    for cut in cuts:
        if not framing.done and cut:
            taken += framing.body(b"x" * cut)
    assert taken == min(length, sum(cuts))
    assert framing.done == (sum(cuts) >= length)


@pytest.mark.parametrize("at", range(1, 40))
def test_a_head_in_two_pieces(at: int) -> None:
    head = b"HTTP/1.1 204 No Content\r\nx: y\r\n\r\n"
    framing = Framing()
    if at < len(head):
        assert framing.head_of(head[:at], to_head_request=False) == 0
        assert not framing.broken
    assert framing.head_of(head, to_head_request=False) == len(head)
    assert framing.done


@pytest.mark.parametrize(
    ("line", "keep"),
    [
        (b"connection: close", False),
        (b"Connection: Keep-Alive", True),
        (b"x: close", True),
        (b"connection: x, close", False),
    ],
)
def test_whether_the_connection_is_kept(line: bytes, keep: bool) -> None:
    framing = Framing()
    framing.head_of(
        b"HTTP/1.1 200 OK\r\n" + line + b"\r\ncontent-length: 0\r\n\r\n", to_head_request=False
    )
    assert framing.keep_alive is keep


def test_lines_are_added_to_a_head_and_the_connections_own_taken_out() -> None:
    head = b"HTTP/1.1 200 OK\r\nConnection: X\r\nx: 1\r\nKeep-Alive: 5\r\ny: 2\r\ncontent-length: 0\r\n\r\n"
    framing = Framing()
    framing.head_of(head, to_head_request=False)
    assert (
        rewritten(head, framing, b"z: 3\r\n")
        == b"HTTP/1.1 200 OK\r\ny: 2\r\ncontent-length: 0\r\nz: 3\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("status", "sent", "passed"),
    [
        (307, "Location: http://engine:8000/v1/models?a=b", "Location: /v1/models?a=b"),
        (308, "location:https://ENGINE:8000/p/v1/models", "location:/v1/models"),
        (307, "location: http://engine:8000/path", "location: /path"),
        (302, "location: http://engine:80001/v1/models", "location: http://engine:80001/v1/models"),
        (
            302,
            "location: https://login.example/v1/models",
            "location: https://login.example/v1/models",
        ),
        (302, "location: /v1/models", "location: /v1/models"),
        (302, "location: //evil/v1", "location: //evil/v1"),
        (302, "location: http://engine:8000//evil", "location: http://engine:8000//evil"),
        (302, "location: http://engine:8000/\\evil", "location: http://engine:8000/\\evil"),
        (302, "location: http://engine:8000/p//evil", "location: http://engine:8000/p//evil"),
        (200, "location: http://engine:8000/v1/models", "location: http://engine:8000/v1/models"),
    ],
)
def test_who_is_sent_on_to_the_engine_is_sent_on_to_the_same_path_here(
    status: int, sent: str, passed: str
) -> None:
    head = f"HTTP/1.1 {status} X\r\nx: http://engine:8000/\r\n{{}}\r\ncontent-length: 0\r\n\r\n"
    framing = Framing()
    framing.head_of(head.format(sent).encode(), to_head_request=False)
    assert (
        rewritten(head.format(sent).encode(), framing, own=b"engine:8000", prefix=b"/p")
        == head.format(passed).encode()
    )


def test_a_length_of_thousands_of_digits_is_refused() -> None:
    framing = Framing()
    assert (
        framing.head_of(
            b"HTTP/1.1 200 OK\r\ncontent-length: " + b"9" * 5000 + b"\r\n\r\n",
            to_head_request=False,
        )
        == 0
    )
    assert "content length" in framing.broken
