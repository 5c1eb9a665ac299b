"""Causes: which symptoms carry which, which explains which, and when nobody does."""

from __future__ import annotations

import pytest

from barostat.catalog.signals import signal
from barostat.core.config import ConfigValue, EngineConfig
from barostat.core.diagnosis import CAUSES, VARIANTS
from barostat.core.verdict import Absent, Present, Unknown, Verdict
from barostat.core.window import Window
from barostat.judge.diagnosis.case import Case, Claim, Cleared, Open
from barostat.judge.diagnosis.causes import causes
from barostat.judge.diagnosis.diagnose import choose
from barostat.symptoms import symptoms

BY_NAME = {cause.name: cause for cause in causes()}


def case(present: str = "", absent: str = "") -> Case:
    verdicts: dict[str, Verdict] = {name: Present(f"{name} seen", ()) for name in present.split()}
    verdicts |= {name: Absent(f"{name} not seen") for name in absent.split()}
    measured = [
        signal(name, [(0.0, 0.0)], "test")
        for name in ("waiting_requests", "generation_tokens_per_s")
    ]
    return Case(
        Window("r", 0.0, {item.name: item for item in measured if item is not None}), verdicts
    )


def named(case: Case) -> str:
    diagnosis, _ = choose({cause.name: (cause.rank, cause.judge(case)) for cause in causes()}, case)
    return f"{diagnosis.cause}/{diagnosis.variant}" if diagnosis.variant else diagnosis.cause


def test_there_is_a_file_for_every_cause_of_the_closed_list() -> None:
    assert sorted(BY_NAME) == sorted(CAUSES)


@pytest.mark.parametrize("cause", causes(), ids=lambda cause: cause.name)
def test_every_cause_has_its_page(cause: object) -> None:
    from barostat.shells.reports.rule_pages import pages

    text = pages()[cause.name].text  # type: ignore[attr-defined]
    for section in ("Meaning:", "Impact:", "Evidence:", "Not evidence:", "Mitigation:", "Source:"):
        assert section in text


def test_every_symptom_that_a_cause_names_exists() -> None:
    import ast
    import importlib
    import inspect

    known = {symptom.name for symptom in symptoms()}
    looked_up: set[str] = set()
    for cause in causes():
        module = importlib.import_module(cause.judge.__module__)
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and "-" in node.value
                and " " not in node.value
            ):
                looked_up.add(node.value)
    variants = {variant for names in VARIANTS.values() for variant in names}
    unknown = {
        name
        for name in looked_up
        if name not in known and name not in CAUSES and name not in variants
    }
    assert looked_up
    assert not unknown


