"""What an engine has counted, written as its /metrics page: the counterpart of `exposition.py`.

    # HELP name words        per metric, in the order of the catalogue
    # TYPE name kind
    name_total{engine="0",model_name="m"} 12.0
    # HELP name_created ...  when a counter or histogram began

Source: prometheus_client 0.26, `exposition.generate_latest` (text format 0.0.4): labels sorted,
numbers as Go writes them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from math import inf

Labels = tuple[tuple[str, str], ...]


def number(value: float) -> str:
    """The number as the Prometheus client writes it: repr, and an exponent from seven digits before
    the point on.
    """
    if value == inf:
        return "+Inf"
    text = repr(float(value))
    point = text.find(".")
    if value > 0 and point > 6:
        mantissa = f"{text[0]}.{text[1:point]}{text[point + 1 :]}".rstrip("0.")
        return f"{mantissa}e+0{point - 1}"
    return text


def labels_of(pairs: Mapping[str, str] | Iterable[tuple[str, str]]) -> Labels:
    """The labels in the order in which they are written."""
    return tuple(sorted(dict(pairs).items()))


def labels_text(labels: Labels) -> str:
    """The labels as they stand behind a name; empty for none."""
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


class Gauge:
    """A gauge: its values are set."""

    kind = "gauge"

    def __init__(self, name: str, words: str) -> None:
        self.name = name
        self.words = words
        self._values: dict[Labels, float] = {}

    def set(self, value: float, labels: Labels = ()) -> None:
        """Set the value of a series."""
        self._values[labels] = value

    def lines(self) -> list[str]:
        """Render the gauge in Prometheus text format."""
        return [
            f"# HELP {self.name} {self.words}",
            f"# TYPE {self.name} gauge",
            *(
                f"{self.name}{labels_text(labels)} {number(value)}"
                for labels, value in self._values.items()
            ),
        ]


class _Begun:
    """Series that say when they began."""

    def __init__(self, name: str, words: str) -> None:
        self.name = name
        self.words = words
        self._began: dict[Labels, float] = {}

    def _created_lines(self) -> list[str]:
        if not self._began:
            return []
        name = f"{self.name}_created"
        return [
            f"# HELP {name} {self.words}",
            f"# TYPE {name} gauge",
            *(f"{name}{labels_text(labels)} {number(at)}" for labels, at in self._began.items()),
        ]


class Counter(_Begun):
    """Numbers that only grow. `name` is without `_total`."""

    kind = "counter"

    def __init__(self, name: str, words: str) -> None:
        super().__init__(name, words)
        self._values: dict[Labels, float] = {}

    def begin(self, at_s: float, labels: Labels = ()) -> None:
        """Create the series at 0."""
        if labels not in self._began:
            self._began[labels] = at_s
            self._values[labels] = 0.0

    def begin_undated(self, labels: Labels = ()) -> None:
        """Create the series at 0, without a creation timestamp: its value is sampled at every
        scrape.
        """
        self._values.setdefault(labels, 0.0)

    def add(self, value: float, labels: Labels = ()) -> None:
        """Increment an existing series by `value`."""
        self._values[labels] += value

    def lines(self) -> list[str]:
        """Render the counter in Prometheus text format."""
        return [
            f"# HELP {self.name}_total {self.words}",
            f"# TYPE {self.name}_total counter",
            *(
                f"{self.name}_total{labels_text(labels)} {number(value)}"
                for labels, value in self._values.items()
            ),
            *self._created_lines(),
        ]


class Histogram(_Begun):
    """Numbers that were observed, counted by upper bounds."""

    kind = "histogram"

    def __init__(self, name: str, words: str, bounds: Iterable[float]) -> None:
        super().__init__(name, words)
        self._bounds = (*bounds, inf)
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def begin(self, at_s: float, labels: Labels = ()) -> None:
        """Create the empty series."""
        if labels not in self._began:
            self._began[labels] = at_s
            self._counts[labels] = [0] * len(self._bounds)
            self._sums[labels] = 0.0

    def observe(self, value: float, labels: Labels = ()) -> None:
        """One more value in that series, which has begun."""
        self._counts[labels][bisect_left(self._bounds, value)] += 1
        self._sums[labels] += value

    def lines(self) -> list[str]:
        """Render the histogram in Prometheus text format."""
        found = [f"# HELP {self.name} {self.words}", f"# TYPE {self.name} histogram"]
        for labels, counts in self._counts.items():
            total = 0
            for bound, count in zip(self._bounds, counts, strict=True):
                total += count
                found.append(
                    f"{self.name}_bucket{labels_text(labels_of((*labels, ('le', number(bound)))))} "
                    f"{number(total)}"
                )
            found.append(f"{self.name}_count{labels_text(labels)} {number(total)}")
            found.append(f"{self.name}_sum{labels_text(labels)} {number(self._sums[labels])}")
        return found + self._created_lines()


class Summary(_Begun):
    """Numbers that were observed, counted and summed."""

    kind = "summary"

    def __init__(self, name: str, words: str) -> None:
        super().__init__(name, words)
        self._counts: dict[Labels, int] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, value: float, at_s: float, labels: Labels = ()) -> None:
        """One more value in that series; the first begins it."""
        if labels not in self._began:
            self._began[labels] = at_s
        self._counts[labels] = self._counts.get(labels, 0) + 1
        self._sums[labels] = self._sums.get(labels, 0.0) + value

    def lines(self) -> list[str]:
        """Render the summary in Prometheus text format."""
        found = [f"# HELP {self.name} {self.words}", f"# TYPE {self.name} summary"]
        for labels, count in self._counts.items():
            found.append(f"{self.name}_count{labels_text(labels)} {number(count)}")
            found.append(f"{self.name}_sum{labels_text(labels)} {number(self._sums[labels])}")
        return found + self._created_lines()


Metric = Gauge | Counter | Histogram | Summary


def page(metrics: Iterable[Metric]) -> str:
    """The exposition of these metrics."""
    return "".join(line + "\n" for metric in metrics for line in metric.lines())
