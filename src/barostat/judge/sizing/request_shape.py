"""What requests look like: how long, how bursty, and how much KV a running one holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

# As many single requests of a trace are kept: enough for a mean and a spread.
_SAMPLE = 20_000


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request. `arrival_s`: seconds from the first one."""

    arrival_s: float
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution of lengths. Units: tokens."""

    mean: float
    p50: float
    p90: float
    p99: float
    top: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests in numbers. `held_mean`, `held_deviation`: tokens that a request holds while it
    runs, weighted by how long it runs.

    `long_share`: of all held tokens, the part held by requests above `split_tokens` of input (0: no
    useful split). `sample`: single requests evenly over the trace, empty if only quantiles are
    known.
    """

    source: str
    count: int
    input: Lengths
    output: Lengths
    held_mean: float
    held_deviation: float
    total_p99: float
    split_tokens: int = 0
    long_share: float = 0.0
    long_count_share: float = 0.0
    sample: tuple[Arrival, ...] = ()


@dataclass(frozen=True, slots=True)
class Admitted:
    """Traffic within the limits: tokens held by a running request, and the share of requests
    refused.
    """

    held_mean: float
    held_deviation: float
    refused_share: float = 0.0


def admitted(traffic: Traffic, input_tokens: int, output_tokens: int) -> Admitted:
    """The traffic under these limits: longer inputs are refused, longer outputs are cut.

    Without single requests to look at, the spread is at most what any distribution of this mean
    within the limits can have.
    """
    passed = [
        (row.input_tokens, min(row.output_tokens, output_tokens))
        for row in traffic.sample
        if row.input_tokens <= input_tokens
    ]
    if passed:
        mean, deviation = _held(passed)
        return Admitted(mean, deviation, 1 - len(passed) / len(traffic.sample))
    longest = float(input_tokens + output_tokens)
    mean = min(traffic.held_mean, longest)
    return Admitted(
        mean,
        min(traffic.held_deviation, sqrt(mean * (longest - mean))),
        1.0 if traffic.sample else 0.0,
    )


def _held(lengths: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Mean and deviation of the tokens that a running request holds."""
    held = [(inputs + outputs / 2, max(1.0, float(outputs))) for inputs, outputs in lengths]
    weight = sum(w for _, w in held)
    mean = sum(tokens * w for tokens, w in held) / weight
    return mean, sqrt(sum((tokens - mean) ** 2 * w for tokens, w in held) / weight)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share of an ascending, non-empty sequence lies (nearest rank)."""
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * len(ordered) * 1000) // 1000) - 1))]


def _lengths(values: list[float]) -> Lengths:
    values.sort()
    return Lengths(
        sum(values) / len(values),
        quantile(values, 0.5),
        quantile(values, 0.9),
        quantile(values, 0.99),
        values[-1],
    )


def traffic_of(arrivals: Sequence[Arrival], source: str) -> Traffic | None:
    """The numbers of a trace, or None for one without requests.

    A request runs about as long as its output is; halfway it holds its input and half its output.
    What is running at an instant is therefore weighted by output length.
    """
    if not arrivals:
        return None
    mean, deviation = _held([(row.input_tokens, row.output_tokens) for row in arrivals])
    weight = sum(max(1.0, float(row.output_tokens)) for row in arrivals)
    totals = sorted(float(row.input_tokens + row.output_tokens) for row in arrivals)
    inputs = _lengths([float(row.input_tokens) for row in arrivals])
    split, share, count_share = _split(arrivals, inputs, weight * mean)
    return Traffic(
        source=source,
        count=len(arrivals),
        input=inputs,
        output=_lengths([float(row.output_tokens) for row in arrivals]),
        held_mean=mean,
        held_deviation=deviation,
        total_p99=quantile(totals, 0.99),
        split_tokens=split,
        long_share=share,
        long_count_share=count_share,
        sample=tuple(arrivals[:: -(-len(arrivals) // _SAMPLE)]),
    )


def _split(
    arrivals: Sequence[Arrival], inputs: Lengths, all_held: float
) -> tuple[int, float, float]:
    """Return the input length above which requests count as long, their share of held tokens, and
    their share of requests.
    """
    border = max(2048.0, 4 * inputs.p50)
    long = [row for row in arrivals if row.input_tokens > border]
    if not long:
        return 0, 0.0, 0.0
    held = sum(
        (row.input_tokens + row.output_tokens / 2) * max(1, row.output_tokens) for row in long
    )
    return int(border), held / all_held if all_held else 0.0, len(long) / len(arrivals)


def traffic_from_quantiles(
    inputs: tuple[float, float], outputs: tuple[float, float], source: str
) -> Traffic:
    """The numbers of lognormal lengths with these medians and 99th percentiles."""
    mean_in, top_in, second_in = _lognormal(*inputs)
    mean_out, top_out, second_out = _lognormal(*outputs)
    biased = second_out / mean_out if mean_out else 0.0  # length of an output seen while it runs
    held = mean_in + biased / 2
    deviation = sqrt(max(0.0, second_in - mean_in**2) + (biased / 2) ** 2)
    return Traffic(
        source=source, count=0, input=Lengths(mean_in, inputs[0], sqrt(inputs[0] * inputs[1]), inputs[1], top_in),
        output=Lengths(mean_out, outputs[0], sqrt(outputs[0] * outputs[1]), outputs[1], top_out), held_mean=held, held_deviation=deviation,
        total_p99=inputs[1] + outputs[1],
    )  # fmt: skip


def _lognormal(median: float, p99: float) -> tuple[float, float, float]:
    """Mean, 99.9th percentile and second moment."""
    sigma = max(0.0, log(max(p99, median, 1.0) / max(median, 1.0)) / 2.326)
    mu = log(max(median, 1.0))
    return exp(mu + sigma**2 / 2), exp(mu + 3.09 * sigma), exp(2 * mu + 2 * sigma**2)