@pytest.mark.parametrize(
    ("present", "absent", "expected"),
    [
        (
            "preemption-heavy preemptions kv-usage-pinned kv-capacity-waiting engine-busy",
            "",
            "kv-preemption-thrash",
        ),
        (
            "kv-capacity-waiting kv-usage-pinned engine-busy",
            "preemptions preemption-heavy",
            "kv-admission-queueing",
        ),
        (
            "kv-capacity-waiting preemptions engine-busy",
            "preemption-heavy",
            "kv-admission-queueing",
        ),
        (
            "slots-full engine-busy",
            "kv-usage-pinned kv-capacity-waiting preemptions preemption-heavy",
            "slot-bound",
        ),
        (
            "prefill-budget-saturated engine-busy",
            "kv-capacity-waiting slots-full preemption-heavy",
            "prefill-bound",
        ),
        (
            "api-server-saturated queue-without-work engine-busy",
            "kv-capacity-waiting",
            "host-bound/api-server",
        ),
        (
            "engine-busy kv-usage-pinned memory-high-compute-low",
            "kv-capacity-waiting preemptions preemption-heavy",
            "healthy-busy",
        ),
        ("engine-idle memory-high-compute-low", "", "healthy-idle"),
        ("core-stopped tokens-stalled", "", "hung-engine/no-tokens"),
        ("tokens-stalled", "", "unknown"),
        ("tokens-stalled probe-unanswered", "", "hung-engine/no-tokens"),
        ("tokens-stalled timeouts-and-5xx", "", "hung-engine/no-tokens"),
        ("tokens-stalled engine-died", "", "unknown"),
        ("tokens-stalled engine-died collective-hang", "", "hung-engine/collective"),
        ("collective-hang engine-died", "", "hung-engine/collective"),
        ("gpu-ecc engine-died collective-hang", "", "node-fault/ecc"),
        ("gpu-oom-graph-capture engine-died", "", "gpu-oom/graph-capture"),
        ("model-too-long engine-died crash-looping", "", "kv-pool-too-small/length"),
        ("unknown-argument crash-looping restarts", "", "bad-config/argument"),
        ("oom-killed restarts", "", "host-oom/cgroup"),
        ("pod-pending", "", "scaling-lag/pending"),
        ("scaling-lag engine-busy preemption-heavy", "", "kv-preemption-thrash"),
        ("scaling-lag engine-busy", "kv-capacity-waiting", "healthy-busy"),
        ("latency-outside-engine engine-busy", "kv-capacity-waiting", "network-or-gateway"),
        ("slower-than-card slots-full engine-busy", "", "unknown"),
        ("slower-than-card engine-busy", "requests-waiting", "unknown"),
        ("slower-than-card compute-saturated tail-latency-up engine-busy", "", "unknown"),
        ("memory-high-compute-low", "", "unknown"),
        ("tail-latency-up", "", "unknown"),
        ("", "", "unknown"),
    ],
)
def test_the_picture_names_the_cause(present: str, absent: str, expected: str) -> None:
    assert named(case(present, absent)) == expected


def at_the_edge(present: str, **values: float) -> Case:
    """A case with what the gateway and the engine's own server counted."""
    made = [signal(name, [(0.0, value)], "test") for name, value in values.items()]
    verdicts: dict[str, Verdict] = {name: Present(f"{name} seen", ()) for name in present.split()}
    return Case(Window("r", 0.0, {item.name: item for item in made if item is not None}), verdicts)


@pytest.mark.parametrize(
    ("values", "claims"),
    [
        ({"errors_in_window": 40, "finished_in_window": 400}, False),
        ({"errors_in_window": 40, "finished_in_window": 400, "gateway_5xx_ratio": 0.1}, False),
        ({"errors_in_window": 0, "finished_in_window": 400, "gateway_5xx_ratio": 0.1}, True),
        ({"errors_in_window": 8, "finished_in_window": 400, "gateway_5xx_ratio": 0.3}, True),
        ({"errors_in_window": 40, "finished_in_window": 400, "gateway_timeout_ratio": 0.1}, True),
    ],
)
def test_5xx_of_the_engines_own_server_are_not_the_gateways(
    values: dict[str, float], claims: bool
) -> None:
    judged = BY_NAME["network-or-gateway"].judge(
        at_the_edge("timeouts-and-5xx engine-busy", **values)
    )
    assert isinstance(judged, Claim) is claims
    if isinstance(judged, Cleared):
        assert judged.because == "the errors are the engine's own: timeouts-and-5xx seen"


def test_an_edge_that_fails_before_an_engine_nobody_saw_is_not_ruled_out() -> None:
    judged = BY_NAME["network-or-gateway"].judge(
        at_the_edge("timeouts-and-5xx endpoint-silent", gateway_5xx_ratio=0.5)
    )
    assert isinstance(judged, Open)
    reasons = BY_NAME["network-or-gateway"].judge(
        at_the_edge("timeouts-and-5xx slots-full", gateway_5xx_ratio=0.5)
    )
    assert isinstance(reasons, Cleared)
    assert reasons.because.endswith("slots-full seen")


