"""The run-book of `make gpu`: its order, its budget, what it leaves out, and what a run that was
cut off leaves to the next.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from bench.pace_points import points
from bench.sizing_rows import public_rows
from dev.gpu import cards, models
from dev.gpu.book import book
from dev.gpu.card_engine import CardEngine
from dev.gpu.fitting import left_out
from dev.gpu.here import Here
from dev.gpu.item import Bench, Item, NotMeasured
from dev.gpu.journal import ITEMS, PACE, STARTUPS, STATES, Journal, folder_to_go_on_with, is_of
from dev.gpu.pace import Point
from dev.gpu.run import DONE, FAILED, OUT_OF_TIME, how_slow, measured, run_book
from dev.gpu.startup import observed
from dev.gpu.state import State, in_blocks
from dev.gpu.vllm import Vllm, interpreter, of_program
from dev.scenarios import scenario

from barostat.core.units import GIB
from barostat.engines.vllm.logs.digest import digest
from barostat.gpus.card import Card


def card(name: str, gib: float, version: str = "0.32.0", count: int = 1) -> Here:
    """Such cards, on which nothing runs."""
    shown = tuple(
        Card(index, "nvidia", name, memory_used_bytes=0.0, memory_total_bytes=gib * GIB)
        for index in range(count)
    )
    return Here("card", name, version, cards=shown)


H100 = card("NVIDIA H100 80GB HBM3", 79.65)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretended(Item):
    """An item that does what it is told."""

    kind: ClassVar[str] = "state"
    act: Callable[[], object] = str
    must_fit: ClassVar[bool] = False

    def measure(self, bench: Bench) -> str:
        """Whatever `act` does."""
        bench.journal.put(STATES, {"id": self.name, "right": True})
        self.act()
        return "came"


def item(
    name: str, minutes: float = 0.01, act: Callable[[], object] = str, after: str = ""
) -> Pretended:
    """One of them."""
    return Pretended(name=name, minutes=minutes, model="tiny", act=act, after=after)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A folder that is new, and nothing to start."""
    made = Journal(tmp_path / "out")
    made.open({"card": "twin", "vllm": "0.32.0"})
    return Bench(Here("twin", "twin", "0.32.0"), made)


def _fails(error: Exception) -> Callable[[], object]:
    def act() -> object:
        raise error

    return act


def test_the_book_has_a_few_of_each_kind_first_and_ends_within_its_minutes(tmp_path: Path) -> None:
    items = book(H100, Journal(tmp_path))
    assert len({one.name for one in items}) == len(items)
    assert (
        {one.kind for one in items[:9]}
        == {"start-up", "state", "pace", "forecast", "demo"}
        == {one.kind for one in items}
    )
    here = [one for one in items if not left_out(one, H100, Journal(tmp_path))]
    assert [one.name for one in items if one not in here] == ["two-cards", "pace-two-cards"]
    assert sum(one.minutes for one in here) <= 25
    names = [one.name for one in items]
    assert all(not one.after or names.index(one.after) < names.index(one.name) for one in items)
    wanted = {one.scenario.cause for one in items if isinstance(one, State)}
    assert wanted >= {
        "kv-preemption-thrash",
        "gpu-oom",
        "kv-admission-queueing",
        "slot-bound",
        "kv-pool-too-small",
        "healthy-busy",
    }


@pytest.mark.parametrize(
    "here",
    [
        H100,
        card("Tesla T4", 15.0),
        card("AMD Instinct MI300X", 191.98),
        card("NVIDIA X1000", 500.0),
    ],
)
def test_every_model_of_the_book_has_a_configuration_with_a_vocabulary(
    here: Here, tmp_path: Path
) -> None:
    for one in book(here, Journal(tmp_path)):
        assert models.vocabulary(models.config_of(one.model)) > 1000


def test_what_does_not_fit_is_left_out_and_said(tmp_path: Path) -> None:
    small = card("Tesla T4", 15.0)
    items = book(small, Journal(tmp_path))
    why = {one.name: left_out(one, small, Journal(tmp_path)) for one in items}
    assert why["moe"].startswith("does not fit: weights of ") or why["moe"].startswith(
        "cannot be planned"
    )
    assert why["hybrid"]
    # What is measured under load is smaller here, and what is to fail is no reason to leave it out.
    assert {one.model for one in items if one.name == "kv-preemption-thrash"} < {
        "Qwen/Qwen3-4B",
        "Qwen/Qwen3-1.7B",
        "Qwen/Qwen3-0.6B",
    }
    assert not why["kv-preemption-thrash"]
    assert not why["gpu-oom-startup"]
    assert not left_out(
        book(card(H100.name, 79.65, count=2), Journal(tmp_path))[-1],
        card(H100.name, 79.65, count=2),
        Journal(tmp_path),
    )


