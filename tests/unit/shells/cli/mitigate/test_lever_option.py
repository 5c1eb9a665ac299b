"""What a person asks for by name is read and checked before anything is looked at: one sentence for
what makes no sense.
"""

from __future__ import annotations

import pytest

from barostat.catalog.option_names import known_argument
from barostat.core.errors import InputError
from barostat.core.proposed_change import (
    EditPodSpec,
    Scale,
    SetEdgeLimit,
    SetEnvironment,
    SetFlag,
    SetMemory,
)
from barostat.judge.mitigation.requested_lever import Requested, RequestedChange, RequestedLever
from barostat.levers import levers
from barostat.shells.cli.main import main
from barostat.shells.cli.mitigate.lever_option import requested


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("max-num-seqs=48", RequestedChange("max-num-seqs", SetFlag("max_num_seqs", 48))),
        ("--max_num_seqs=048", RequestedChange("max-num-seqs", SetFlag("max_num_seqs", 48))),
        ("-tp=2", RequestedChange("tensor-parallel-size", SetFlag("tensor_parallel_size", 2))),
        (
            "device-memory-utilization=0.9",
            RequestedChange("gpu-memory-utilization", SetFlag("gpu_memory_utilization", 0.9)),
        ),
        ("max-model-len=4k", RequestedChange("max-model-len", SetFlag("max_model_len", 4000))),
        ("max-model-len=auto", RequestedChange("max-model-len", SetFlag("max_model_len", "auto"))),
        ("watermark=0", RequestedChange("watermark", SetFlag("watermark", 0))),
        ("watermark", RequestedLever("watermark")),
        ("kv-cache-dtype=fp8", RequestedChange("kv-cache-dtype", SetFlag("kv_cache_dtype", "fp8"))),
        (
            "enable-prefix-caching",
            RequestedChange("enable-prefix-caching", SetFlag("enable_prefix_caching", True)),
        ),
        (
            "enable-prefix-caching=False",
            RequestedChange("enable-prefix-caching", SetFlag("enable_prefix_caching", False)),
        ),
        (
            "no-enable-prefix-caching",
            RequestedChange("no-enable-prefix-caching", SetFlag("enable_prefix_caching", False)),
        ),
        (
            "disable-cascade-attn",
            RequestedChange("disable-cascade-attn", SetFlag("disable_cascade_attn", True)),
        ),
        (
            'kv-transfer-config={"a": 1}',
            RequestedChange("kv-transfer-config", SetFlag("kv_transfer_config", '{"a": 1}')),
        ),
        (
            "VLLM_CPU_KVCACHE_SPACE=8",
            RequestedChange(
                "VLLM_CPU_KVCACHE_SPACE", SetEnvironment((("VLLM_CPU_KVCACHE_SPACE", "8"),))
            ),
        ),
        ("scale-out", RequestedLever("scale-out")),
        ("scale-out=3", RequestedChange("scale-out", Scale(3))),
        ("replicas=3", RequestedChange("scale-out", Scale(3))),
        ("edge-input-cap", RequestedLever("edge-input-cap")),
        (
            "edge-input-cap=400",
            RequestedChange("edge-input-cap", SetEdgeLimit("request.maxInputTokens", 400)),
        ),
        ("undo-rollout", RequestedLever("undo-rollout")),
        (
            "host-memory-limit=3Gi",
            RequestedChange("host-memory-limit", EditPodSpec(SetMemory("3Gi"))),
        ),
    ],
)
def test_what_makes_sense_is_read(text: str, wanted: Requested) -> None:
    assert requested(text) == wanted


def test_every_lever_may_be_asked_for_by_its_name() -> None:
    assert {requested(lever.name).lever for lever in levers()} == {lever.name for lever in levers()}


