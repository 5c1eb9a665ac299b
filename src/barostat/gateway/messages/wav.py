"""Upper bound for the duration of a WAV file, from its size and its format chunk.

RIFF size WAVE | chunks | "fmt " size tag channels rate bytes/s align bits | chunks | data ...

All bytes of the file count as samples, whatever its chunks say. Formats whose bytes do not bound
their duration (compressed formats, and compressed streams inside PCM) have no bound.
"""

from __future__ import annotations

from struct import unpack_from

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_MOST_CHUNKS = 64
_WITHIN_PCM = b"\x72\xf8\x1f\x4e"
"""Begins a compressed burst within PCM (IEC 61937): decoders play that instead."""


def wav_seconds(body: bytes, start: int, end: int) -> float | None:
    """Return the seconds that this part of the body plays at most; None if it is no WAV file, or
    one that says too little.
    """
    if body[start : start + 4] != b"RIFF" or body[start + 8 : start + 12] != b"WAVE":
        return None
    if body.count(b"fmt ", start, end) != 1 or body.find(_WITHIN_PCM, start, end) >= 0:
        return None
    if _is_voice_recorder_file(body, start):
        return None
    at = start + 12
    for _ in range(_MOST_CHUNKS):
        if at + 24 > end:
            return None
        name, (size,) = body[at : at + 4], unpack_from("<I", body, at + 4)
        if name == b"fmt ":
            return _seconds(body, at + 8, size, end - start) if at + 8 + size <= end else None
        at += 8 + size + size % 2
    return None


def _seconds(body: bytes, at: int, size: int, file_bytes: int) -> float | None:
    if size < 16:
        return None
    tag: int
    rate: int
    align: int
    tag, channels, rate, _, align, bits = unpack_from("<HHIIHH", body, at)
    if tag == _EXTENSIBLE and size >= 40:
        (tag,) = unpack_from("<H", body, at + 24)
    usual = tag in (_PCM, _FLOAT) and bits in (8, 16, 24, 32, 64) and 1 <= channels <= 8
    if not usual or not 8_000 <= rate <= 192_000 or align != channels * bits // 8:
        return None
    return file_bytes / align / rate


def _is_voice_recorder_file(body: bytes, start: int) -> bool:
    """True for an ACT file: compressed, behind the head of a WAV file and zeros."""
    return not any(body[start + 44 : start + 256]) and body[start + 256 : start + 257] == b"\x84"
