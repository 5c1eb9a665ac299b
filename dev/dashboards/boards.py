"""The four dashboards. Every query reads what `barostat rules` records, or names that every version
of vLLM has, or the gateway's own.
"""

from __future__ import annotations

from dev.dashboards.board import Board, Panel, Query, Variable

from barostat.alerts import recorded as r
from barostat.catalog.metric_names import FINISHED

ENGINES = '{namespace=~"$namespace",model_name=~"$model"}'
ONE = '{namespace=~"$namespace",model_name=~"$model",instance=~"$instance"}'
GATEWAYS = '{namespace=~"$namespace",instance=~"$instance"}'
REPLICA = "{{pod}} {{instance}}"
_NAMESPACE = Variable("namespace", "namespace", r.RUNNING)
_MODEL = Variable("model", "model_name", r.RUNNING)
_INSTANCE = Variable("instance", "instance", r.RUNNING)
_GATEWAY = "barostat_gateway_"


def _each(name: str, selected: str, legend: str = REPLICA) -> tuple[Query, ...]:
    return (Query(f"{name}{selected}", legend),)


def _both(quantity: str, selected: str, of: str = "") -> tuple[Query, ...]:
    """Median and 99th percentile."""
    return tuple(
        Query(f"{r.quantile_name(quantity, share)}{selected}", f"p{share * 100:g}{of}")
        for share in r.SHARES
    )


def _gateway_quantiles(histogram: str, otherwise: str = "") -> tuple[Query, ...]:
    """`otherwise`: what is shown where nothing was counted."""
    inside = f"sum by (le) (rate({_GATEWAY}{histogram}_bucket{GATEWAYS}[5m]))"
    return tuple(
        Query(f"histogram_quantile({share:g}, {inside}){otherwise}", f"p{share * 100:g}")
        for share in r.SHARES
    )


FLEET = Board(
    "barostat-fleet",
    "vLLM: fleet",
    "All replicas: waiting requests, preemptions, latency and load.",
    (_NAMESPACE, _MODEL),
    (
        (
            "Harm",
            (
                Panel(
                    "Requests waiting for capacity",
                    "short",
                    _each(r.CAPACITY_WAITING, ENGINES),
                    "The first sign of pressure. High KV cache usage without waiting requests is a well-used pool.",
                ),
                Panel(
                    "Preemptions per finished request",
                    "short",
                    _each(r.PREEMPTED_SHARE, ENGINES),
                    "Users notice from 0.1 on. Preempted work is computed again, which causes further preemptions.",
                    threshold=0.1,
                ),
                Panel(
                    "Time to first token (TTFT), p99",
                    "s",
                    _each(r.quantile_name("replica:vllm_ttft_seconds", 0.99), ENGINES),
                    "How long users wait for the first token.",
                ),
                Panel(
                    "Time between tokens (ITL), p99",
                    "s",
                    _each(r.quantile_name("replica:vllm_itl_seconds", 0.99), ENGINES),
                    "A long tail means that streams stall: preemptions, or long prefills in the same steps.",
                ),
            ),
        ),
        (
            "Load",
            (
                Panel(
                    "KV cache usage",
                    "percentunit",
                    _each(r.KV_USAGE, ENGINES),
                    "Share of the KV blocks that running requests hold. Near 100 % is no harm by itself.",
                    top=1.0,
                ),
                Panel(
                    "Running requests",
                    "short",
                    _each(r.RUNNING, ENGINES),
                    "Falls while the pool is full if requests are long.",
                ),
                Panel(
                    "Output tokens per second",
                    "short",
                    _each(r.GENERATED, ENGINES),
                    "Output of each replica.",
                ),
                Panel(
                    "Requests finished per second",
                    "reqps",
                    _each(r.FINISHED, ENGINES),
                    "Compare with output tokens: it falls when answers get longer.",
                ),
            ),
        ),
    ),
)

