"""A form (multipart/form-data) as all readers of forms read it: whatever two of them could read
differently is refused.

    --boundary CRLF header lines CRLF CRLF value CRLF --boundary ... CRLF --boundary--

Source: RFC 7578; python-multipart 0.0.34 and starlette 1.10, which vLLM's server reads forms with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_FIRST = re.compile(rb"--([0-9A-Za-z'()+_,./:=?-]{1,70})\r\n")
_CONTENT_TYPE = re.compile(rb'multipart/form-data; ?boundary=("?)([^";\s]+)\1', re.I)
_DISPOSITION = re.compile(
    rb'content-disposition: ?form-data; ?name="([\w\[\]]{1,64})"(; ?filename="[^"\\;\r\n\0]*")?',
    re.I,
)
_TYPE = re.compile(rb"content-type: ?[!-~ ]{1,200}", re.I)
_MOST_PARTS = 64
_HEAD_BYTES = 1024


class Form(NamedTuple):
    """A parsed multipart form. `fields`: texts by name; repeated names (lists) are joined.
    `places`: byte ranges of the fields; `file`: of the file.
    """

    boundary: bytes
    fields: dict[str, str]
    places: dict[str, tuple[int, int]]
    file: tuple[int, int]


def read_form(body: bytes) -> Form | str:
    """Return the form, or why it is not read. One part, named `file`, is a file."""
    first = _FIRST.match(body)
    if first is None:
        return "it does not begin with a boundary"
    mark = b"\r\n--" + first[1]
    fields: dict[str, str] = {}
    places: dict[str, tuple[int, int]] = {}
    file: tuple[int, int] | None = None
    at = first.end()
    for _ in range(_MOST_PARTS):
        start = body.find(b"\r\n\r\n", at, at + _HEAD_BYTES) + 4
        end = body.find(mark, start)
        if start < 4 or end < 0:
            return "a part does not end"
        head = _part_head(body[at : start - 4])
        if head is None:
            return "a part has another head than a name, and a type"
        name, is_file = head
        if is_file != (name == "file") or (is_file and file is not None):
            return "exactly one part must be a file, and its name be file"
        if is_file:
            file = start, end
        elif name in fields and not name.endswith("[]"):
            return f"{name} stands twice"
        else:
            try:
                fields[name] = fields.get(name, "") + body[start:end].decode()
            except UnicodeDecodeError:
                return f"{name} is not UTF-8"
            places[name] = start, end
        at = end + len(mark) + 2
        if body[at - 2 : at] == b"--":
            if body[at:] not in (b"", b"\r\n"):
                return "something follows its end"
            return "it has no file" if file is None else Form(first[1], fields, places, file)
        if body[at - 2 : at] != b"\r\n":
            return "a boundary is followed by something"
    return f"it has more than {_MOST_PARTS} parts"


def _part_head(head: bytes) -> tuple[str, bool] | None:
    """The name of a part, and whether it is a file."""
    named: re.Match[bytes] | None = None
    for line in head.split(b"\r\n"):
        found = _DISPOSITION.fullmatch(line)
        if found is not None and named is None:
            named = found
        elif _TYPE.fullmatch(line) is None:
            return None
    return None if named is None else (named[1].decode(), named[2] is not None)


def states_boundary(head_lines: Sequence[bytes], boundary: bytes) -> bool:
    """True if the head's one Content-Type has this boundary. `head_lines`: in pieces of four, as in
    `RequestHead.lines`.
    """
    types = [
        head_lines[at + 2]
        for at in range(0, len(head_lines), 4)
        if head_lines[at].lower() == b"content-type"
    ]
    stated = _CONTENT_TYPE.fullmatch(types[0]) if len(types) == 1 else None
    return stated is not None and stated[2] == boundary


def with_field(body: bytes, name: str, value: bytes) -> bytes:
    """The body with this field: its value replaced, or a new part put first. Shapes: a body that
    `read_form` has read.
    """
    form = read_form(body)
    assert isinstance(form, Form)
    if name in form.places:
        start, end = form.places[name]
        return b"".join((body[:start], value, body[end:]))
    part = b'--%b\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n'
    return part % (form.boundary, name.encode(), value) + body
