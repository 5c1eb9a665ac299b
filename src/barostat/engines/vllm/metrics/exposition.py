"""The text of /metrics, read: the samples that concern the engine, and what the text is when it is
no vLLM's.

Why not the kept parser: docs/decisions/exposition-parser.md (measured by bench/exposition.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from barostat.catalog.metric_names import RUNNING
from barostat.core.bounds import ENGINES, LABEL_CHARS, SERIES
from barostat.engines.vllm.metrics.ray_page import of_living_replicas
from barostat.engines.vllm.metrics.sample import Sample

LooksLike = Literal["vllm", "html", "json", "empty", "binary", "prometheus, but not vLLM", "text"]

# Possessive quantifiers (++, *+): a malformed line costs one pass, never a backtracking storm.
_QUOTED = r'"(?:[^"\\]++|\\.)*+"'
_LINE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*+)"
    rf"(?:[ \t]*\{{((?:[ \t]*[a-zA-Z_][a-zA-Z0-9_]*+[ \t]*=[ \t]*{_QUOTED}[ \t]*+,?)*+)[ \t]*\}}[ \t]*|[ \t]+)"
    r"([-+]?(?:[0-9.]++(?:[eE][-+]?[0-9]+)?|(?i:nan|inf)))"
    # a timestamp and an exemplar may follow; neither says anything about the engine
    r"(?:[ \t]+[-+.0-9eE]+)?[ \t\r]*(?:#.*)?",
)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*+)[ \t]*=[ \t]*"((?:[^"\\]++|\\.)*+)"')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", '"': '"', "\\": "\\"}

_ENGINE_PREFIXES = ("vllm:", "ray_vllm_", "vllm_", "ray_vllm:")
_KEPT_PREFIXES = (
    *_ENGINE_PREFIXES,
    "http_requests",
    "http_request_duration_highr_seconds_count",
    "process_",
)
_LOOK_AT_CHARS = 65_536


@dataclass(frozen=True, slots=True)
class Exposition:
    """A parsed scrape.

    `by_name`: samples by full name (`_total`, `_bucket`, ... included), in the order of the text.
    `problems`: one sentence each. `cut`: the text is truncated, so a missing name proves nothing.
    """

    by_name: Mapping[str, tuple[Sample, ...]]
    looks_like: LooksLike
    problems: tuple[str, ...] = ()
    cut: bool = False

    @property
    def is_vllm(self) -> bool:
        """True if engine metrics of vLLM were found."""
        return self.looks_like == "vllm"

    @property
    def samples(self) -> Iterator[Sample]:
        """All samples that concern the engine, its process or its HTTP server."""
        for found in self.by_name.values():
            yield from found

    def named(self, name: str) -> tuple[Sample, ...]:
        """The samples of that exact name; none if there are none."""
        return self.by_name.get(name, ())


def names_engine(page: bytes) -> bool:
    """True if the page has a name of vLLM's metrics, as vLLM or as Ray's agent writes it."""
    return b"vllm:" in page or b"ray_vllm_" in page


def read(text: str) -> Exposition:
    """The samples of a /metrics answer. Never raises: what cannot be read is counted in `problems`.

    Reads the Prometheus text format and OpenMetrics. Keeps only names of the engine, its process
    and its HTTP server.
    """
    shape, why = _shape(text)
    if shape != "vllm":
        return Exposition({}, shape, (why,))
    by_name, problems = _samples(text)
    engine_names = [name for name in by_name if name.startswith("vllm:")]
    if not engine_names:
        shape, why = _other_than_vllm(text[:_LOOK_AT_CHARS])
        return Exposition({}, shape, (why,))
    if all(
        "server" in sample.labels and "model_name" not in sample.labels
        for name in engine_names
        for sample in by_name[name]
    ):
        why = (
            "the vllm: metrics carry a server label and no model_name: a router's own metrics, "
            "not an engine's; scrape the engine"
        )
        return Exposition({}, "prometheus, but not vLLM", (why,))
    cut = _cut(text, by_name)
    if cut:
        problems.append(cut)
    engines = of_living_replicas(by_name)
    return Exposition(
        {name: tuple(found) for name, found in engines.items()}, "vllm", tuple(problems), bool(cut)
    )


_PLAIN = re.compile(
    rf'^(?:{"|".join(RUNNING)})\{{(?:[a-z_]+="[^"\\\n]*",)*model_name="[^"\\\n]*"'
    r'(?:,[a-z_]+="[^"\\\n]*")*\} [0-9]+(?:\.[0-9]+)?\n',
    re.MULTILINE,
)


def is_plainly_vllm(text: str) -> bool:
    """True if a single line shows that `read` would recognise the page as vLLM's; False if the page
    must be parsed. Keeps a watcher of a thousand engines from parsing most scrapes.
    """
    return text.startswith("# ") and _PLAIN.search(text) is not None


_NOT_VLLM = (
    "Prometheus metrics, but none of vLLM's: another server, or a vLLM started with "
    "--disable-log-stats"
)


def _shape(text: str) -> tuple[LooksLike, str]:
    """What the text is at a glance, and the sentence that says so where it is not vLLM's."""
    head = text[:_LOOK_AT_CHARS].lstrip("\ufeff \t\r\n")
    if not head and not text[_LOOK_AT_CHARS:].strip():
        return "empty", "an empty answer instead of metrics"
    if head.startswith("<"):
        return (
            "html",
            "a web page (HTML) instead of metrics: is this the engine's address and port?",
        )
    if head.startswith(("{", "[")):
        return "json", "JSON instead of metrics: is this the /metrics path?"
    return ("vllm", "") if "vllm" in text else _other_than_vllm(head)