REPLICA_BOARD = Board(
    "barostat-replica",
    "vLLM: replica",
    "One engine: KV cache, queue, throughput and latency.",
    (_NAMESPACE, _MODEL, _INSTANCE),
    (
        (
            "Now",
            (
                Panel(
                    "KV cache usage",
                    "percentunit",
                    _each(r.KV_USAGE, ONE, "{{instance}}"),
                    "Share of all KV blocks.",
                    kind="number",
                    top=1.0,
                ),
                Panel(
                    "Running requests",
                    "short",
                    _each(r.RUNNING, ONE, "{{instance}}"),
                    "In the current batch.",
                    kind="number",
                ),
                Panel(
                    "Waiting requests",
                    "short",
                    _each(r.WAITING, ONE, "{{instance}}"),
                    "All waiting requests, preempted ones included.",
                    kind="number",
                ),
                Panel(
                    "Preemptions per second",
                    "cps",
                    _each(r.PREEMPTIONS, ONE, "{{instance}}"),
                    "Counted when the preempted request resumes.",
                    kind="number",
                ),
            ),
        ),
        (
            "Pool and queue",
            (
                Panel(
                    "KV cache usage",
                    "percentunit",
                    _each(r.KV_USAGE, ONE, "{{instance}}"),
                    "A sawtooth means that requests have one size.",
                    top=1.0,
                ),
                Panel(
                    "Running and waiting requests",
                    "short",
                    (
                        Query(r.RUNNING + ONE, "running {{instance}}"),
                        Query(r.CAPACITY_WAITING + ONE, "waiting for capacity {{instance}}"),
                        Query(r.WAITING + ONE, "waiting (all) {{instance}}"),
                    ),
                    "If requests wait and the pool is not full, max_num_seqs or the step's token budget is the limit.",
                ),
                Panel(
                    "Preemptions per second",
                    "cps",
                    _each(r.PREEMPTIONS, ONE, "{{instance}}"),
                    "Each one computes a prompt and its answer so far again.",
                ),
            ),
        ),
        (
            "Work",
            (
                Panel(
                    "Tokens per second",
                    "short",
                    (
                        Query(r.PROMPTS + ONE, "prompt {{instance}}"),
                        Query(r.GENERATED + ONE, "output {{instance}}"),
                    ),
                    "If prompts displace output, the step's token budget (max_num_batched_tokens) is too small.",
                ),
                Panel(
                    "Requests per second",
                    "reqps",
                    (
                        Query(r.FINISHED + ONE, "finished {{instance}}"),
                        Query(r.REFUSED + ONE, "rejected {{instance}}"),
                    ),
                    "Rejected: by the engine's own queue limits (vLLM 0.32 and newer).",
                ),
            ),
        ),
        (
            "Latency",
            (
                Panel(
                    "Time to first token (TTFT)",
                    "s",
                    _both("replica:vllm_ttft_seconds", ONE, " {{instance}}"),
                    "Queueing and prefill.",
                ),
                Panel(
                    "Time between tokens (ITL)",
                    "s",
                    _both("replica:vllm_itl_seconds", ONE, " {{instance}}"),
                    "A p99 of five times the median is a stall.",
                ),
                Panel(
                    "Time in the engine's queue",
                    "s",
                    _both("replica:vllm_queue_seconds", ONE, " {{instance}}"),
                    "The first wait only; counted when a request ends.",
                ),
                Panel(
                    "End-to-end latency",
                    "s",
                    _both("replica:vllm_e2e_seconds", ONE, " {{instance}}"),
                    "From arrival to the last token.",
                ),
            ),
        ),
    ),
)

TRAFFIC = Board(
    "barostat-traffic-shape",
    "vLLM: traffic shape",
    "Request lengths and flow: do the lengths that the limits were derived from still hold?",
    (_NAMESPACE, _MODEL),
    (
        (
            "Lengths",
            (
                Panel(
                    "Prompt tokens",
                    "short",
                    _both("replica:vllm_prompt_length_tokens", ENGINES, " {{pod}} {{instance}}"),
                    "Compare with request.maxInputTokens of the limits.",
                ),
                Panel(
                    "Output tokens",
                    "short",
                    _both("replica:vllm_output_length_tokens", ENGINES, " {{pod}} {{instance}}"),
                    "Output grows in the pool without having been reserved.",
                ),
                Panel(
                    "Output limit that clients state (max_tokens)",
                    "short",
                    _both("replica:vllm_max_tokens", ENGINES, " {{pod}} {{instance}}"),
                    "Far above the output tokens: clients do not set a limit of their own.",
                ),
            ),
        ),
        (
            "Flow",
            (
                Panel(
                    "Finished requests per second, by reason",
                    "reqps",
                    (
                        Query(
                            f"sum by (finished_reason) (rate({FINISHED[0]}_total{ENGINES}[5m]))",
                            "{{finished_reason}}",
                        ),
                    ),
                    "Reason `length`: the answer was cut off at its limit.",
                ),
                Panel(
                    "Tokens per second",
                    "short",
                    (
                        Query(f"sum({r.PROMPTS}{ENGINES})", "prompt"),
                        Query(f"sum({r.GENERATED}{ENGINES})", "output"),
                    ),
                    "The ratio shows whether the fleet mostly prefills or decodes.",
                ),
                Panel(
                    "Prefix cache hit ratio",
                    "percentunit",
                    _each(r.PREFIX_HITS, ENGINES),
                    "Share of the prompt tokens found in the cache. Falls if traffic is spread over more replicas, or blocks are evicted.",
                    top=1.0,
                ),
            ),
        ),
    ),
)

