"""Upper bounds for untrusted input, in one table. Beyond a bound, a reader reports what it skipped
and continues, or rejects the input.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """One bound. `beyond`: what becomes of the rest."""

    of: str
    most: int
    unit: str
    beyond: str


SERIES = Bound("a page of metrics", 100_000, "series", "the rest of the page is left out, and said")
PAGE_BYTES = Bound(
    "a page of metrics", 16 << 20, "bytes", "the rest of the page is left out, and said"
)
ENGINES = Bound("a page of metrics", 256, "engines", "the others are left out, and said")
LABEL_CHARS = Bound(
    "one series' labels",
    4_096,
    "characters",
    "the series is left out, and counted among the lines that cannot be read",
)
SCRAPES = Bound("a replica's recording", 10_000, "scrapes", "the others are left out, and said")
REPLICAS = Bound("a bundle", 500, "replicas", "the others are left out, and said")
BUNDLE_FILES = Bound("a bundle", 25_000, "files", "refused")
BUNDLE_VALUES = Bound(
    "the JSON documents of a bundle",
    5_000_000,
    "commas, colons, brackets and quotes",
    "the others are left out, and said",
)
BUNDLE_OBJECTS = Bound(
    "a bundle's list of a kind of objects", 20_000, "objects", "the others are left out, and said"
)
GPU_BYTES = Bound("what a tool says of the cards", 2 << 20, "bytes", "left out, and said")
YAML_NODES = Bound(
    "a YAML document of ours or a kubeconfig", 100_000, "values, aliases spelled out", "refused"
)
YAML_DEPTH = Bound("a YAML document of ours or a kubeconfig", 100, "levels", "refused")
MANIFEST_NODES = Bound(
    "a file of manifests",
    200_000,
    "values, aliases spelled out",
    "the documents before it are judged, and it is said",
)
CREDENTIAL_BYTES = Bound(
    "a token or certificate file", 1 << 20, "bytes, of a regular file", "refused"
)
WHOLE_FILE_BYTES = Bound("a file of data, unpacked", 256 << 20, "bytes", "refused")
LISTED = Bound(
    "a list of a cluster's objects",
    20_000,
    "objects",
    "refused: the list is said not to end, or to be narrowed",
)
LISTED_BYTES = Bound("a list of a cluster's objects", 128 << 20, "bytes", "refused, as above")
ANSWER_VALUES = Bound(
    "an answer of an API server", 2_000_000, "commas, colons and brackets", "refused"
)
EVENT_BYTES = Bound("an event of a watch", 4 << 20, "bytes", "refused; the list is asked for anew")
REQUEST_BYTES = Bound(
    "a request to the twin", 12 << 20, "bytes", "answered with 413 while it arrives"
)
REQUESTS_BYTES = Bound(
    "the twin", 48 << 20, "bytes of requests that are being read at once", "answered with 503"
)
REQUEST_ITEMS = Bound(
    "a request to the twin", 1_000_000, "commas, colons and brackets", "answered with 413"
)
REQUEST_CONTAINERS = Bound(
    "a request to the twin", 50_000, "lists and objects", "answered with 413"
)
REQUEST_HEAD_BYTES = Bound(
    "a request to the twin",
    64 << 10,
    "bytes of headers",
    "answered with 400, and the connection ends",
)
REQUEST_PROMPTS = Bound("a request to the twin", 4_096, "prompts", "answered with 400")
VECTOR_VALUES = Bound(
    "a request to the twin", 1 << 21, "numbers, of all embeddings together", "answered with 400"
)
REQUEST_SEQUENCES = Bound(
    "a request to the twin",
    16_384,
    "samples, of all prompts together",
    "answered with 400, as vLLM does for n",
)
SEQUENCES = Bound("the twin", 32_768, "samples under way at once", "answered with 503")
PIPELINED = Bound(
    "a connection to the twin",
    64,
    "requests before the first of them is answered",
    "answered with 400, and the connection ends",
)
CLIENTS = Bound("the twin", 4_096, "connections at once", "answered with 503")

BOUNDS: tuple[Bound, ...] = (
    SERIES, PAGE_BYTES, ENGINES, LABEL_CHARS, SCRAPES, REPLICAS, BUNDLE_FILES, BUNDLE_VALUES, BUNDLE_OBJECTS, GPU_BYTES,
    YAML_NODES, YAML_DEPTH, MANIFEST_NODES, CREDENTIAL_BYTES, WHOLE_FILE_BYTES,
    LISTED, LISTED_BYTES, ANSWER_VALUES, EVENT_BYTES,
    REQUEST_BYTES, REQUESTS_BYTES, REQUEST_ITEMS, REQUEST_CONTAINERS, REQUEST_HEAD_BYTES,
    REQUEST_PROMPTS, VECTOR_VALUES, REQUEST_SEQUENCES, SEQUENCES, PIPELINED, CLIENTS,
)  # fmt: skip
