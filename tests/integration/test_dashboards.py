"""No panel of the dashboards is empty: each query on a real Prometheus that scraped every version's
page, the twin and the gateway.

The pages of versions that no engine here speaks are the recorded ones of tests/data/expositions,
served with counters that grow, as under load. The recordings' windows are a thirtieth, so that
twenty seconds are ten minutes.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from dev.dashboards.board import Query
from dev.dashboards.boards import BOARDS, GATEWAY
from dev.dashboards.drawn import drawn
from dev.gateway_process import GatewayProcess
from dev.load import Background, Load
from dev.twin_engine import TwinEngine
from tests.support.browser import browser
from tests.support.browser import found as found_browser
from tests.support.live_prometheus import LivePrometheus, needed

from barostat.alerts.groups import rules_of
from barostat.alerts.terms import Terms

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
PAGES = sorted((Path(__file__).resolve().parents[1] / "data" / "expositions").glob("*.prom"))
TERMS = Terms(pace=1 / 30)
COUNTER = re.compile(r"^(\w[\w:]*_(?:total|count|sum|bucket)(?:\{.*\})?) (\S+)$", re.MULTILINE)
PLACES = [*(page.stem for page in PAGES), "twin"]
ENGINE_BOARDS = [board for board in BOARDS if board is not GATEWAY]


def growing(page: str, factor: float) -> str:
    """The page with its counters at that many times their value."""
    return COUNTER.sub(lambda found: f"{found[1]} {float(found[2]) * factor:.6f}", page)


def served(stack: ExitStack) -> int:
    """The recorded pages under /<name>, growing by a hundredth each second; the port."""
    began = time.monotonic()
    texts = {page.stem: page.read_text() for page in PAGES}

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = growing(texts[self.path.strip("/")], 1 + (time.monotonic() - began) / 100)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *told: object) -> None:
            del told

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stack.callback(server.shutdown)
    return int(server.server_address[1])


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePrometheus]:
    needed()
    folder = tmp_path_factory.mktemp("dashboards")
    with ExitStack() as stack:
        flags = (
            "--max-model-len",
            "4096",
            "--num-gpu-blocks-override",
            "64",
            "--max-num-seqs",
            "64",
        )
        twin = stack.enter_context(
            TwinEngine(*flags, latency="base=0.005,decode=0.0001,prefill=0.00001")
        ).wait_ready(within_s=60)
        (folder / "gateway").mkdir()
        gateway = stack.enter_context(
            GatewayProcess(folder / "gateway", "request: {maxOutputTokens: 400}", twin.url)
        )
        growing_load = Load(
            clients=30, ramp_s=30, prompt_tokens=(100, 300), output_tokens=(150, 400)
        )
        stack.enter_context(Background(gateway.url, growing_load))
        round_it = Load(
            clients=24, ramp_s=40, prompt_tokens=(100, 300), output_tokens=(150, 400), seed=1
        )
        stack.enter_context(
            Background(twin.url, round_it)
        )  # past the gateway, so that there is harm to be seen
        port = served(stack)
        targets = [
            (
                "vllm",
                f"127.0.0.1:{port}",
                {"namespace": page.stem, "__metrics_path__": f"/{page.stem}"},
            )
            for page in PAGES
        ]
        targets += [
            ("vllm", f"127.0.0.1:{twin.port}", {"namespace": "twin"}),
            ("gateway", f"127.0.0.1:{gateway.admin_port}", {"namespace": "twin"}),
        ]
        found = stack.enter_context(LivePrometheus(folder, targets, rules_of(TERMS).groups))
        found.until(lambda: len(found.asked("up == 1")) == len(targets), 60, "every target up")
        time.sleep(40)
        yield found


def empty(prometheus: LivePrometheus, query: Query, place: str) -> bool:
    """True if the query has no value for that place: nothing, or nothing but NaN."""
    asked = (
        query.expression.replace("$namespace", place)
        .replace("$model", ".*")
        .replace("$instance", ".*")
    )
    assert "$" not in asked
    samples = prometheus.asked(asked)
    return not any(not math.isnan(float(one["value"][1])) for one in samples)


@pytest.mark.parametrize("place", PLACES)
def test_no_panel_is_empty(place: str, prometheus: LivePrometheus) -> None:
    wrong = [
        f"{board.title}: {panel.title}"
        for board in ENGINE_BOARDS
        for panel in board.panels
        if all(empty(prometheus, query, place) for query in panel.queries)
    ]
    assert not wrong, wrong


def test_no_panel_of_the_gateway_is_empty(prometheus: LivePrometheus) -> None:
    wrong = [
        panel.title
        for panel in GATEWAY.panels
        if all(empty(prometheus, query, "twin") for query in panel.queries)
    ]
    assert not wrong, wrong


def test_every_query_has_values_somewhere(prometheus: LivePrometheus) -> None:
    """A query beside another in one panel is not there for nothing."""
    wrong = [
        query.expression
        for board in BOARDS
        for panel in board.panels
        for query in panel.queries
        if all(empty(prometheus, query, place) for place in PLACES)
        and "refusals_total" not in query.expression
    ]
    assert not wrong, wrong


def test_what_is_asked_is_what_grafana_gets() -> None:
    for board in BOARDS:
        written = json.loads(
            (DEPLOY / "dashboards" / f"{board.uid.removeprefix('barostat-')}.json").read_text()
        )
        panels = [panel for panel in written["panels"] if panel["type"] != "row"]
        asked = [[target["expr"] for target in panel["targets"]] for panel in panels]
        assert asked == [[query.expression for query in panel.queries] for panel in board.panels]
        ids = [panel["id"] for panel in written["panels"]]
        assert len(set(ids)) == len(ids)


def test_each_board_is_drawn_and_looks_like_something(
    prometheus: LivePrometheus, tmp_path: Path
) -> None:
    """No Grafana can be had here: the same queries, drawn by our own sheet, in a real browser.
    BAROSTAT_PICTURES=FOLDER keeps them.
    """
    until = time.time()
    since = max(
        until - 120,
        float(prometheus.asked("min(min_over_time(timestamp(up)[10m:1s]))")[0]["value"][1]),
    )
    for board in BOARDS:

        def asked(expression: str) -> list[Any]:
            chosen = (
                expression.replace("$namespace", "twin")
                .replace("$model", ".*")
                .replace("$instance", ".*")
            )
            return prometheus.asked_over(chosen, since, until, 1.0)

        text = drawn(
            board,
            asked,
            since,
            until,
            "The twin under load: half of it behind the gateway, half past it.",
        )
        assert text.count("<figure>") == len(board.panels), (
            f"{board.title}: a panel without a point"
        )
        (tmp_path / f"{board.uid}.html").write_text(text, encoding="utf-8")
    if found_browser() is None:
        pytest.skip("no browser here: make browser") if os.environ.get(
            "CI"
        ) != "true" else pytest.fail("no browser: make browser")
    pictures = Path(os.environ.get("BAROSTAT_PICTURES", tmp_path))
    with browser(tmp_path / "profile") as opened:
        for board in BOARDS:
            seen = opened.look(
                tmp_path / f"{board.uid}.html",
                1280,
                dark=False,
                picture=pictures / f"{board.uid}.png",
            )
            assert (seen.overflow_px, seen.errors) == (0, ())


def test_a_panel_that_is_empty_would_be_seen(prometheus: LivePrometheus) -> None:
    assert empty(
        prometheus, Query('replica:vllm_running:sum{namespace=~"$namespace"}', ""), "nowhere"
    )
    assert not empty(
        prometheus, Query('replica:vllm_running:sum{namespace=~"$namespace"}', ""), "twin"
    )
