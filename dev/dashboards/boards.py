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
    "barostat-fleet", "vLLM: fleet", "Every replica at once: who waits, who is thrown out, what users see.",
    (_NAMESPACE, _MODEL),
    (
        ("Harm", (
            Panel("Requests that wait for capacity", "short", _each(r.CAPACITY_WAITING, ENGINES),
                  "The first sign of pressure. Memory and usage near their top without this are a pool well used."),
            Panel("Preemptions per finished request", "percentunit", _each(r.PREEMPTED_SHARE, ENGINES),
                  "From one in ten on users notice; it feeds itself.", threshold=0.1),
            Panel("Time to first token, p99", "s", _each(r.quantile_name("replica:vllm_ttft_seconds", 0.99), ENGINES),
                  "What a user waits for the first word."),
            Panel("Between two tokens, p99", "s", _each(r.quantile_name("replica:vllm_itl_seconds", 0.99), ENGINES),
                  "A long tail here is a stream that stalls: preemption, or a long prefill beside it."),
        )),
        ("Load", (
            Panel("KV pool in use", "percentunit", _each(r.KV_USAGE, ENGINES),
                  "What running requests hold. Near 1 is no harm by itself.", top=1.0),
            Panel("Requests that run", "short", _each(r.RUNNING, ENGINES), "Falls while the pool is full where requests are long."),
            Panel("Tokens generated per second", "cps", _each(r.GENERATED, ENGINES), "What the fleet gives."),
            Panel("Requests finished per second", "reqps", _each(r.FINISHED, ENGINES), "Beside tokens: falls where answers get longer."),
        )),
    ),
)  # fmt: skip

REPLICA_BOARD = Board(
    "barostat-replica", "vLLM: replica", "One engine: what it holds, what it does with it, and what that costs its requests.",
    (_NAMESPACE, _MODEL, _INSTANCE),
    (
        ("Now", (
            Panel("KV pool in use", "percentunit", _each(r.KV_USAGE, ONE, "{{instance}}"), "Of all blocks.", kind="number", top=1.0),
            Panel("Run", "short", _each(r.RUNNING, ONE, "{{instance}}"), "Scheduled now.", kind="number"),
            Panel("Wait", "short", _each(r.WAITING, ONE, "{{instance}}"), "All that wait, the preempted among them.", kind="number"),
            Panel("Preemptions per second", "cps", _each(r.PREEMPTIONS, ONE, "{{instance}}"), "Counted when the request has resumed.",
                  kind="number"),
        )),
        ("Pool and queue", (
            Panel("KV pool in use", "percentunit", _each(r.KV_USAGE, ONE, "{{instance}}"), "A saw is requests of one size.", top=1.0),
            Panel("Run and wait", "short",
                  (Query(r.RUNNING + ONE, "run"), Query(r.CAPACITY_WAITING + ONE, "wait for capacity"), Query(r.WAITING + ONE, "wait")),
                  "Waiting with a pool that is not full: slots or the step are what is full."),
            Panel("Preemptions", "cps", _each(r.PREEMPTIONS, ONE, "{{instance}}"), "Each is a prompt and its answer computed again."),
        )),
        ("Work", (
            Panel("Tokens per second", "cps", (Query(r.PROMPTS + ONE, "prompt"), Query(r.GENERATED + ONE, "generated")),
                  "Prompts that crowd out generation are a step that is too small."),
            Panel("Requests per second", "reqps", (Query(r.FINISHED + ONE, "finished"), Query(r.REFUSED + ONE, "turned away (0.32 on)")),
                  "Turned away: the engine's queue limits."),
        )),
        ("Latency", (
            Panel("Time to first token", "s", _both("replica:vllm_ttft_seconds", ONE), "Queue and prefill."),
            Panel("Between two tokens", "s", _both("replica:vllm_itl_seconds", ONE), "Five times the median is a stall."),
            Panel("In the queue", "s", _both("replica:vllm_queue_seconds", ONE), "The first wait only; counted when a request ends."),
            Panel("Whole request", "s", _both("replica:vllm_e2e_seconds", ONE), "From arrival to the last token."),
        )),
    ),
)  # fmt: skip