def _other_than_vllm(head: str) -> tuple[LooksLike, str]:
    """What a text without engine metrics is."""
    strange = sum(
        1 for char in head[:1024] if char == "\ufffd" or (char < " " and char not in "\t\r\n")
    )
    if strange > len(head[:1024]) // 20:
        return "binary", "binary data instead of metrics (compressed, or not a text at all)"
    lines = head.split("\n")[:200]
    if any(
        line.startswith("# TYPE ") or (line[:1].isalpha() and _LINE.fullmatch(line))
        for line in lines
    ):
        return "prometheus, but not vLLM", _NOT_VLLM
    return "text", f"text that holds no metrics; it begins with {head[:60]!r}"


def _samples(text: str) -> tuple[dict[str, list[Sample]], list[str]]:
    """Samples by name, and a sentence on the lines that could not be read, if there are any."""
    by_name: dict[str, list[Sample]] = {}
    bad: list[int] = []
    # The same label set stands on most lines of an engine: reading each text of labels once saves a
    # third of the time.
    known_labels: dict[str | None, Mapping[str, str]] = {None: {}, "": {}}
    lines = text.removeprefix("\ufeff").split("\n")
    unfinished = (
        lines.pop()
    )  # what follows the last newline: nothing, or a line that may have lost its end
    if unfinished.startswith("#"):
        unfinished = ""
    match_line = _LINE.fullmatch
    kept = beyond = 0
    engines: set[str] = set()
    told: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line or line[0] == "#":
            continue
        if kept >= SERIES.most:
            told.append(
                f"more than {SERIES.most:,} series: the page was read up to line "
                f"{number - 1:,} of {len(lines):,}"
            )
            break
        if not line.startswith(_KEPT_PREFIXES):
            stripped = line.strip()
            if not stripped or stripped[0] == "#":
                continue
            if not stripped.startswith(_KEPT_PREFIXES):
                if not (stripped[0].isalpha() or stripped[0] in "_:"):
                    bad.append(number)
                continue
            line = stripped
        found = match_line(line)
        if found is None or (found[2] is not None and len(found[2]) > LABEL_CHARS.most):
            bad.append(number)
            continue
        name, label_text, value_text = found.groups()
        try:
            value = float(value_text)
        except ValueError:
            bad.append(number)
            continue
        labels = known_labels.get(label_text)
        if labels is None:
            labels = known_labels[label_text] = _labels(label_text)
        if not name.startswith("vllm:"):
            name = _canonical(name)
        kept += 1
        if (engine := labels.get("engine")) is not None and engine not in engines:
            if len(engines) >= ENGINES.most:
                beyond += 1
                continue
            engines.add(engine)
        sample = Sample(name, labels, value)
        if name in by_name:
            by_name[name].append(sample)
        else:
            by_name[name] = [sample]
    if beyond:
        told.append(
            f"more than {ENGINES.most:,} engines: {beyond:,} series of the others were left out"
        )
    if bad:
        told.append(
            f"{len(bad)} of the lines could not be read, the first is line {bad[0]}: "
            f"{lines[bad[0] - 1][:80]!r}"
        )
    return by_name, told


def _labels(text: str) -> Mapping[str, str]:
    found = dict(_LABEL.findall(text))
    if "\\" in text:
        found = {
            name: _ESCAPE.sub(lambda hit: _ESCAPED.get(hit[1], hit[0]), value)
            for name, value in found.items()
        }
    return found


def _canonical(name: str) -> str:
    """The name as vLLM itself writes it: Ray replaces the colon and puts its own prefix in
    front.
    """
    for prefix in _ENGINE_PREFIXES:
        if name.startswith(prefix):
            return "vllm:" + name[len(prefix) :]
    return name


def _cut(text: str, by_name: dict[str, list[Sample]]) -> str:
    """The sentence that says how one can see that the text ends too early; empty if one cannot."""
    if not text.endswith("\n") and not text.rstrip().endswith("# EOF"):
        return "the scrape ends in the middle of a line (that line is left out): half an answer"
    last = next(reversed(by_name))
    if last.startswith("vllm:") and last.endswith("_bucket"):
        return (
            f"the scrape ends within the histogram {last.removesuffix('_bucket')}: half an answer"
        )
    return ""