WHOLE = "takes a whole number from 1 up to 2,147,483,647"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("max-num-seqs=abc", f"--lever max-num-seqs: {WHOLE}, not 'abc'"),
        ("max-num-seqs=-5", f"{WHOLE}, not '-5'"),
        ("max-num-seqs=0", f"{WHOLE}, not '0'"),
        ("max-num-seqs=4.5", f"{WHOLE}, not '4.5'"),
        ("max-num-seqs=99999999999999999999", f"{WHOLE}, not '9999"),
        ("max-num-seqs=2147483648", f"{WHOLE}, not '2147483648'"),
        ("max-num-seqs=4;rm -rf", f"{WHOLE}, not '4;rm -rf'"),
        (
            "max-num-seqs=",
            "--lever max-num-seqs: has nothing behind the =; it takes a whole number",
        ),
        ("watermark=7", "takes a number from 0 to below 1"),
        ("watermark=1", "takes a number from 0 to below 1"),
        (
            "gpu-memory-utilization=95",
            "takes a number above 0 up to 1 (a share: 0.9 is 90 %), not '95'",
        ),
        ("gpu-memory-utilization=0", "takes a number above 0"),
        ("gpu-memory-utilization=nan", "takes a number above 0"),
        ("gpu-memory-utilization", "needs a value"),
        ("enable-prefix-caching=maybe", "takes true or false, not 'maybe'"),
        ("no-enable-prefix-caching=true", "takes no value"),
        ("max-model-len=0", "or auto, not '0'"),
        ("scheduling-policy=lifo", "takes fcfs or priority, not 'lifo'"),
        ("kv-cache-dtype=banana", "not 'banana'"),
        ("kv-transfer-config=abc", "takes JSON"),
        ("cudagraph-capture-sizes=1,2", "takes a list"),
        ("model=a\nb", "takes one line"),
        ("foo=1", "is no lever, and no argument of vLLM that is known here"),
        ("foo", "is no lever"),
        ("max-num-seq=4", "did you mean max-num-seqs"),
        ("water-mark=0.1", "did you mean watermark"),
        ("=5", "--lever: '=5' names no change"),
        ("X-Y Z=1", "--lever: 'X-Y Z=1' names no change"),
        ("FOO=1", "is no variable that an engine reads"),
        ("MAX_NUM_SEQS=4", "the argument is max-num-seqs"),
        ("VLLM_CPU_KVCACHE_SPACE=abc", "takes a whole number of GiB"),
        ("VLLM_USE_V1", "needs a value"),
        ("HF_TOKEN=abc", "is a secret"),
        (f"NCCL_DEBUG={'x' * 121}", "at most 120 characters"),
        (
            "edge-input-cap=lots",
            "it is spec.request.maxInputTokens of the limits, which a gateway holds",
        ),
        ("edge-output-cap=0", "spec.request.maxOutputTokens"),
        ("edge-admission-budget=-1", "spec.edge.kvTokenBudget"),
        ("scale-out=many", f"--lever scale-out: {WHOLE}"),
        ("replicas=0", WHOLE),
        ("replicas", "scale-out alone adds one"),
        ("undo-rollout=3", "takes no value, the diagnosis tells it"),
        ("probes=abc", "takes no value"),
        ("quiet=1", "takes no value"),
        ("host-memory-limit=3", "takes an amount of memory"),
        ("host-memory-limit=lots", "such as 3Gi, not 'lots'"),
        ("shm-size=9999999Ti", "takes an amount of memory"),
        ("gpu-memory-utilization-down=0.8", "--lever gpu-memory-utilization=0.8 sets the argument"),
        ("gpu-memory-utilization-down=8", "takes no value"),
    ],
)
def test_what_makes_none_is_told_in_one_sentence(text: str, told: str) -> None:
    with pytest.raises(InputError) as refused:
        requested(text)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("--lever")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("--max-num-seqs", True),
        ("--headless", True),
        ("-tp", True),
        ("--max-num-seqz", False),
        ("--x", False),
    ],
)
def test_an_argument_is_known_or_not(name: str, known: bool) -> None:
    assert bool(known_argument(name)) is known


@pytest.mark.parametrize("lever", ["max-num-seqs=abc", "foo=1", "=5"])
def test_nothing_is_looked_at_for_what_makes_no_sense(
    lever: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "mitigate",
                "deploy/vllm",
                "--kubeconfig",
                "/nowhere/at/all",
                "--dry-run",
                f"--lever={lever}",
            ]
        )
        == 2
    )
    assert capsys.readouterr().err.startswith("barostat: --lever")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (
            ["--lever", "max-num-seqs=48", "--lever", "watermark=0.02"],
            "one change at a time: max-num-seqs=48 and watermark=0.02",
        ),
        (["--lever", ""], "nothing is named"),
    ],
)
def test_one_change_is_asked_for_at_a_time(
    flags: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["mitigate", "deploy/vllm", "--kubeconfig", "/nowhere/at/all", "--dry-run", *flags])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
