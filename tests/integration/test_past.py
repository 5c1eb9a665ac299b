"""What a real Prometheus remembers of live twins is diagnosed as the twins themselves are; and the
reports on hours and weeks of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from dev.load import Background
from dev.prometheus_server import PrometheusServer, scrape
from dev.scenarios import SCENARIOS
from dev.setup_prometheus import is_installed
from dev.twin_engine import TwinEngine
from tests.support.kept_history import DAY_S, EVERY_S, blocks, usual_day

BAROSTAT = str(Path(sys.executable).with_name("barostat"))
BY_NAME = {one.name: one for one in SCENARIOS}
AT_ONCE = ("kv-preemption-thrash", "kv-admission-queueing", "healthy-busy", "healthy-idle")
"""States that an engine's metrics tell alone: slots and the step budget are told by its command
line, which neither look has here.
"""


def barostat(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BAROSTAT, *arguments], capture_output=True, text=True, timeout=240)


def document(*arguments: str) -> dict[str, Any]:
    done = barostat(*arguments, "-o", "json")
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module", autouse=True)
def program() -> None:
    """The real Prometheus is unpacked here, else everything is skipped (with CI=true: fails)."""
    if not is_installed():
        why = "the real Prometheus is not here: run `make prometheus`"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)


Fleet = tuple[PrometheusServer, dict[str, TwinEngine], float, dict[str, Any]]


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    """Four twins in four states, a Prometheus that scraped them, the instant after half a minute of
    it, and what a live look then said.
    """
    with ExitStack() as stack:
        engines = {
            name: stack.enter_context(TwinEngine(*BY_NAME[name].flags, shape=BY_NAME[name].shape))
            for name in AT_ONCE
        }
        for engine in engines.values():
            engine.wait_ready(within_s=90)
        jobs = [
            scrape(name, f"127.0.0.1:{one.port}", namespace="inference", pod=f"{name}-0")
            for name, one in engines.items()
        ]
        server = stack.enter_context(PrometheusServer(*jobs, interval="5s"))
        for name, engine in engines.items():
            if (load := BY_NAME[name].load) is not None:
                stack.enter_context(Background(engine.url, load))
        time.sleep(20)
        live = document(
            "diagnose", *(one.url for one in engines.values()), "--for", "25s", "--interval", "5s"
        )
        yield server, engines, time.time(), live


def test_the_memory_of_an_engine_names_the_cause_that_the_engine_names(fleet: Fleet) -> None:
    server, engines, at, live = fleet
    past = document(
        "diagnose",
        "--prometheus",
        server.url,
        "-n",
        "inference",
        "--at",
        f"{at:.0f}",
        "--for",
        "25s",
    )
    now = {replica["name"]: replica["diagnosis"]["cause"] for replica in live["replicas"]}
    then = {replica["name"]: replica["diagnosis"]["cause"] for replica in past["replicas"]}
    assert then == {
        f"{name}-0": now[f"127.0.0.1:{engine.port}"] for name, engine in engines.items()
    }
    assert set(then.values()) == set(AT_ONCE)
    assert not past["problems"]


def test_one_is_chosen_by_its_pod_and_an_instant_of_before_is_empty(fleet: Fleet) -> None:
    server, _, at, _ = fleet
    one = document(
        "diagnose",
        "pod/healthy-idle-0",
        "--prometheus",
        server.url,
        "--at",
        f"{at:.0f}",
        "--for",
        "25s",
    )
    assert [replica["name"] for replica in one["replicas"]] == ["healthy-idle-0"]
    done = barostat("diagnose", "--prometheus", server.url, "--at", "3d ago")
    assert done.returncode == 4
    assert "holds no series of vLLM" in done.stderr
    done = barostat(
        "diagnose", "--prometheus", server.url, "-l", 'namespace="elsewhere"', "--at", f"{at:.0f}"
    )
    assert 'namespace="inference"' in done.stderr


def test_an_engine_that_stopped_answering_is_seen_to_have() -> None:
    with TwinEngine(*BY_NAME["healthy-idle"].flags, shape="small") as gone:
        gone.wait_ready(within_s=60)
        with PrometheusServer(
            scrape("gone", f"127.0.0.1:{gone.port}", pod="gone-0"), interval="1s"
        ) as own:
            own.wait_for("vllm:num_requests_running", at_least=1)
            gone.stop()
            own.wait_for("up == 0", at_least=1)
            time.sleep(6)
            found = document("diagnose", "--prometheus", own.url, "--for", "5s")
    assert found["replicas"][0]["diagnosis"]["severity"] == "critical"
    assert "up is 0" in json.dumps(found)


def test_a_range_is_told_from_its_onset(fleet: Fleet) -> None:
    server, _, at, _ = fleet
    found = document(
        "report",
        "--prometheus",
        server.url,
        "-l",
        'pod="kv-preemption-thrash-0"',
        "--from",
        f"{at - 61:.0f}",
        "--to",
        f"{at:.0f}",
    )
    assert found["kind"] == "PastReport"
    assert found["main"]["cause"] == "kv-preemption-thrash"
    assert found["during"]["preemptionsPerSecond"] > 0
    assert found["next"]
    quiet = barostat(
        "report",
        "--prometheus",
        server.url,
        "-l",
        'pod="healthy-idle-0"',
        "--from",
        f"{at - 61:.0f}",
        "--to",
        f"{at:.0f}",
    )
    assert quiet.returncode == 0, quiet.stdout
    assert "nothing was in trouble" in quiet.stdout


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PrometheusServer, float]]:
    """A Prometheus with 30 days of a fleet of three, whose demand grows by 0.012 pools a day in
    each; and the end of them.
    """
    end = float(int(time.time()) // EVERY_S * EVERY_S)
    start = end - 30 * DAY_S
    data = blocks(
        tmp_path_factory.mktemp("weeks"),
        end,
        30,
        3,
        lambda at: usual_day(at) * (0.75 + 0.012 * (at - start) / DAY_S),
    )
    with PrometheusServer(data=data, flags=("--storage.tsdb.retention.time=90d",)) as server:
        yield server, end


def test_a_fleet_that_grows_out_of_its_pools_is_told_so_with_what_it_takes(
    weeks: tuple[PrometheusServer, float],
) -> None:
    server, _ = weeks
    found = document(
        "report", "--prometheus", server.url, "-n", "inference", "--cards-per-replica", "2"
    )
    assert found["kind"] == "CapacityReview"
    assert found["verdict"]["word"] == "DOES NOT FIT"
    assert found["fleet"]["replicas"]["now"] == 3
    assert found["fleet"]["poolTokens"] == 400_000
    assert (
        found["growth"]["low"] - 1e-6 <= 0.036 <= found["growth"]["high"] + 1e-6
    )  # days that grow alike leave no doubt but rounding
    assert found["growth"]["poolsPerDay"] == pytest.approx(0.036, rel=0.1)
    assert found["need"]["now"] == 4
    assert max(found["traffic"]["byHour"], key=lambda hour: hour["usual"])["hourUtc"] in (13, 14)
    assert found["harm"]["worst"]["cause"] == "kv-preemption-thrash"
    assert any(step["lever"] == "scale-out" for step in found["next"])


def test_a_short_history_says_that_it_cannot_tell(weeks: tuple[PrometheusServer, float]) -> None:
    server, _ = weeks
    found = document("report", "--prometheus", server.url, "--since", "5d")
    assert "whole days" in found["growth"]["cannotTell"]
    assert found["need"]["laterLow"] is None


def test_a_query_that_is_refused_is_one_sentence(weeks: tuple[PrometheusServer, float]) -> None:
    server, _ = weeks
    for flags, told in (
        ((server.url + "/nowhere",), "HTTP 404"),
        (("http://127.0.0.1:9",), "refuses the connection"),
        ((server.url, "-l", 'namespace=~"("'), "refuses the query"),
        (("ftp://x",), "is no address"),
    ):
        done = barostat("report", "--prometheus", *flags)
        assert done.returncode in (2, 4)
        assert told in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