def test_a_flag_that_the_version_lacks_is_said(tmp_path: Path) -> None:
    queueing = State(
        name="queueing",
        minutes=1,
        model="Qwen/Qwen3-8B",
        scenario=scenario("kv-admission-queueing"),
    )
    assert (
        left_out(queueing, card(H100.name, 79.65, "0.20.1"), Journal(tmp_path))
        == "vLLM 0.20.1 has no --watermark"
    )
    assert not left_out(queueing, H100, Journal(tmp_path))


def test_a_pool_has_as_many_tokens_in_a_cards_blocks() -> None:
    assert in_blocks(("--num-gpu-blocks-override", "64", "--max-num-seqs", "64")) == (
        "--num-gpu-blocks-override", "505", "--max-num-seqs", "64", "--block-size", "16",
    )  # fmt: skip
    assert in_blocks(("--max-num-seqs", "4")) == ("--max-num-seqs", "4")


def test_what_would_not_end_in_time_is_not_begun(bench: Bench) -> None:
    outcome = run_book([item("short"), item("long", minutes=9), item("shorter")], bench, minutes=1)
    assert (outcome.done, outcome.no_time) == (["short", "shorter"], ["long"])
    assert not bench.journal.row(STATES, "long")
    assert run_book([item("short"), item("long", minutes=9)], bench, minutes=10).before == ["short"]
    assert set(bench.journal.finished()) == {"short", "long", "shorter"}


def test_what_an_item_took_here_tells_of_the_others_of_its_kind(bench: Bench) -> None:
    bench.journal.put(
        ITEMS, {"id": "one", "kind": "state", "outcome": DONE, "seconds": 90.0, "expected_s": 60.0}
    )
    assert how_slow(item("two"), bench) == pytest.approx(1.5)
    bench.journal.put(
        ITEMS,
        {"id": "start", "kind": "start-up", "outcome": DONE, "seconds": 180.0, "expected_s": 60.0},
    )
    assert how_slow(item("two"), bench) == pytest.approx(1.5)
    assert run_book([item("two", minutes=1)], bench, minutes=1.2).no_time == ["two"]


def test_an_item_ends_with_its_own_time_and_is_tried_again(bench: Bench) -> None:
    result, told, took_s = measured(item("slow", act=lambda: time.sleep(30)), bench, 0.2)
    assert (result, told) == (OUT_OF_TIME, "not finished within 0 s")
    assert took_s < 5
    bench.journal.put(ITEMS, {"id": "slow", "kind": "state", "outcome": OUT_OF_TIME})
    assert run_book([item("slow")], bench, minutes=1).done == ["slow"]


@pytest.mark.parametrize(
    "error",
    [
        NotMeasured("the engine did not end"),
        OSError("connection refused"),
        RuntimeError("no answer"),
    ],
)
def test_what_cannot_be_measured_is_on_record_and_ends_nothing(
    error: Exception, bench: Bench
) -> None:
    outcome = run_book(
        [item("fails", act=_fails(error)), item("needs-it", after="fails"), item("next")],
        bench,
        minutes=1,
    )
    assert list(outcome.failed) == ["fails"]
    assert outcome.left_out == {"needs-it": "needs fails, which is not done"}
    assert outcome.done == ["next"]
    assert bench.journal.finished()["fails"]["outcome"] == FAILED
    assert str(error) in bench.journal.finished()["fails"]["told"]


def test_an_interruption_ends_the_run_with_what_is_done(bench: Bench) -> None:
    def interrupt() -> object:
        raise KeyboardInterrupt

    outcome = run_book([item("first"), item("cut", act=interrupt), item("next")], bench, minutes=1)
    assert (outcome.done, outcome.interrupted) == (["first"], True)
    assert set(bench.journal.finished()) == {"first"}


def test_a_torn_last_line_costs_that_item_alone(bench: Bench) -> None:
    run_book([item("first"), item("second")], bench, minutes=1)
    path = bench.journal.folder / ITEMS
    path.write_text(path.read_text()[:-30])
    again = Journal(bench.journal.folder)
    outcome = run_book(
        [item("first"), item("second"), item("third")], Bench(bench.here, again), minutes=1
    )
    assert (outcome.before, outcome.done) == (["first"], ["second", "third"])
    assert again.torn == ["items.jsonl:2 is torn and left out"]
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == [
        "first",
        "second",
        "third",
    ]
    assert [row["id"] for row in again.rows(STATES)] == ["first", "second", "third"]


def test_torn_lines_are_gone_from_what_the_benchmarks_read(tmp_path: Path) -> None:
    journal = Journal(tmp_path, titles={STARTUPS: "# Start-ups\n"})
    for name in ("a", "b"):
        journal.put(STARTUPS, {"id": name, "observed": {}})
    path = tmp_path / STARTUPS
    path.write_text(path.read_text()[:-12])
    Journal(tmp_path, titles=journal.titles).open({})
    assert path.read_text() == '# Start-ups\nrows:\n  - {"id": "a", "observed": {}}\n'


