"""What Prometheus reads, and the log that holds no prompt and no key."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.support.gateway_wire import World, chat, ok

import barostat.gateway
from barostat.core.errors import InputError
from barostat.gateway.access_log import AccessLog
from barostat.gateway.ext_proc.call import Call
from barostat.gateway.ext_proc.server import ExternalProcessor
from barostat.gateway.gauges import gauges
from barostat.gateway.messages.usage import NOT_SAID
from barostat.gateway.metric_meanings import MEANINGS
from barostat.platform.access_line import access

ANSWER = ok(b'{"usage":{"prompt_tokens":9,"completion_tokens":4}}')


def test_the_page_is_one_that_prometheus_reads() -> None:
    world = World("tenants: [{name: red}]\nrequest: {maxOutputTokens: 50}", keys={"k": "red"})
    client = world.client()
    client.sends(chat("x", "Authorization: Bearer k", max_tokens=500))
    held = world.metrics.page(*gauges(world.gateway)).decode()
    assert "barostat_gateway_reservations 1" in held
    assert 'barostat_gateway_tenant_running_requests{tenant="red"} 1' in held
    world.engine().says(ANSWER)
    client.sends(chat("x", "Authorization: Bearer wrong"))
    client.sends(b"GET /nothing/of/ours HTTP/1.1\r\nHost: x\r\n\r\n")
    page = world.metrics.page(*gauges(world.gateway)).decode()
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }
    assert found["barostat_gateway_requests_total", ("code", "200"), ("route", "chat")] == 1
    assert (
        found["barostat_gateway_refusals_total", ("reason", "unknown-key"), ("route", "chat")] == 1
    )
    assert found["barostat_gateway_prompt_tokens_sum",] == 9
    assert found["barostat_gateway_output_limit_tokens_count",] == 1
    assert found["barostat_gateway_reservations",] == 0
    assert found["barostat_gateway_replica_up", ("replica", "engine-0:8000")] == 1


def test_each_metric_says_what_it_means() -> None:
    world = World("tenants: [{name: red}]\nrequest: {maxOutputTokens: 50}", keys={"k": "red"})
    world.client().sends(chat("x", "Authorization: Bearer k", max_tokens=500))
    families = {
        family.name: family.documentation
        for family in text_string_to_metric_families(
            world.metrics.page(*gauges(world.gateway)).decode()
        )
    }
    assert not [name for name, meaning in families.items() if not meaning]
    source = "".join(
        path.read_text() for path in Path(barostat.gateway.__file__).parent.rglob("*.py")
    )
    counted = set(re.findall(r'\bcount\("([a-z_]+)"', source))
    assert counted >= {"refusals_total", "retries_total"}
    assert counted <= MEANINGS.keys()


def test_what_clients_send_makes_no_label() -> None:
    world = World()
    for number in range(50):
        client = world.client()
        client.sends(f"GET /secret-{number} HTTP/1.1\r\nHost: h{number}\r\n\r\n".encode())
    page = world.metrics.page(*gauges(world.gateway))
    assert b"secret-" not in page
    assert page.count(b'route="other"') == 2  # requests and refusals


def test_a_line_per_request_without_its_text(tmp_path: Path) -> None:
    log = AccessLog(str(tmp_path / "log"))
    world = World(log=log)
    client = world.client()
    client.sends(chat("a secret", "Authorization: Bearer sk-1", max_tokens=5))
    world.engine().says(ANSWER)
    client.sends(chat(max_tokens=-1))
    world.passes(0.2)
    text = (tmp_path / "log").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["status"], line["reason"]) for line in lines] == [(200, ""), (400, "bad-request")]
    read = access(text.splitlines()[0])  # by our own reader of access logs
    assert read is not None
    assert (read.at, read.status, read.route, read.duration_s) == (
        lines[0]["at"],
        200,
        "/v1/chat/completions",
        lines[0]["durationSeconds"],
    )
    assert lines[0]["inputTokens"] == 9
    assert lines[0]["replica"] == "engine-0:8000"
    assert "secret" not in text
    assert "sk-1" not in text


def test_a_log_that_was_moved_away_goes_on_under_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "logs" / "log"
    path.parent.mkdir()
    log = AccessLog(str(path))
    client = (world := World(log=log)).client()
    client.sends(chat(max_tokens=-1))
    path.rename(tmp_path / "first")
    log.reopen()
    client.sends(chat(max_tokens=-1))
    world.passes(0.2)
    assert [len((tmp_path / name).read_text().splitlines()) for name in ("first", "logs/log")] == [
        1,
        1,
    ]
    path.rename(tmp_path / "second")
    path.parent.rmdir()
    log.reopen()
    assert "the access log before is written on" in capsys.readouterr().err
    client.sends(chat(max_tokens=-1))
    world.passes(0.2)
    assert len((tmp_path / "second").read_text().splitlines()) == 2


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        AccessLog(str(tmp_path / "missing" / "log"))


def test_a_call_of_envoy_has_a_line_too(tmp_path: Path) -> None:
    log = AccessLog(str(tmp_path / "log"))
    call = Call(cast("ExternalProcessor", SimpleNamespace(gateway=World().gateway)))
    call._passed_bytes = 12
    log.note(call, NOT_SAID)
    log.flush()
    assert json.loads((tmp_path / "log").read_text())["sentBytes"] == 12
