"""The arguments of `barostat twin`: directly, from a plan, from vLLM's own command line; and
engines that would not start.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.shells.cli.main import main, parser
from barostat.shells.cli.simulate.twin_inputs import Unstartable, serving_of
from barostat.twin.modelled import ModelledPace
from barostat.twin_server.serving import Serving

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 2048, "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
}  # fmt: skip
PACE = ["--latency", "base=0.01"]
CPU = ["--gpu", "cpu", "--cpu-kvcache-space-gib", "1", *PACE]


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return str(tmp_path)


def made(*arguments: str) -> Serving | Unstartable:
    found = serving_of(parser().parse_args(["twin", *arguments]))
    return found if isinstance(found, Unstartable) else found[0]


def serving(*arguments: str) -> Serving:
    found = made(*arguments)
    assert isinstance(found, Serving), found
    return found


def test_blocks_may_be_given_directly() -> None:
    found = serving(
        "--kv-blocks",
        "400",
        "--max-model-len",
        "4096",
        *PACE,
        "--served-model-name",
        "a",
        "--served-model-name",
        "b",
    )
    assert (found.settings.kv_blocks, found.names, found.host) == (400, ("a", "b"), "127.0.0.1")
    assert found.cache_labels["num_gpu_blocks"] == "400"
    assert found.cache_labels["kv_cache_size_tokens"] == "6400"


@pytest.mark.parametrize(
    "more",
    [
        "--gpu-memory-utilization=0.5",
        "--kv-cache-dtype=fp8",
        "--kv-cache-memory-bytes=4000000000",
        "--enforce-eager",
    ],
)
def test_what_sizes_the_pool_is_heeded(more: str) -> None:
    asked = ("--model-config", "Qwen/Qwen3-8B", "--gpu", "H100")
    assert serving(*asked, more).settings.kv_blocks != serving(*asked).settings.kv_blocks
    with pytest.raises(InputError, match="has no effect without --model-config"):
        serving("--kv-blocks", "400", *PACE, more)


def test_without_chunks_a_step_holds_the_longest_prompt() -> None:
    engine = ("--model-config", "Qwen/Qwen3-8B", "--gpu", "H100", "--no-enable-chunked-prefill")
    found = serving(*engine).settings
    assert (found.chunked_prefill, found.max_num_batched_tokens) == (False, found.max_model_len)
    given = ("--max-model-len", "4096", "--max-num-batched-tokens", "9000")
    assert serving(*engine, *given).settings.max_num_batched_tokens == 9000


def test_a_model_on_a_card_is_sized_as_the_plan_sizes_it_and_paced_by_the_step_model() -> None:
    found = serving("--model-config", "Qwen/Qwen3-8B", "--gpu", "H100")
    assert found.settings.kv_blocks > 10_000
    assert isinstance(found.pace, ModelledPace)
    assert (
        0.006 < found.pace.step_ns(0, 1, 1000) / 1e9 < 0.012
    )  # 16 GB of weights at 3.35 TB/s are 5 ms
    assert found.vocabulary == 151_936
    assert found.start.available_gib is not None
    assert found.cache_labels["block_size"] == "16"


def test_vllms_own_command_line_is_understood(model: str) -> None:
    flags = [
        "--max-model-len",
        "4096",
        "--num-gpu-blocks-override",
        "64",
        "--max-num-seqs",
        "32",
        "--watermark",
        "0.04",
    ]
    more = [
        "--max-num-queued-reqs",
        "7",
        "--shutdown-timeout",
        "9",
        "--served-model-name",
        "tiny",
        "--scheduling-policy",
        "priority",
    ]
    found = serving(
        *CPU,
        "--",
        "vllm",
        "serve",
        model,
        *flags,
        *more,
        "--disable-log-stats",
        "--no-enable-prefix-caching",
    )
    settings = found.settings
    assert (
        settings.kv_blocks,
        settings.groups[0].block_tokens,
        settings.max_num_seqs,
        settings.max_model_len,
    ) == (64, 128, 32, 4096)
    assert (
        settings.watermark_ratio,
        settings.max_queued_requests,
        settings.policy,
        settings.prefix_caching,
    ) == (
        0.04,
        7,
        "priority",
        False,
    )
    assert (found.shutdown_timeout_s, found.names, found.log_stats, found.start.device) == (
        9,
        ("tiny",),
        False,
        "CPU",
    )
    assert found.start.overridden_blocks == (16_384, 64)
    assert found.cache_labels["kv_cache_memory_bytes"] == str(2**30)


def test_an_argument_that_the_version_lacks_ends_it_as_the_parser_would(model: str) -> None:
    for argument in ("--swap-space", "--made-up"):
        found = made(*CPU, "--", "vllm", "serve", model, argument, "4")
        assert isinstance(found, Unstartable)
        assert found.code == 2
        assert found.text.endswith(f"vllm: error: unrecognized arguments: {argument} 4")


def test_a_model_that_is_not_there_ends_it_as_the_hub_would() -> None:
    found = made(*CPU, "--", "vllm", "serve", "/models/not-there")
    assert isinstance(found, Unstartable)
    assert found.code == 1
    assert found.text.splitlines()[-1].startswith(
        "huggingface_hub.errors.HFValidationError: Repo id must be in the form"
    )


def test_a_pool_that_is_too_small_refuses_to_start(model: str) -> None:
    found = serving(
        *CPU,
        "--",
        "vllm",
        "serve",
        model,
        "--max-model-len",
        "4096",
        "--num-gpu-blocks-override",
        "16",
    )
    assert "max seq len (4096), (0.00 GiB KV cache is needed" in found.refused
    assert "maximum model length is 1920" in found.refused
    assert not serving(
        *CPU,
        "--",
        "vllm",
        "serve",
        model,
        "--max-model-len",
        "1920",
        "--num-gpu-blocks-override",
        "16",
    ).refused


@pytest.mark.parametrize(
    "ways",
    [
        ["--gpu", "T4", "--", "vllm", "serve", "Qwen/Qwen3-8B"],
        ["--gpu", "T4", "--model-config", "Qwen/Qwen3-8B"],
    ],
)
def test_a_card_that_the_model_does_not_fit_on_refuses_to_start_as_vllm_says_it(
    ways: list[str],
) -> None:
    found = serving(*ways)
    assert found.refused.startswith(
        "ValueError: No available memory for the cache blocks. Try increasing "
        "`gpu_memory_utilization`"
    )
    assert found.start.available_gib is not None
    assert round(found.start.available_gib, 2) == -3.94


@pytest.mark.parametrize(
    ("flag", "too_much", "fits"),
    [
        ("--kv-cache-memory-bytes", "60000000000", "2000000000"),
        ("--num-gpu-blocks-override", "9999", "999"),
    ],
)
def test_a_pool_that_is_set_beyond_the_card_runs_out_of_memory_as_it_is_allocated(
    flag: str, too_much: str, fits: str
) -> None:
    refused, starts = (
        serving(
            "--gpu",
            "L4",
            "--",
            "vllm",
            "serve",
            "Qwen/Qwen3-8B",
            "--max-model-len",
            "4096",
            flag,
            value,
        )
        for value in (too_much, fits)
    )
    assert refused.refused.startswith(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
    )
    assert not starts.refused


@pytest.mark.parametrize("verb", [["simulate"], ["tune", "--slo-ttft-p99", "1"]])
def test_a_simulation_of_a_model_that_does_not_fit_says_by_how_much(
    verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                *verb,
                "--model-config",
                "Qwen/Qwen3-8B",
                "--gpu",
                "T4",
                "--workload",
                "poisson:rate=1",
            ]
        )
        == 2
    )
    said = capsys.readouterr().err
    assert said.startswith("barostat: --gpu T4: Qwen/Qwen3-8B does not fit: ")
    assert "3.94 GiB more than the budget" in said


def test_a_port_that_is_taken_is_said_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["twin", "--kv-blocks", "400", *PACE, "--port", str(port)]) == 4
    assert (
        f"127.0.0.1:{port}: Address already in use; say --port N for another"
        in capsys.readouterr().err
    )


def test_a_port_that_another_listens_on_first_is_said_in_the_same_words() -> None:
    """Two that may share an address both have it; only the first that listens gets it, and that may
    be after the twin has bound it.
    """
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "barostat",
            "twin",
            "--kv-blocks",
            "400",
            *PACE,
            "--port",
            str(port),
            "--start-time",
            "1",
        ]
        twin = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert twin.stderr is not None
        assert twin.stderr.readline()  # it logs, so that it is bound
        other.listen()
        _, said = twin.communicate(timeout=60)
    assert twin.returncode == 4
    assert f"127.0.0.1:{port}: Address already in use; say --port N for another" in said
    assert "Traceback" not in said.splitlines()[-1]


def test_blocks_that_are_too_few_for_the_length_refuse_to_start() -> None:
    refused = serving("--kv-blocks", "400", *PACE, "--max-model-len", "99999").refused
    assert "max seq len (99999), (12.21 GiB KV cache is needed" in refused
    assert "maximum model length is 6384" in refused
    assert not serving("--kv-blocks", "400", *PACE, "--max-model-len", "6384").refused


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([*PACE], "--kv-blocks"),
        (["--kv-blocks", "100"], "how long a step takes"),
        (["--kv-blocks", "100", *PACE, "--fault", "fire@2s"], "--fault"),
        (["--kv-blocks", "100", *PACE, "--output-tokens", "x"], "--output-tokens"),
        (["--kv-blocks", "100", *PACE, "--tokenizer-speed", "0"], "--tokenizer-speed"),
        (["--kv-blocks", "100", *PACE, "--engine-version", "latest"], "--engine-version"),
        (["--model-config", "/models/not-there", "--gpu", "H100"], "/models/not-there"),
        (["--kv-blocks", "100", *PACE, "--shutdown-timeout", "-1"], "--shutdown-timeout"),
        (["--kv-blocks", "100", *PACE, "--log-stats-interval", "0"], "--log-stats-interval"),
        (["--kv-blocks", "100", *PACE, "--served-model-name", ""], "--served-model-name"),
        (["--gpu", "H100", "--", "vllm", "serve"], "^twin: which model"),
        (["--", "vllm", "serve", "Qwen/Qwen3-8B"], "^twin: how large the pool is"),
    ],
)
def test_what_is_wrong_with_our_own_arguments_is_said(arguments: list[str], part: str) -> None:
    with pytest.raises(InputError, match=part):
        made(*arguments)


def test_a_version_that_nobody_read_is_told(model: str) -> None:
    for ways in (["--kv-blocks", "400", *PACE], [*CPU, "--", "vllm", "serve", model]):
        for version, told in (("0.33.0", False), ("0.99.0", True)):
            found = serving_of(parser().parse_args(["twin", "--engine-version", version, *ways]))
            assert not isinstance(found, Unstartable)
            assert any("vLLM 0.99.0 is newer than 0.33.0" in note for note in found[1]) is told


@pytest.mark.parametrize("port", ["0", "65536", "-1"])
def test_a_port_that_is_none_is_said(port: str) -> None:
    with pytest.raises(InputError, match="--port"):
        made("--kv-blocks", "400", *PACE, "--port", port)


@pytest.mark.parametrize(
    ("own", "flags", "pooling"),
    [
        ([], [], False),
        ([], ["--runner", "pooling"], True),
        ([], ["--convert", "embed"], True),
        (["--runner", "pooling"], [], True),
        (["--runner", "generate"], ["--runner", "pooling"], False),
        (["--engine-version", "0.12.0"], ["--task", "embed"], True),
    ],
)
def test_what_makes_it_a_pooling_engine(
    model: str, own: list[str], flags: list[str], pooling: bool
) -> None:
    found = serving("--gpu", "H100", *PACE, *own, "--", "vllm", "serve", model, *flags)
    assert (found.pooling, found.embedding_size) == (pooling, 128)
    if found.version.at_least("0.32.0"):  # older ones schedule synchronously in any case
        assert found.settings.async_scheduling is not pooling


def test_a_models_name_says_that_it_embeds(tmp_path: Path) -> None:
    folder = tmp_path / "Tiny-Embedding"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    arguments = ["twin", *CPU, "--", "vllm", "serve", str(folder)]
    found = serving_of(parser().parse_args(arguments))
    assert not isinstance(found, Unstartable)
    assert found[0].pooling
    assert any("--runner generate" in note for note in found[1])
    told = serving(*CPU, "--", "vllm", "serve", str(folder), "--async-scheduling")
    assert told.settings.async_scheduling
    assert not serving(*CPU, "--runner", "generate", "--", "vllm", "serve", str(folder)).pooling


def test_another_task_than_embedding_is_refused(model: str) -> None:
    with pytest.raises(InputError, match="is not served by the twin"):
        serving(*CPU, "--", "vllm", "serve", model, "--convert", "classify")