def test_a_second_measurement_takes_the_place_of_the_first(bench: Bench) -> None:
    run_book([item("first"), item("second")], bench, minutes=1)
    again = Bench(bench.here, bench.journal, again=True)
    assert run_book([item("first")], again, minutes=1).done == ["first"]
    assert [row["id"] for row in bench.journal.rows(STATES)] == ["second", "first"]


def test_half_written_files_of_a_killed_run_are_gone(bench: Bench) -> None:
    part = bench.journal.part_of("states/thrash")
    (part / "metrics").mkdir(parents=True)
    (bench.journal.folder / ".items.jsonl.part").write_text("{")
    bench.journal.open({})
    assert sorted(path.name for path in bench.journal.folder.rglob("*")) == ["here.json", "states"]


def test_a_run_goes_on_in_the_last_folder_of_the_same_card_and_version(tmp_path: Path) -> None:
    def say_it(name: str, vllm: str) -> None:
        Journal(tmp_path / name).open({"card": "H100", "vllm": vllm})

    old, new = {"card": "H100", "vllm": "0.31.0"}, {"card": "H100", "vllm": "0.32.0"}
    assert (
        folder_to_go_on_with(tmp_path, "2026-11-25", "h100", new, anew=False).name
        == "2026-11-25-h100"
    )
    say_it("2026-11-24-h100", "0.31.0")
    assert (
        folder_to_go_on_with(tmp_path, "2026-11-25", "h100", old, anew=False).name
        == "2026-11-24-h100"
    )
    assert (
        folder_to_go_on_with(tmp_path, "2026-11-25", "h100", old, anew=True).name
        == "2026-11-25-h100"
    )
    assert (
        folder_to_go_on_with(tmp_path, "2026-11-24", "h100", new, anew=False).name
        == "2026-11-24-h100-vllm-0.32.0"
    )
    assert is_of(tmp_path / "2026-11-24-h100", old)
    assert not is_of(tmp_path / "2026-11-24-h100", new)


def test_rows_of_start_ups_are_read_as_those_of_the_public_ones(tmp_path: Path) -> None:
    journal = Journal(tmp_path, titles={STARTUPS: "# Start-ups\n"})
    for name in ("a", "b", "a"):
        journal.put(
            STARTUPS,
            {
                "id": name,
                "model": "Qwen/Qwen3-8B",
                "other_flags": {"limit_mm_per_prompt": '{"image":0}'},
                "observed": {},
            },
        )
    assert [row["id"] for row in public_rows(tmp_path / STARTUPS)] == ["b", "a"]
    assert journal.rows(STARTUPS)[0]["other_flags"] == {"limit_mm_per_prompt": '{"image":0}'}


def test_points_are_read_with_their_waves(tmp_path: Path) -> None:
    (tmp_path / "Qwen__Qwen3-8B.json").write_text(json.dumps(models.config_of("Qwen/Qwen3-8B")))
    row = {
        "id": "p", "model": "Qwen/Qwen3-8B", "gpu": H100.name, "precision": "bf16", "vllm_version": "0.32.0", "tp": 1,
        "dp": None, "ep": None,
        "clients": 4, "input_tokens": 128, "output_tokens": 64, "waves": 3, "ttft_ms": 20.0, "tpot_ms": 7.0,
    }  # fmt: skip
    (tmp_path / PACE).write_text(json.dumps(row) + "\n" + json.dumps(row | {"waves": None}) + "\n")
    found, _ = points(tmp_path / PACE, [tmp_path])
    assert [point.clients.waves for point in found] == [3, 10]
    load = Point(4, 128, 64, waves=3).load(seed=1)
    assert (load.prompt_tokens, load.output_tokens, load.waves) == ((102, 128), (51, 64), 3)


def test_what_a_start_up_log_says_of_its_parts_is_read() -> None:
    used = (
        "15.49 GiB for consumed memory (weights + non-torch), 0.84 GiB for peak activation, "
        "and 1.01 GiB for CUDAGraph memory"
    )
    lines = (
        (
            "INFO 11-23 10:00:00 [gpu_model_runner.py:1] Model loading took 15.27 GiB memory "
            "and 3.1 seconds"
        ),
        "INFO 11-23 10:00:01 [gpu_worker.py:1] Available KV cache memory: 56.51 GiB",
        "INFO 11-23 10:00:01 [kv_cache_utils.py:1] GPU KV cache size: 411,472 tokens",
        (
            "INFO 11-23 10:00:01 [gpu_worker.py:2] Free memory on device (78.6/79.19 GiB) on "
            f"startup. Actual usage is {used}."
        ),
    )
    text = "\n".join(lines)
    assert observed(digest(lines, source="a log"), text) == {
        "available_kv_gib": 56.51, "kv_tokens": 411472, "weights_gib": 15.27, "device_memory_gib": 79.19, "activation_gib": 0.84,
        "non_torch_gib": 0.22,
    }  # fmt: skip


