"""WAV files and the forms that carry them, for what reads and what counts them."""

from __future__ import annotations

import struct

BOUNDARY = b"----barostat-7f3a"
CONTENT_TYPE = b"multipart/form-data; boundary=" + BOUNDARY


def wav(
    seconds: float, rate: int = 16_000, *, tag: int = 1, bits: int = 16, data: bytes = b""
) -> bytes:
    """A mono file that plays so long, if `rate` and `bits` are true."""
    samples = data or b"\x01\x02" * int(seconds * rate * bits / 16)
    align = bits // 8
    head = struct.pack("<HHIIHH", tag, 1, rate, rate * align, align, bits)
    chunks = b"fmt " + struct.pack("<I", 16) + head + b"data" + struct.pack("<I", len(samples))
    return b"RIFF" + struct.pack("<I", len(chunks) + len(samples) + 4) + b"WAVE" + chunks + samples


def part(name: str, value: bytes, more: str = "") -> bytes:
    """One part of a form. `more`: behind the name, as in `; filename="a.wav"`."""
    head = f'Content-Disposition: form-data; name="{name}"{more}'.encode()
    return b"--%b\r\n%b\r\n\r\n%b\r\n" % (BOUNDARY, head, value)


def form(file: bytes, **fields: object) -> bytes:
    """A whole form: its file in the middle."""
    texts = [part(name, str(value).encode()) for name, value in fields.items()]
    sound = part("file", file, '; filename="a.wav"\r\nContent-Type: audio/wav')
    return b"".join((*texts[:1], sound, *texts[1:])) + b"--%b--\r\n" % BOUNDARY