TRAFFIC = Board(
    "barostat-traffic-shape", "vLLM: traffic shape",
    "What is asked for: the lengths that the limits were derived from, and whether they still hold.",
    (_NAMESPACE, _MODEL),
    (
        ("Lengths", (
            Panel("Prompt tokens", "short", _both("replica:vllm_prompt_length_tokens", ENGINES, " {{instance}}"),
                  "Against request.maxInputTokens of the limits."),
            Panel("Output tokens", "short", _both("replica:vllm_output_length_tokens", ENGINES, " {{instance}}"),
                  "Output is what grows without being reserved."),
            Panel("Output tokens allowed (max_tokens)", "short", _both("replica:vllm_max_tokens", ENGINES, " {{instance}}"),
                  "Far above what is used: nobody sets a limit."),
        )),
        ("Flow", (
            Panel("Requests finished, by reason", "reqps",
                  (Query(f"sum by (finished_reason) (rate({FINISHED[0]}_total{ENGINES}[5m]))", "{{finished_reason}}"),),
                  "Many of reason length are answers that were cut."),
            Panel("Tokens per second", "cps",
                  (Query(f"sum({r.PROMPTS}{ENGINES})", "prompt"), Query(f"sum({r.GENERATED}{ENGINES})", "generated")),
                  "The ratio says whether the fleet prefills or decodes."),
            Panel("Prompt tokens found in the prefix cache", "percentunit", _each(r.PREFIX_HITS, ENGINES),
                  "Falls where traffic is spread over more replicas, or the cache is being thrown out.", top=1.0),
        )),
    ),
)  # fmt: skip

GATEWAY = Board(
    "barostat-gateway", "barostat: gateway", "What was admitted, what waited, what was refused and why, and what the ledger holds.",
    (Variable("namespace", "namespace", _GATEWAY + "active_requests"), Variable("instance", "instance", _GATEWAY + "active_requests")),
    (
        ("Answers", (
            Panel("Requests by answer, and refusals by reason", "reqps",
                  (Query(f"sum by (code) (rate({_GATEWAY}requests_total{GATEWAYS}[5m]))", "{{code}}"),
                   Query(f"sum by (reason) (rate({_GATEWAY}refusals_total{GATEWAYS}[5m]))", "refused: {{reason}}")),
                  "A refusal for want of room is the gateway at work; one that lasts asks for more replicas."),
            Panel("Under way and waiting", "short",
                  (Query(f"{_GATEWAY}active_requests{GATEWAYS}", "under way {{instance}}"),
                   Query(f"{_GATEWAY}queued_requests{GATEWAYS}", "waiting {{instance}}")), "Waiting at the gateway spares the engine."),
            Panel("Time in the gateway's queue", "s", _gateway_quantiles("queue_seconds", " >= 0 or vector(0)"),
                  "0: nobody waits. Bounded by edge.queueDeadlineSeconds."),
            Panel("Time to first byte", "s", _gateway_quantiles("first_byte_seconds"), "What clients see, the queue included."),
        )),
        ("Engines", (
            Panel("Engines in rotation", "none", (Query(f"{_GATEWAY}replica_up{GATEWAYS}", "{{replica}}"),), "0: taken out.", top=1.0),
            Panel("KV tokens: held, expected at the peak, and the pool", "short",
                  (Query(f"{_GATEWAY}replica_held_tokens{GATEWAYS}", "held {{replica}}"),
                   Query(f"{_GATEWAY}replica_forecast_peak_tokens{GATEWAYS}", "peak {{replica}}"),
                   Query(f"{_GATEWAY}replica_pool_tokens{GATEWAYS}", "pool {{replica}}")),
                  "Admission keeps the peak below the pool."),
            Panel("Forecast of lengths is off by", "percentunit",
                  (Query(f"{_GATEWAY}length_forecast_error_ratio{GATEWAYS}", "{{instance}}"),),
                  "How much room is kept for being wrong."),
        )),
        ("Traffic", (
            Panel("Prompt tokens", "short", _gateway_quantiles("prompt_tokens"), "As counted or estimated at admission."),
            Panel("Output tokens", "short", _gateway_quantiles("output_tokens"), "As the engines told."),
            Panel("The gateway's own delay", "s", (Query(f"{_GATEWAY}loop_late_seconds{GATEWAYS}", "{{instance}}"),),
                  "How late its loop was: it should be nobody's bottleneck."),
        )),
    ),
)  # fmt: skip

BOARDS = (FLEET, REPLICA_BOARD, TRAFFIC, GATEWAY)