def test_a_tokenizer_has_a_text_for_every_token_of_the_vocabulary() -> None:
    made = json.loads(
        models.grown(
            '{"model": {"vocab": {"a": 2, "b": 3}}, "added_tokens": [{"id": 0}, {"id": 1}]}', 6
        )
    )
    assert made["model"]["vocab"] == {"a": 2, "b": 3, "t4x": 4, "t5x": 5}


@pytest.mark.parametrize(
    "head",
    [
        "#!{python}\nimport sys\n",
        "#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n",
        "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
        "#!/bin/sh\nexec something\n",
    ],
)
def test_the_python_of_a_program_is_the_one_that_it_names_or_has_beside_it(
    head: str, tmp_path: Path
) -> None:
    python, program = tmp_path / "python", tmp_path / "vllm"
    python.write_text("#!/bin/sh\necho 0.32.0\n")
    python.chmod(0o755)
    program.write_text(head.format(python=python))
    assert interpreter(program) == python
    found = of_program(program)
    assert not isinstance(found, str)
    assert (found.version, found.folder) == ("0.32.0", tmp_path.parent)


def test_a_program_without_a_python_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "vllm").write_text("\x7fELF")
    assert "does not say which Python runs it" in str(of_program(tmp_path / "vllm"))


def _amd(*of_each: dict[str, object]) -> str:
    """amd-smi's JSON."""
    return json.dumps({"gpu_data": [{"gpu": index, **told} for index, told in enumerate(of_each)]})


def _used(mb: int) -> dict[str, object]:
    return {
        "mem_usage": {
            "total_vram": {"value": 196592, "unit": "MB"},
            "used_vram": {"value": mb, "unit": "MB"},
        }
    }


NAMED: dict[str, object] = {"asic": {"market_name": "AMD Instinct MI300X"}}
AMD = f"""#!/bin/sh
case "$1" in
  static) echo '{_amd(NAMED, NAMED)}';;
  metric) echo '{_amd(_used(90_000), _used(283))}';;
  version) echo 'AMDSMI Tool: 25.3.0 | ROCm version: 6.4.1';;
esac
"""


def test_cards_of_amd_are_told_by_their_own_tool_the_emptiest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "amd-smi"
    tool.write_text(AMD)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("HIP_VISIBLE_DEVICES", raising=False)
    found = cards.cards()
    assert not isinstance(found, str)
    assert [(one.index, one.name, round((one.memory_total_bytes or 0) / GIB)) for one in found] == [
        (1, "AMD Instinct MI300X", 192), (0, "AMD Instinct MI300X", 192),
    ]  # fmt: skip
    assert cards.driver() == "AMDSMI Tool: 25.3.0 | ROCm version: 6.4.1"
    shown = cards.look()
    assert shown is not None
    assert shown.kind == "amd-smi.json"
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "0")
    assert [one.index for one in cards.cards() if not isinstance(one, str)] == [0]


def test_an_engine_on_a_card_sees_that_card_and_what_is_set_for_vllm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VLLM_USE_V2_MODEL_RUNNER", "0")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("VLLM_API_KEY", "x")
    monkeypatch.setenv("VLLM_PLUGIN_FOLDER", "/home/somebody/plugins")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    vllm = Vllm(Path("/opt/env/bin/vllm"), Path("/opt/env/bin/python"), "0.26.0")
    engine = CardEngine("--max-num-seqs", "4", vllm=vllm, cards=[Card(3, "nvidia")], model=tmp_path)
    try:
        environment = engine.environment()
        assert environment["CUDA_VISIBLE_DEVICES"] == "3"
        assert environment["VLLM_USE_V2_MODEL_RUNNER"] == "0"
        assert environment["VLLM_PLUGIN_FOLDER"] == "/home/somebody/plugins"
        assert engine.base_env == {
            "VLLM_USE_V2_MODEL_RUNNER": "0"
        }  # what is told of it, without places of this machine
        assert not {"AWS_SECRET_ACCESS_KEY", "VLLM_API_KEY"} & set(environment)
        assert Path(environment["TMPDIR"]) == engine.folder
        assert engine.command[:3] == ["/opt/env/bin/vllm", "serve", str(tmp_path)]
        assert "--enforce-eager" not in engine.command
        assert engine.command[-2:] == ["--max-num-seqs", "4"]
    finally:
        engine.close()
