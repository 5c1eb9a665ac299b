"""What comes through a port-forward is read as far as it goes, whatever it is."""

from __future__ import annotations

import h11

from barostat.io.kubernetes.client.sockets import _Response


def test_a_content_type_of_any_bytes_is_text() -> None:
    wire = h11.Connection(h11.CLIENT)
    wire.send(h11.Request(method="GET", target="/metrics", headers=[("host", "x")]))
    wire.send(h11.EndOfMessage())
    response = _Response(wire, 100)
    response.feed(b"HTTP/1.1 200 OK\r\ncontent-type: text/pl\xd0in\r\ncontent-length: 2\r\n\r\nok")
    assert (response.status, response.answer("").body, response.whole) == (200, b"ok", True)
