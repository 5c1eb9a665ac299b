"""Published traces read, whatever their form."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.io.traces import parse_trace, read_trace

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n"
MOONCAKE = """\
{"timestamp": 0, "input_length": 6755, "output_length": 500, "hash_ids": [0, 1]}
{"timestamp": 3000, "input_length": 10, "output_length": 5, "hash_ids": [0]}
"""
BURST = """\
Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,GPT-4,1087,230,1317,API log
"""
OURS = '{"arrival_s": 0.5, "input_tokens": 10, "output_tokens": 3}\n'


@pytest.mark.parametrize(
    ("text", "first", "last_s"),
    [(AZURE, (374, 44), 4.3145790), (MOONCAKE, (6755, 500), 3.0), (BURST, (472, 18), 40.0), (OURS, (10, 3), 0.0)],
)
def test_published_forms(text: str, first: tuple[int, int], last_s: float, tmp_path: Path) -> None:
    for name, raw in (("trace", text.encode()), ("trace.gz", gzip.compress(text.encode()))):
        path = tmp_path / name
        path.write_bytes(raw)
        rows, problems = read_trace(path)
        assert (rows[0].input_tokens, rows[0].output_tokens) == first
        assert rows[-1].arrival_s == pytest.approx(last_s, abs=1e-4)
        assert not problems


def test_bad_rows_are_left_out_and_counted() -> None:
    rows, problems = parse_trace(
        OURS + '{"input_tokens": "x", "output_tokens": 1}\nnot json\n{"input_tokens": -5, "output_tokens": 1}\n' + OURS
    )
    assert len(rows) == 2
    assert "3 rows" in problems[0]


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe\x00", b"{", b"[", b"[1, 2]", b"a,b\n1,2\n", b"\x1f\x8b garbage"])
def test_what_is_no_trace_is_said(raw: bytes, tmp_path: Path) -> None:
    for name in ("trace", "trace.gz"):
        path = tmp_path / name
        path.write_bytes(raw)
        with pytest.raises(InputError):
            read_trace(path)
