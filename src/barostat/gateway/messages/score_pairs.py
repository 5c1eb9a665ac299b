"""The pairs that a score or a ranking is made of: each is one input of a cross-encoder, its query
and its document together.

Shapes: one query for all documents, or as many queries as documents.
Source: vLLM 0.32, ScoringRequestMixin and the requests made from it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

_FORMS = (
    ("queries", "documents"),
    ("queries", "items"),
    ("query", "documents"),
    ("text_1", "text_2"),
    ("data_1", "data_2"),
)


MOST_PAIRS = 1_000
"""In one request. A short body can name a long query with each of many documents."""


class Pairs(NamedTuple):
    """Sizes in bytes of text, with what a template repeats in each pair. `are_texts`: nothing else
    stands in them, so that their bytes bound them.
    """

    pairs: int
    total_bytes: int
    longest_bytes: int
    are_texts: bool


def score_pairs(document: dict[str, Any]) -> Pairs | None:
    """Return the pairs of this body, None if it has none, or two forms of them at once: engines
    differ in which they take.
    """
    forms = [form for form in _FORMS if all(document.get(name) is not None for name in form)]
    if len(forms) != 1:
        return None
    left, right = (_listed(document[name]) for name in forms[0])
    if not left or not right:
        return None
    repeated = _bytes(document.get("instruction") or "")
    first, second = list(map(_bytes, left)), list(map(_bytes, right))
    count = max(len(first), len(second))
    if len(first) == 1:
        first *= count
    if len(second) == 1:
        second *= count
    if len(first) == len(second):
        lengths = [a + b + repeated for a, b in zip(first, second, strict=True)]
    else:  # the engine refuses
        lengths = [max(first) + max(second) + repeated] * count
    texts = all(type(one) is str for one in (*left, *right))
    return Pairs(count, sum(lengths), max(lengths), texts)


def _listed(value: Any) -> list[Any]:
    return value if type(value) is list else [value]


def _bytes(value: Any) -> int:
    return len(value.encode()) if type(value) is str else len(orjson.dumps(value))
