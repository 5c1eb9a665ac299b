"""What Envoy is told, as messages."""

from __future__ import annotations

from envoy.service.ext_proc.v3.external_processor_pb2 import HttpBody, ProcessingRequest

from barostat.gateway.ext_proc import messages
from barostat.gateway.messages.refusal_bodies import answer


def test_the_engine_is_named_in_a_header_and_in_the_metadata() -> None:
    told = messages.to_engine(
        "10.0.0.7:8000", headers=[("x-more", b"1")], removed=["authorization"], body=b"{}"
    )
    common = told.request_body.response
    headers = {
        option.header.key: option.header.raw_value for option in common.header_mutation.set_headers
    }
    assert headers == {
        "x-gateway-destination-endpoint": b"10.0.0.7:8000",
        "x-more": b"1",
        "content-length": b"2",
    }
    assert list(common.header_mutation.remove_headers) == ["authorization"]
    assert common.body_mutation.body == b"{}"
    metadata = told.dynamic_metadata.fields["envoy.lb"].struct_value.fields
    assert metadata["x-gateway-destination-endpoint"].string_value == "10.0.0.7:8000"


def test_a_refusal_is_the_answer_of_the_embedded_form_without_what_envoy_writes_itself() -> None:
    whole = answer(
        429, "over-capacity", "There is no room.", route="chat", retry_after_s=2.2, close=True
    )
    told = messages.at_once(429, whole).immediate_response
    headers = {option.header.key: option.header.raw_value for option in told.headers.set_headers}
    assert told.status.code == 429
    assert headers == {
        "content-type": b"application/json",
        "x-barostat-reason": b"over-capacity",
        "retry-after": b"3",
    }
    assert told.body == whole.partition(b"\r\n\r\n")[2]


def test_a_full_duplex_body_is_told_whole_in_pieces_that_envoy_takes() -> None:
    for size in (0, 1, 62 << 10, (62 << 10) + 1, 400_000):
        body = bytes(at % 251 for at in range(size))
        pieces = [
            told.request_body.response.body_mutation.streamed_response
            for told in messages.streamed_body(body)
        ]
        assert b"".join(piece.body for piece in pieces) == body
        assert [piece.end_of_stream for piece in pieces] == [False] * (len(pieces) - 1) + [True]
        assert all(len(piece.body) <= 64 << 10 for piece in pieces)


def test_a_piece_of_an_answer_goes_on_as_it_came() -> None:
    told = messages.streamed_answer(
        HttpBody(body=b"data: x", end_of_stream=True)
    ).response_body.response.body_mutation.streamed_response
    assert (told.body, told.end_of_stream) == (b"data: x", True)


def test_the_subset_that_a_gateway_allows() -> None:
    message = ProcessingRequest()
    assert messages.allowed_endpoints(message) is None
    hint = message.metadata_context.filter_metadata["envoy.lb.subset_hint"].fields[
        "x-gateway-destination-endpoint-subset"
    ]
    hint.list_value.values.add().string_value = "10.0.0.7:8000"
    hint.list_value.values.add().string_value = " 10.0.0.8:8000"
    assert messages.allowed_endpoints(message) == frozenset({"10.0.0.7:8000", "10.0.0.8:8000"})
    hint.string_value = "10.0.0.9:8000,"
    assert messages.allowed_endpoints(message) == frozenset({"10.0.0.9:8000"})