@pytest.mark.parametrize(
    ("line", "variant"),
    [
        (
            (
                "VLLM::EngineCor; Memory cgroup out of memory: Killed process 4711 "
                "(VLLM::EngineCor) total-vm:41288kB"
            ),
            "cgroup",
        ),
        (
            (
                "VLLM::EngineCor; Out of memory: Killed process 4711 (VLLM::EngineCor) "
                "total-vm:41288kB"
            ),
            "node-eviction",
        ),
        (
            (
                "python3; "
                "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=python3,pid=4711,uid=0"
            ),
            "cgroup",
        ),
        (
            (
                "python3; "
                "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=python3,pid=4711,uid=0"
            ),
            "node-eviction",
        ),
        ("java; Out of memory: Killed process 4711 (java) total-vm:41288kB", "cgroup"),
    ],
)
def test_a_kill_for_the_nodes_shortage_is_no_matter_of_the_containers_limit(
    line: str, variant: str
) -> None:
    kill = signal("kernel_oom_kill", [(0.0, 1.0)], "node.kernel.log", line)
    assert kill is not None
    window = Window("r", 0.0, {kill.name: kill})
    assert named(Case(window, {"oom-killed": Present("killed", ())})) == f"host-oom/{variant}"


@pytest.mark.parametrize(
    ("line", "variant"),
    [
        (
            (
                "Warning Evicted pod/vllm-0 The node was low on resource: memory. Container "
                "vllm was using 5053216Ki"
            ),
            "node-eviction",
        ),
        ("/start.sh: line 3: 17 Killed vllm serve m", "cgroup"),
    ],
)
def test_an_eviction_that_only_the_log_tells_is_the_nodes(line: str, variant: str) -> None:
    told = signal("log_host_oom", [(0.0, 1.0)], "log", line)
    assert told is not None
    assert (
        named(Case(Window("r", 0.0, {told.name: told}), {"oom-killed": Present("killed", ())}))
        == f"host-oom/{variant}"
    )


@pytest.mark.parametrize(
    ("words", "variant"),
    [
        ("HW Slowdown: Active", "throttle"),
        ("uncorrectable ECC error encountered", "ecc"),
        ("GPU is lost", "xid"),
    ],
)
def test_a_fault_in_the_log_is_of_the_kind_that_it_names(words: str, variant: str) -> None:
    assert (
        named(Case(Window("r", 0.0, {}), {"gpu-fault-in-log": Present(words, ())}))
        == f"node-fault/{variant}"
    )


def test_unknown_still_says_what_is_plain() -> None:
    seen = case("engine-died unclassified-error")
    diagnosis, rests_on = choose(
        {cause.name: (cause.rank, cause.judge(seen)) for cause in causes()}, seen
    )
    assert (diagnosis.cause, diagnosis.severity, diagnosis.confidence) == (
        "unknown",
        "critical",
        0.0,
    )
    assert "engine-died seen" in diagnosis.summary
    assert rests_on == ("engine-died", "unclassified-error")


def test_missing_replicas_contribute_to_pressure() -> None:
    from barostat.judge.diagnosis.diagnose import _contributing

    seen = case("scaling-lag preemption-heavy")
    judged = {cause.name: (cause.rank, cause.judge(seen)) for cause in causes()}
    assert [text.split(":")[0] for text in _contributing(judged, "kv-preemption-thrash")] == [
        "scaling-lag"
    ]


def test_running_without_a_count_of_tokens_is_not_called_healthy() -> None:
    """One scrape of a hung engine looks like this."""
    verdicts: dict[str, Verdict] = {"engine-busy": Present("8 requests running", (), 0.6)}
    queue = signal("waiting_requests", [(0.0, 0.0)], "test")
    assert queue is not None
    assert named(Case(Window("r", 0.0, {queue.name: queue}), verdicts)) == "unknown"


def test_heat_alone_is_never_a_cause() -> None:
    for cause in causes():
        assert not isinstance(cause.judge(case("memory-high-compute-low restarts")), Claim)


def test_without_any_symptom_every_cause_stays_open() -> None:
    for cause in causes():
        assert isinstance(cause.judge(case()), Open)


