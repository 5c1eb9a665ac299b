"""A request's priority class at the gateway: chosen by key or header, shown in the metrics, and the
lowest one is refused first.
"""

from __future__ import annotations

from dataclasses import replace

from tests.support.gateway_wire import Heard, World, chat, ok

from barostat.gateway.gauges import gauges
from barostat.gateway.metrics import MOST_TENANTS, Metrics

SPEC = """request: {maxOutputTokens: 500}
edge: {priorityClasses: [{name: high}, {name: low, queueShare: 0}]}
tenants: [{name: chat}, {name: batch, priorityClass: low}]"""
KEYS = {"c": "chat", "b": "batch"}
ANSWER = ok(b'{"usage":{"prompt_tokens":7,"completion_tokens":3}}')
CLASS = "X-Barostat-Priority-Class: "


def world() -> World:
    return World(SPEC, keys=KEYS, pool_tokens=2000)


def test_the_class_is_that_of_the_key_or_a_lower_one_that_the_header_names() -> None:
    tried = world()
    for key, header, status in (
        ("c", "", b"200"),
        ("c", CLASS + "low", b"200"),
        ("b", CLASS + "low", b"200"),
        ("b", CLASS + "high", b"403"),
        ("c", CLASS + "none", b"400"),
    ):
        client = tried.client()
        lines = (f"Authorization: Bearer {key}", *([header] if header else ()))
        client.sends(chat("x", *lines, max_tokens=5))
        if status == b"200":
            tried.engine().says(ANSWER)
        assert client.heard.startswith(b"HTTP/1.1 " + status)
        client.leaves()
    tried.at_rest()


def test_the_header_stays_at_the_gateway() -> None:
    tried = world()
    tried.client().sends(chat("x", "Authorization: Bearer c", CLASS + "low", max_tokens=5))
    ((_, _, headers, _),) = Heard(tried.engine().heard).requests
    assert b"x-barostat-priority-class" not in headers


def test_the_lower_class_is_refused_while_the_higher_one_waits() -> None:
    tried = world()
    full = chat("x", "Authorization: Bearer c", max_tokens=500)
    for _ in range(20):
        tried.client().sends(full)
    assert tried.desk.waiting
    low = tried.client()
    low.sends(chat("x", "Authorization: Bearer b", max_tokens=500))
    assert low.heard.startswith(b"HTTP/1.1 503 ")
    assert b"priority-class-full" in low.heard
    page = tried.metrics.page(*gauges(tried.gateway)).decode()
    assert 'class_refusals_total{priority_class="low",reason="priority-class-full"} 1' in page
    assert 'tenant_refusals_total{tenant="batch",reason="priority-class-full"} 1' in page
    assert f'class_waiting_requests{{priority_class="high"}} {len(tried.desk.waiting)}' in page
    assert 'class_running_requests{priority_class="low"} 0' in page


def test_tokens_are_counted_for_each_tenant() -> None:
    tried = world()
    client = tried.client()
    for key in ("c", "b", "b"):
        client.sends(chat("x", f"Authorization: Bearer {key}", max_tokens=5))
        tried.engine().says(ANSWER)
    page = tried.metrics.page(*gauges(tried.gateway)).decode()
    for line in (
        'tenant_requests_total{tenant="batch"} 2',
        'tenant_prompt_tokens_total{tenant="batch"} 14',
        'tenant_output_tokens_total{tenant="batch"} 6',
        'tenant_output_tokens_total{tenant="chat"} 3',
    ):
        assert f"barostat_gateway_{line}\n" in page
    tried.at_rest()


def test_the_series_of_tenants_are_bounded() -> None:
    metrics = Metrics()
    for number in range(10 * MOST_TENANTS):
        metrics.used(f"tenant-{number}", 1, 1)
        metrics.refused("over-capacity", "chat", f"tenant-{number}")
    page = metrics.page({}, {}).decode()
    assert page.count("tenant_requests_total{") == MOST_TENANTS + 1
    assert page.count("tenant_refusals_total{") == MOST_TENANTS + 1
    left = 9 * MOST_TENANTS
    assert f'tenant_prompt_tokens_total{{tenant="other"}} {left}\n' in page


def test_the_full_line_sheds_the_lower_class_and_tells_it() -> None:
    spec = SPEC.replace("queueShare: 0", "queueShare: 1")
    tried = World(spec, keys=KEYS, pool_tokens=2000)
    tried.desk.rules = replace(tried.desk.rules, max_queued=2, tenants={}, tenants_closed=False)
    for _ in range(20):
        if tried.desk.waiting:
            break
        tried.client().sends(chat("x", "Authorization: Bearer c", max_tokens=500))
    low = tried.client()
    low.sends(chat("x", "Authorization: Bearer c", CLASS + "low", max_tokens=500))
    assert low.heard == b""
    tried.client().sends(chat("x", "Authorization: Bearer c", max_tokens=500))
    assert low.heard.startswith(b"HTTP/1.1 503 ")
    assert b"priority-shed" in low.heard
    assert b"retry-after" in low.heard.lower()
