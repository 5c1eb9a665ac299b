"""Recordings of engines that run, that do not, and of several at once."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.small_servers import always, answer, closed_port, pause, serving, vllm

from barostat.core.errors import InputError, OutsideError
from barostat.io.local_host.recording import Sources, follow, record_engines


@pytest.mark.usefixtures("on_virtual_time")
def test_a_window_is_looked_at_from_its_first_moment_to_its_last() -> None:
    with serving(vllm()) as (port, _):
        started = time.time()
        recording = record_engines(Sources((f"localhost:{port}",)), 1.0, 0.4)
    (replica,) = recording.replicas
    after = [scrape.at - started for scrape in replica.scrapes]
    assert after == pytest.approx([0.0, 0.4, 0.8, 1.0], abs=0.001)
    assert recording.at >= replica.scrapes[-1].at
    assert (replica.name, recording.target) == (f"localhost:{port}", f"http://localhost:{port}")
    assert replica.probe is not None
    assert replica.probe.version == "0.32.0"


def test_no_window_is_one_look() -> None:
    with serving(vllm()) as (port, seen):
        said: list[str] = []
        recording = record_engines(Sources((f"localhost:{port}",)), 0, 5.0, on_progress=said.append)
    assert len(recording.replicas[0].scrapes) == 1
    assert said == ["1 scrape"]
    assert len([line for line in seen if "/metrics" in line]) == 1


@pytest.mark.usefixtures("on_virtual_time")
def test_an_interval_longer_than_the_window_gives_both_ends() -> None:
    with serving(vllm()) as (port, _):
        recording = record_engines(Sources((f"localhost:{port}",)), 0.3, 60.0)
    assert len(recording.replicas[0].scrapes) == 2


@pytest.mark.usefixtures("on_virtual_time")
def test_a_replica_that_does_not_answer_stops_no_other() -> None:
    with serving(vllm()) as (port, _), serving(always(answer("<html>"))) as (other, _):
        sources = Sources((f"localhost:{port}", f"localhost:{closed_port()}", f"localhost:{other}"))
        recording = record_engines(sources, 1.0, 0.5)
    good, silent, page = recording.replicas
    assert (len(good.scrapes), good.failed_scrapes) == (3, ())
    assert (silent.scrapes, len(silent.failed_scrapes), silent.probe) == ((), 3, None)
    assert "HTML page" in page.failed_scrapes[0][1]


@pytest.mark.usefixtures("on_virtual_time")
def test_a_slow_replica_delays_no_other() -> None:
    def slow(connection: socket.socket, request: str) -> None:
        pause(0.7)
        vllm()(connection, request)

    with serving(vllm()) as (port, _), serving(slow) as (other, _):
        recording = record_engines(Sources((f"localhost:{port}", f"localhost:{other}")), 2.0, 0.2)
    quick, late = recording.replicas
    assert (len(quick.scrapes), len(late.scrapes)) == (9, 3)  # the first look waits for both


def test_the_same_address_twice_is_one_replica() -> None:
    with serving(vllm()) as (port, _):
        recording = record_engines(
            Sources((f"localhost:{port}", f"http://localhost:{port}/metrics")), 0, 1.0
        )
    assert len(recording.replicas) == 1


@pytest.mark.parametrize("for_s", [0.0, 30.0])
def test_an_address_with_nothing_behind_it_is_told_at_once(for_s: float) -> None:
    started = time.monotonic()
    with pytest.raises(
        OutsideError, match="refuses the connection: nothing listens on that port"
    ) as caught:
        record_engines(Sources((f"localhost:{closed_port()}",)), for_s, 5.0)
    assert caught.value.retryable
    assert time.monotonic() - started < 5


def test_what_is_no_vllm_is_told_at_once() -> None:
    with (
        serving(always(answer("<html>", kind="text/html"))) as (port, _),
        pytest.raises(OutsideError, match="not vLLM: /metrics is an HTML"),
    ):
        record_engines(Sources((f"localhost:{port}",)), 30.0, 5.0)


def test_who_wants_credentials_is_told_at_once_and_is_worth_no_other_try() -> None:
    with (
        serving(always(answer("no", "401 Unauthorized"))) as (port, _),
        pytest.raises(
            OutsideError, match=r"/metrics answers HTTP 401.*wants credentials"
        ) as caught,
    ):
        record_engines(Sources((f"localhost:{port}",)), 30.0, 5.0)
    assert not caught.value.retryable


def test_an_engine_that_never_listened_is_judged_by_its_log(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text(
        "INFO 11-20 10:00:00 [x.py:1] starting\nvllm: error: unrecognized arguments: "
        "--swap-space 4\n"
    )
    started = time.monotonic()
    recording = record_engines(Sources((f"localhost:{closed_port()}",), log=log), 30.0, 5.0)
    (replica,) = recording.replicas
    assert replica.log is not None
    assert replica.log.lines == 2
    assert len(replica.failed_scrapes) == 1
    assert time.monotonic() - started < 5


def test_a_log_alone_is_a_recording(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text("INFO one\n")
    recording = record_engines(Sources(log=log), 30.0, 5.0)
    assert (recording.target, [replica.name for replica in recording.replicas]) == (
        str(log),
        ["vllm"],
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.mkdir(), "a directory, not a log"),
        (lambda _: None, "there is no such file"),
        (lambda path: os.mkfifo(path), "neither a file nor a directory"),
        (
            lambda path: path.write_text("# HELP vllm:num_requests_running Number\n"),
            "a scrape of /metrics, not a log",
        ),
        (
            lambda path: path.write_text('{\n  "apiVersion": "v1",\n  "kind": "List"\n}\n'),
            "what kubectl prints, not a log",
        ),
    ],
)
def test_a_log_that_is_none_is_told_before_anything_else(
    tmp_path: Path, make: object, said: str
) -> None:
    make(tmp_path / "x.log")  # type: ignore[operator]
    with pytest.raises(InputError, match=said):
        record_engines(Sources(log=tmp_path / "x.log"), 30.0, 5.0)


def test_a_binary_log_is_a_problem_and_alone_an_error(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(InputError, match=r"x\.log was left out: it is binary, not text"):
        record_engines(Sources(log=log), 0, 1.0)
    with serving(vllm()) as (port, _):
        recording = record_engines(Sources((f"localhost:{port}",), log=log), 0, 1.0)
    assert recording.replicas[0].log is None
    assert recording.problems == (f"{log} was left out: it is binary, not text",)


BUSY = "print(flush=True)\nwhile True: pass"
"""Says that it runs before it is busy: on a loaded machine an interpreter takes long to start."""


def test_a_process_of_the_engine_is_observed() -> None:
    busy = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE)
    try:
        assert busy.stdout is not None
        busy.stdout.readline()
        recording = record_engines(Sources(pid=busy.pid), 0.6, 0.2)
    finally:
        busy.kill()
        busy.wait()
    (replica,) = recording.replicas
    assert {len(reading.values["processes"]) for reading in replica.host} == {1}
    assert (
        sum(reading.values["processes"][0].get("cpu_cores", 0.0) for reading in replica.host) > 0.0
    )
    assert replica.args is not None
    assert replica.args[1:] == ("-c", BUSY)


def test_a_process_that_ended_is_told_with_its_status() -> None:
    ending = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(0.3); raise SystemExit(7)"]
    )
    try:
        recording = record_engines(Sources(pid=ending.pid), 20.0, 0.2)
    finally:
        ending.wait()
    assert recording.replicas[0].exit_code == 7
    assert any(f"the process {ending.pid} ended" in problem for problem in recording.problems)


def test_a_process_that_is_not_there_is_told() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with pytest.raises(InputError, match=f"there is no process {gone.pid}"):
        record_engines(Sources(pid=gone.pid), 1.0, 1.0)
    with serving(vllm()) as (port, _):
        recording = record_engines(Sources((f"localhost:{port}",), pid=gone.pid), 0, 1.0)
    assert recording.problems == (f"there is no process {gone.pid} (any more)",)


@pytest.mark.usefixtures("on_virtual_time")
def test_a_probe_is_sent_when_asked_for_and_only_then() -> None:
    with serving(vllm()) as (port, seen):
        asked = record_engines(Sources((f"localhost:{port}",), probe=True), 0.5, 0.2)
        assert len([line for line in seen if line.startswith("POST")]) == 1
        record_engines(Sources((f"localhost:{port}",)), 0.2, 0.2)
        assert len([line for line in seen if line.startswith("POST")]) == 1
    assert asked.replicas[0].probe is not None
    assert asked.replicas[0].probe.token_ok is True


@pytest.mark.usefixtures("on_virtual_time")
def test_watching_gives_a_recording_after_every_interval_over_the_last_window(
    tmp_path: Path,
) -> None:
    log = tmp_path / "x.log"
    log.write_text("INFO one\n")
    with serving(vllm()) as (port, seen):
        looks = follow(Sources((f"localhost:{port}",), log=log, probe=True), 0.5, 0.2)
        recordings = []
        for recording in itertools.islice(looks, 6):
            recordings.append(recording)
            log.write_text(log.read_text() + "INFO more\n")
        looks.close()  # type: ignore[attr-defined]
        assert len([line for line in seen if line.startswith("POST")]) == 1
    counts = [len(recording.replicas[0].scrapes) for recording in recordings]
    assert counts == [
        1,
        2,
        3,
        4,
        4,
        4,
    ]  # three in the window of 0.5 s and the one before it, however long it is watched
    ends = [recording.at for recording in recordings]
    assert ends == sorted(ends)
    last = recordings[-1].replicas[0].log
    assert last is not None
    assert last.lines == 6


@pytest.mark.usefixtures("on_virtual_time")
def test_watching_goes_on_when_the_engine_goes_away() -> None:
    with serving(vllm()) as (port, _):
        looks = follow(Sources((f"localhost:{port}",)), 5.0, 0.1)
        next(looks)
    after = [next(looks) for _ in range(2)][-1]
    looks.close()  # type: ignore[attr-defined]
    assert after.replicas[0].failed_scrapes


@pytest.mark.usefixtures("on_virtual_time")
def test_an_interruption_ends_the_window_early_and_keeps_what_there_is() -> None:
    def interrupt(said: str) -> None:
        if said == "3 scrapes":
            os.kill(os.getpid(), signal.SIGINT)

    # Whoever starts tests in the background may have them ignore the signal.
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with serving(vllm()) as (port, _):
            started = time.monotonic()
            recording = record_engines(
                Sources((f"localhost:{port}",)), 60.0, 0.2, on_progress=interrupt
            )
    finally:
        signal.signal(signal.SIGINT, former)
    assert time.monotonic() - started < 10
    assert len(recording.replicas[0].scrapes) == 3
    assert recording.problems == ("interrupted before the window was over",)


@pytest.mark.usefixtures("on_virtual_time")
def test_progress_is_told() -> None:
    told: list[str] = []
    with serving(vllm()) as (port, _):
        recording = record_engines(
            Sources((f"localhost:{port}",)), 0.2, 0.1, on_progress=told.append
        )
    assert told[-1] == f"{len(recording.replicas[0].scrapes)} scrapes"