def test_a_claim_uses_a_variant_of_the_list() -> None:
    for symptom in symptoms():
        for cause in causes():
            judgement = cause.judge(case(symptom.name))
            if isinstance(judgement, Claim):
                assert judgement.variant in (*VARIANTS.get(cause.name, ()), "")
                assert judgement.confidence <= 1
            assert isinstance(judgement, Claim | Cleared | Open)


def test_unknown_symptoms_authorise_nothing() -> None:
    verdicts: dict[str, Verdict] = {symptom.name: Unknown("not measured") for symptom in symptoms()}
    assert named(Case(Window("r", 0.0), verdicts)) == "unknown"


@pytest.mark.parametrize(
    ("waiting", "readings", "claimed"), [(1.0, 2, False), (0.0, 2, True), (1.0, 4, True)]
)
def test_a_queue_that_begins_on_a_full_pool_is_not_called_healthy_after_two_readings(
    waiting: float, readings: int, claimed: bool
) -> None:
    times = [10.0 * place for place in range(readings)]
    usage = signal("kv_usage_ratio", [(at, 0.99) for at in times], "test")
    queue = signal(
        "waiting_requests", [(at, waiting if at == times[-1] else 0.0) for at in times], "test"
    )
    tokens = signal("generation_tokens_per_s", [(at, 500.0) for at in times], "test")
    signals = {item.name: item for item in (usage, queue, tokens) if item is not None}
    window = Window("r", times[-1], signals)
    judged = BY_NAME["healthy-busy"].judge(Case(window, {"engine-busy": Present("runs", ())}))
    assert isinstance(judged, Claim) is claimed


def test_the_load_before_a_crash_is_neither_its_cause_nor_healthy() -> None:
    dead = signal("log_engine_dead", [(0.0, 1.0)], "test")
    assert dead is not None
    crashed = case(
        "kv-capacity-waiting kv-usage-pinned engine-busy engine-died unclassified-error",
        "preemption-heavy",
    )
    crashed = Case(Window("r", 0.0, {**crashed.window.signals, dead.name: dead}), crashed.verdicts)
    assert named(crashed) == "unknown"
    oom = Case(
        crashed.window, {**crashed.verdicts, "gpu-oom-serving": Present("out of memory", ())}
    )
    assert named(oom) == "gpu-oom/serving"


@pytest.mark.parametrize(
    ("also", "expected"),
    [
        ("", "bad-config/slow"),
        ("tokens-stalled", "unknown"),
        ("tokens-stalled probe-unanswered", "hung-engine/no-tokens"),
        ("cpu-throttled", "host-bound/cpu"),
        ("preemption-heavy", "kv-preemption-thrash"),
    ],
)
def test_a_slow_setting_stands_behind_what_says_more(also: str, expected: str) -> None:
    """Eager mode is one thing, an engine that makes no token at all another."""
    pictured = case(f"slower-than-card engine-busy requests-waiting {also}")
    signals = [signal("expected_work_ratio", [(at, 0.2) for at in (0.0, 15.0, 30.0)], "test")]
    eager = EngineConfig({"enforce_eager": ConfigValue(True, "flag", "--enforce-eager")})
    window = Window(
        "r",
        30.0,
        {**pictured.window.signals, **{one.name: one for one in signals if one is not None}},
        config=eager,
    )
    assert named(Case(window, pictured.verdicts)) == expected


def test_adapter_slots_are_slots_of_their_own() -> None:
    pictured = "adapter-slots-full deferred-waiting requests-waiting engine-busy"
    assert named(case(pictured, "slots-full")) == "slot-bound/adapters"
    assert named(case(f"{pictured} slots-full")) == "slot-bound"


def test_the_sampler_is_not_graph_capture() -> None:
    pictured = case("gpu-oom-graph-capture")
    words = Present("out of memory: occurred when warming up sampler with 1024 dummy requests", ())
    sampler = Case(pictured.window, {**pictured.verdicts, "gpu-oom-graph-capture": words})
    assert named(sampler) == "gpu-oom/sampler"
    assert named(pictured) == "gpu-oom/graph-capture"
