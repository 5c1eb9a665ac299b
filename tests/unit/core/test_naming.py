"""Names as documents spell them."""

from __future__ import annotations

import pytest

from barostat.core.naming import camel


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("max_num_seqs", "maxNumSeqs"),
        ("max-num-seqs", "maxNumSeqs"),
        ("watermark", "watermark"),
        ("ttft_p99_seconds", "ttftP99Seconds"),
    ],
)
def test_a_name_in_a_document(name: str, expected: str) -> None:
    assert camel(name) == expected