GATEWAY = Board(
    "barostat-gateway",
    "barostat: gateway",
    "Admitted, queued and rejected requests, and the KV cache that they are expected to use.",
    (
        Variable("namespace", "namespace", _GATEWAY + "active_requests"),
        Variable("instance", "instance", _GATEWAY + "active_requests"),
    ),
    (
        (
            "Responses",
            (
                Panel(
                    "Requests by status code, rejections by reason",
                    "reqps",
                    (
                        Query(
                            f"sum by (code) (rate({_GATEWAY}requests_total{GATEWAYS}[5m]))",
                            "{{code}}",
                        ),
                        Query(
                            f"sum by (reason) (rate({_GATEWAY}refusals_total{GATEWAYS}[5m]))",
                            "rejected: {{reason}}",
                        ),
                    ),
                    "Rejections for lack of capacity protect the engine; if they last, add replicas.",
                ),
                Panel(
                    "Running and queued requests",
                    "short",
                    (
                        Query(f"{_GATEWAY}active_requests{GATEWAYS}", "running {{instance}}"),
                        Query(f"{_GATEWAY}queued_requests{GATEWAYS}", "queued {{instance}}"),
                    ),
                    "Requests queued here hold no KV cache.",
                ),
                Panel(
                    "Time in the gateway's queue",
                    "s",
                    _gateway_quantiles("queue_seconds", " >= 0 or vector(0)"),
                    "0: nothing is queued. At most edge.queueDeadlineSeconds.",
                ),
                Panel(
                    "Time to first byte",
                    "s",
                    _gateway_quantiles("first_byte_seconds"),
                    "As clients see it, the gateway's queue included.",
                ),
            ),
        ),
        (
            "Engines",
            (
                Panel(
                    "Engines in rotation",
                    "none",
                    (Query(f"{_GATEWAY}replica_up{GATEWAYS}", "{{replica}}"),),
                    "1: gets requests, 0: removed from rotation.",
                    top=1.0,
                ),
                Panel(
                    "KV tokens: held now, expected peak, pool",
                    "short",
                    (
                        Query(f"{_GATEWAY}replica_held_tokens{GATEWAYS}", "held now {{replica}}"),
                        Query(
                            f"{_GATEWAY}replica_forecast_peak_tokens{GATEWAYS}",
                            "expected peak {{replica}}",
                        ),
                        Query(f"{_GATEWAY}replica_pool_tokens{GATEWAYS}", "pool {{replica}}"),
                    ),
                    "Admission keeps the expected peak below the pool.",
                ),
                Panel(
                    "Error of the length forecast",
                    "percentunit",
                    (Query(f"{_GATEWAY}length_forecast_error_ratio{GATEWAYS}", "{{instance}}"),),
                    "The gateway keeps this share of the forecast free.",
                ),
            ),
        ),
        (
            "Traffic",
            (
                Panel(
                    "Prompt tokens",
                    "short",
                    _gateway_quantiles("prompt_tokens"),
                    "As counted or estimated at admission.",
                ),
                Panel(
                    "Output tokens",
                    "short",
                    _gateway_quantiles("output_tokens"),
                    "As reported by the engines.",
                ),
                Panel(
                    "Delay of the gateway's event loop",
                    "s",
                    (Query(f"{_GATEWAY}loop_late_seconds{GATEWAYS}", "{{instance}}"),),
                    "Near 0 unless the gateway itself is the bottleneck.",
                ),
            ),
        ),
    ),
)

BOARDS = (FLEET, REPLICA_BOARD, TRAFFIC, GATEWAY)
