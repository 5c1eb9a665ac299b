"""The part of a metrics page that the diagnosis reads: cut out of its bytes, and as a query.

A page of vLLM has 60 to 200 kB, most of which is never read. The lines of a family follow its `#
TYPE` line, so one search skips a whole family.
"""

from __future__ import annotations

from barostat.catalog import metric_names as names

_HEAD = b"# TYPE "
_ALWAYS_READ = (
    b"process_",
    b"http_requests",
    names.HTTP_ANSWERED.encode(),
)


def _families() -> frozenset[bytes]:
    """Every family of the catalogue, by the names that the exporters give it."""
    found: set[str] = set()
    for value in vars(names).values():
        listed = (value,) if isinstance(value, str) else value
        if isinstance(listed, tuple) and all(isinstance(one, str) for one in listed):
            found.update(one for one in listed if one.startswith("vllm:"))
    bare = {name.partition("{")[0] for name in found}
    every = {f"{name}{tail}" for name in bare for tail in ("", "_total")}
    return frozenset(name.encode() for name in every)


WANTED = _families()
READ_NAMES = "|".join((
    f"({'|'.join(sorted(name.decode() for name in WANTED))})(_bucket|_sum|_count)?",
    *(f"{name.decode()}.*" for name in _ALWAYS_READ),
))  # fmt: skip
"""The same as a regular expression for `__name__`. Histograms have their parts as names."""


def wanted_part(page: bytes) -> bytes:
    """The families of the page that a diagnosis reads, in their order; the whole page where it has
    no type lines, or is of another exporter that renames them.
    """
    start = page.find(_HEAD)
    if start < 0 or b"\nvllm:" not in page:
        return page
    kept = [page[:start]]
    while start >= 0:
        end = page.find(b"\n" + _HEAD, start)
        name_end = page.find(b" ", start + len(_HEAD))
        name = page[start + len(_HEAD) : name_end]
        if name in WANTED or name.startswith(_ALWAYS_READ):
            kept.append(page[start : end + 1] if end >= 0 else page[start:])
        start = end + 1 if end >= 0 else -1
    return b"".join(kept)
