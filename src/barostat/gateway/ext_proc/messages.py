"""Replies to Envoy as messages of `ext_proc` v3: forward to this engine, forward unchanged, or
respond immediately.

The engine is named in the header `x-gateway-destination-endpoint` and in the dynamic metadata
`envoy.lb`.

Source: envoy/service/ext_proc/v3/external_processor.proto; Gateway API Inference Extension,
endpoint picker protocol (proposal 004).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from envoy.config.core.v3.base_pb2 import HeaderValue, HeaderValueOption
from envoy.service.ext_proc.v3.external_processor_pb2 import (
    BodyMutation,
    BodyResponse,
    CommonResponse,
    HeaderMutation,
    HeadersResponse,
    HttpBody,
    HttpHeaders,
    ImmediateResponse,
    ProcessingRequest,
    ProcessingResponse,
    StreamedBodyResponse,
    TrailersResponse,
)
from google.protobuf.struct_pb2 import Struct

DESTINATION = "x-gateway-destination-endpoint"
SUBSET = "x-gateway-destination-endpoint-subset"
METADATA, SUBSET_METADATA = "envoy.lb", "envoy.lb.subset_hint"
_STREAMED_PIECE_BYTES = (
    62 << 10
)  # of a full-duplex body: below the 64 KiB that Envoy takes in one message

HEADERS_PASS = ProcessingResponse(request_headers=HeadersResponse())
RESPONSE_PASS = ProcessingResponse(response_headers=HeadersResponse())
BODY_PASS = ProcessingResponse(response_body=BodyResponse())
REQUEST_BODY_PASS = ProcessingResponse(request_body=BodyResponse())
REQUEST_TRAILERS_PASS = ProcessingResponse(request_trailers=TrailersResponse())
TRAILERS_PASS = ProcessingResponse(response_trailers=TrailersResponse())


def headers_of(message: HttpHeaders) -> dict[str, bytes]:
    """The headers by name; of one that stands twice the last counts."""
    return {
        header.key: header.raw_value or header.value.encode() for header in message.headers.headers
    }


def allowed_endpoints(message: ProcessingRequest) -> frozenset[str] | None:
    """The endpoints that the gateway in front allows for this request, None if it says
    nothing.
    """
    hint = message.metadata_context.filter_metadata.get(SUBSET_METADATA)
    if hint is None or SUBSET not in hint.fields:
        return None
    said = hint.fields[SUBSET]
    texts = (
        [value.string_value for value in said.list_value.values]
        if said.HasField("list_value")
        else said.string_value.split(",")
    )
    return frozenset(text.strip() for text in texts if text.strip())


def _mutation(headers: Sequence[tuple[str, bytes]], removed: Sequence[str] = ()) -> HeaderMutation:
    values = [
        HeaderValueOption(
            header=HeaderValue(key=name, raw_value=value),
            append_action=HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD,
        )
        for name, value in headers
    ]
    return HeaderMutation(set_headers=values, remove_headers=list(removed))


def _metadata(endpoint: str) -> Struct:
    metadata = Struct()
    metadata.fields[METADATA].struct_value.fields[DESTINATION].string_value = endpoint
    return metadata


@lru_cache(maxsize=1024)
def to_engine_unchanged(
    endpoint: str, removed: tuple[str, ...], at_body: bool
) -> ProcessingResponse:
    """`to_engine` of a request that nothing is changed in: one message for all of them."""
    return to_engine(endpoint, removed=removed, at_body=at_body)


def to_engine(
    endpoint: str,
    *,
    headers: Sequence[tuple[str, bytes]] = (),
    removed: Sequence[str] = (),
    body: bytes | None = None,
    at_body: bool = True,
) -> ProcessingResponse:
    """The request goes to this endpoint. `body`: the one that replaces the client's. `at_body`:
    this answers the body, not the headers.
    """
    named = [(DESTINATION, endpoint.encode()), *headers]
    if body is not None:
        named.append(("content-length", b"%d" % len(body)))
    common = CommonResponse(header_mutation=_mutation(named, removed))
    if body is not None:
        common.body_mutation.body = body
    if at_body:
        return ProcessingResponse(
            request_body=BodyResponse(response=common), dynamic_metadata=_metadata(endpoint)
        )
    return ProcessingResponse(
        request_headers=HeadersResponse(response=common), dynamic_metadata=_metadata(endpoint)
    )


def streamed_body(body: bytes) -> Iterator[ProcessingResponse]:
    """Return the body of a full-duplex stream in pieces: Envoy forwards only what it receives here."""
    for at in range(0, max(len(body), 1), _STREAMED_PIECE_BYTES):
        piece = body[at : at + _STREAMED_PIECE_BYTES]
        last = at + _STREAMED_PIECE_BYTES >= len(body)
        mutation = BodyMutation(
            streamed_response=StreamedBodyResponse(body=piece, end_of_stream=last)
        )
        yield ProcessingResponse(
            request_body=BodyResponse(response=CommonResponse(body_mutation=mutation))
        )


def streamed_answer(message: HttpBody) -> ProcessingResponse:
    """A piece of a full-duplex answer, sent on as it came."""
    streamed = StreamedBodyResponse(body=message.body, end_of_stream=message.end_of_stream)
    return ProcessingResponse(
        response_body=BodyResponse(
            response=CommonResponse(body_mutation=BodyMutation(streamed_response=streamed))
        )
    )


def at_once(status: int, whole_answer: bytes) -> ProcessingResponse:
    """The client is answered by Envoy with this whole HTTP answer, as the embedded gateway would
    have sent it.
    """
    head, _, body = whole_answer.partition(b"\r\n\r\n")
    lines = (line.partition(b": ") for line in head.split(b"\r\n")[1:])
    kept = [
        (name.decode(), value)
        for name, _, value in lines
        if name not in (b"content-length", b"connection")
    ]
    response = ImmediateResponse(headers=_mutation(kept), body=body, details="barostat")
    response.status.code = status
    return ProcessingResponse(immediate_response=response)
