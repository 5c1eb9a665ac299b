"""What is decided is done: caps, refusals, waiting, leaving, deadlines, shadow, failure policies,
and replicas that come and go.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.gateway_wire import Heard, Side, World, chat, chunked, event, ok, post

from barostat.admit.replica_news import Observation, Pool
from barostat.gateway.messages.structure import TEXTS_AND_BRACKETS
from barostat.gateway.messages.target import AllowedPath

USED = {"prompt_tokens": 7, "completion_tokens": 3}
ANSWER = ok(json.dumps({"usage": USED}).encode())


def body_of(heard: bytes) -> dict[str, object]:
    found: dict[str, object] = json.loads(heard.partition(b"\r\n\r\n")[2])
    return found


def busy(world: World, count: int = 200) -> tuple[list[Side], Side]:
    """Clients until one has to wait."""
    clients: list[Side] = []
    for _ in range(count):
        client = world.client()
        client.sends(chat("x" * 100, max_tokens=500))
        if world.desk.waiting:
            return clients, client
        clients.append(client)
    raise AssertionError("nothing had to wait")


def test_a_larger_output_limit_is_capped_and_told() -> None:
    world = World("request: {maxOutputTokens: 100}")
    client = world.client()
    request = chat(max_tokens=500, temperature=0.5)
    client.sends(request)
    heard = Heard(world.engine().heard).requests[0][3]
    assert heard == request.partition(b"\r\n\r\n")[2].replace(b"500", b"100")
    world.engine().says(ANSWER)
    assert b"\r\nx-barostat-output-cap: 100\r\n" in client.heard
    assert b"output_caps_total 1" in world.metrics.page({}, {})
    assert client.heard.replace(b"x-barostat-output-cap: 100\r\n", b"") == ANSWER


def test_an_absent_output_limit_is_written() -> None:
    world = World("request: {maxOutputTokens: 100}")
    world.client().sends(chat())
    assert json.loads(Heard(world.engine().heard).requests[0][3])["max_tokens"] == 100


def test_a_cap_for_which_there_is_no_room_is_not_written() -> None:
    world = World("request: {maxOutputTokens: 3000}", longest_tokens=4096)
    world.client().sends(chat())
    assert json.loads(Heard(world.engine().heard).requests[0][3])["max_tokens"] == 3000
    request = chat("1 2 3 4 " * 200)
    world = World("request: {maxOutputTokens: 5000}", longest_tokens=4096)
    world.client().sends(request)
    assert Heard(world.engine().heard).requests[-1][3] == request.partition(b"\r\n\r\n")[2]


def test_an_absent_output_limit_is_refused_where_the_policy_says_so() -> None:
    world = World("request: {maxOutputTokens: 100, onMissingOutputLimit: refuse}")
    client = world.client()
    for request in (chat(), chat(max_tokens=101), chat(max_completion_tokens=101)):
        client.sends(request)
    assert client.heard.count(b"HTTP/1.1 400 ") == 3
    for named in (
        b"max_tokens",
        b"max_completion_tokens",
    ):  # as the route has it, where the clients look for it
        assert (
            b'(%b).","type":"invalid_request_error","param":"%b"' % (named, named) in client.heard
        )
    client.sends(post("/v1/responses", {"input": "x"}))
    assert client.heard.endswith(
        b'(max_output_tokens).","type":"invalid_request_error","param":"max_output_tokens","code":"no-output-limit"}}'
    )
    assert not world.engines
    client.sends(chat(max_tokens=100))
    assert len(world.engines) == 1


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"\xff\xfe",
        b'{"max_tokens": "five"}',
        b'{"n": 0}',
        b'{"n": true}',
        b'{"max_tokens": -1}',
        b"[" * 100_000,
    ],
)
def test_a_body_that_no_engine_would_take_is_refused_here(document: bytes) -> None:
    world = World()
    client = world.client()
    client.sends(post("/v1/chat/completions", document))
    assert client.heard.startswith(b"HTTP/1.1 400 ")
    assert not world.engines
    world.at_rest()


def test_errors_are_those_that_the_clients_of_each_route_read() -> None:
    world = World()
    client = world.client()
    client.sends(post("/v1/messages", b"{"))
    assert body_of(client.heard)["type"] == "error"
    other = world.client()
    other.sends(post("/v1/responses", b"{"))
    error = body_of(other.heard)["error"]
    assert isinstance(error, dict)
    assert error["code"] == "bad-request"
    assert error["type"] == "invalid_request_error"


def test_a_path_in_disguise_is_decided_on_as_well() -> None:
    world = World("request: {maxOutputTokens: 100, onMissingOutputLimit: refuse}")
    client = world.client()
    client.sends(post("/v1/chat/c%6fmpletions?x=/y", {"model": "m", "messages": []}))
    assert client.heard.startswith(b"HTTP/1.1 400 ")


def test_what_does_not_fit_waits_and_is_served_in_turn() -> None:
    world = World(pool_tokens=4000)
    clients, waiting = busy(world)
    assert clients
    assert waiting.heard == b""
    while world.desk.waiting:
        engine = next(one for one in world.engines if one.protocol.exchange is not None)
        engine.says(ANSWER)
    engine = next(one for one in world.engines if one.protocol.exchange is waiting.protocol.current)
    engine.says(ANSWER)
    assert waiting.heard == ANSWER
    for engine in world.engines:
        if engine.protocol.exchange is not None:
            engine.says(ANSWER)
    world.at_rest()


def test_a_client_that_leaves_stops_waiting() -> None:
    world = World(pool_tokens=4000)
    clients, waiting = busy(world)
    waiting.leaves()
    assert not world.desk.waiting
    assert world.desk.ledger.queued == 0
    for client in clients:
        client.leaves()
    world.at_rest()


def test_who_waits_past_the_deadline_is_told_when_to_come_back() -> None:
    world = World("slo: {ttftP99Seconds: 2}", pool_tokens=4000)
    _, waiting = busy(world)
    world.passes(40)
    status = waiting.heard[:13]
    assert status in (b"HTTP/1.1 429 ", b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: " in waiting.heard
    assert not world.desk.waiting


def test_an_exact_count_decides() -> None:
    world = World("request: {maxInputTokens: 100}")
    client = world.client()
    world.counts(101)
    client.sends(chat("x" * 300, max_tokens=5))
    assert client.heard.startswith(b"HTTP/1.1 413 ")
    assert b"input-too-long" in client.heard
    world.counts(100)
    client.sends(chat("x" * 300, max_tokens=5))
    assert len(world.engines) == 1


def test_in_shadow_nothing_is_refused_queued_or_changed() -> None:
    world = World(
        "request: {maxInputTokens: 4, maxOutputTokens: 5, onMissingOutputLimit: refuse, "
        "maxStreamSeconds: 1}",
        shadow=True,
    )
    client = world.client()
    request = chat()
    client.sends(request)
    assert Heard(world.engine().heard).requests[0][3] == request.partition(b"\r\n\r\n")[2]
    world.engine().says(ANSWER)
    assert client.heard == ANSWER
    assert b'shadow_refusals_total{reason="no-output-limit"} 1' in world.metrics.page({}, {})
    for request in (chat(max_tokens=50), chat()):
        capping = World("request: {maxOutputTokens: 5}", shadow=True)
        asks = capping.client()
        asks.sends(request)
        assert Heard(capping.engine().heard).requests[0][3] == request.partition(b"\r\n\r\n")[2]
        capping.engine().says(ANSWER)
        assert asks.heard == ANSWER
        assert b"shadow_output_caps_total 1" in capping.metrics.page({}, {})
    crowd = World(pool_tokens=2000, shadow=True)
    clients = [crowd.client() for _ in range(50)]
    for one in clients:
        one.sends(chat("x" * 100, max_tokens=900))
    assert len(crowd.engines) == 50
    for one in clients:
        one.leaves()
    crowd.at_rest()


def test_without_the_pool_the_failure_policy_decides_and_closed_is_the_default() -> None:
    for policy, passed in (("{kvTokenBudget: open}", 1), ("{kvTokenBudget: closed}", 0), ("{}", 0)):
        world = World(f"edge: {{failurePolicy: {policy}}}", pool_tokens=None)
        client = world.client()
        client.sends(chat(max_tokens=5))
        assert len(world.engines) == passed
        if not passed:
            assert client.heard.startswith(b"HTTP/1.1 503 ")
        client = world.client()
        client.sends(post("/v1/embeddings", {"input": "a"}))  # it holds nothing in a pool
        assert len(world.engines) == passed + 1


def test_without_the_pool_one_requests_limits_are_kept_all_the_same() -> None:
    world = World(
        "request: {maxOutputTokens: 100, maxInputTokens: 10}\nedge: {failurePolicy: {kvTokenBudget: open}}",
        pool_tokens=None,
        longest_tokens=None,
    )
    world.client().sends(post("/v1/completions", {"prompt": [1, 2], "max_tokens": 500}))
    assert json.loads(Heard(world.engine().heard).requests[0][3])["max_tokens"] == 100
    client = world.client()
    client.sends(post("/v1/completions", {"prompt": [1] * 50, "max_tokens": 500, "n": 500}))
    assert client.heard.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 999_999_999, "completion_tokens": 999_999_999},
        {"prompt_tokens": 32_769, "completion_tokens": 6},
    ],
)
def test_usage_that_cannot_be_is_ignored(usage: dict[str, int]) -> None:
    world = World("request: {maxInputTokens: 1000}")
    client = world.client()
    client.sends(chat("a", max_tokens=5))
    world.engine().says(ok(json.dumps({"usage": usage}).encode()))
    sizes = world.desk.ledger.learned.inputs
    assert sizes.samples == {}
    assert sizes.added_tokens == 0
    page = world.metrics.page({}, {})
    assert b"barostat_gateway_absurd_usage_total 1" in page
    assert b"prompt_tokens_count 0" in page
    client.sends(chat("a", max_tokens=5))
    assert b"POST /v1/chat" in world.engine().heard  # passed on without a count
    client.leaves()
    world.at_rest()


def test_an_engine_out_of_rotation_gets_nothing_new() -> None:
    world = World(replicas=2)
    world.desk.stands(world.replicas[0], "stalled")
    for _ in range(5):
        world.client().sends(chat(max_tokens=5))
    assert {one.protocol.pool.name for one in world.engines} == {"engine-1:8000"}
    world.client().sends(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
    assert {one.protocol.pool.name for one in world.engines} == {"engine-1:8000"}
    world.desk.stands(world.replicas[0], "up")
    for _ in range(5):
        world.client().sends(chat(max_tokens=5))
    assert {one.protocol.pool.name for one in world.engines} == {
        "engine-0:8000",
        "engine-1:8000",
    }


def test_prompts_that_begin_alike_go_to_the_same_engine() -> None:
    world = World(replicas=3)
    for _ in range(6):
        world.client().sends(chat("a long system prompt " * 60, max_tokens=5))
    assert len({one.protocol.pool.name for one in world.engines}) == 1


def test_unlisted_tenants_and_their_concurrency() -> None:
    world = World("tenants: [{name: red, maxConcurrency: 1}]", keys={"k": "red", "j": "blue"})
    blue = world.client()
    blue.sends(chat("x", "Authorization: Bearer j", max_tokens=5))
    assert blue.heard.startswith(b"HTTP/1.1 403 ")
    first, second = world.client(), world.client()
    first.sends(chat("x", "Authorization: Bearer k", max_tokens=5))
    second.sends(chat("x", "Authorization: Bearer k", max_tokens=5))
    assert len(world.engines) == 1
    world.engine().says(ANSWER)
    world.engine().says(ANSWER)
    assert first.heard == second.heard == ANSWER
    world.at_rest()


def test_a_stream_that_has_had_its_time_ends_properly() -> None:
    world = World("request: {maxStreamSeconds: 5}")
    client = world.client()
    client.sends(chat(max_tokens=500, stream=True))
    piece = event(
        {
            "id": "s1",
            "object": "chat.completion.chunk",
            "created": 3,
            "model": "m",
            "choices": [{"index": 0, "delta": {"content": "a"}}],
        }
    )
    engine = world.engine()
    engine.says(chunked(piece, end=False))
    world.passes(7)
    assert client.heard.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    last = json.loads(client.heard.split(b"data: ")[-2].partition(b"\n")[0])
    assert last["id"] == "s1"
    assert last["choices"][0]["finish_reason"] == "length"
    assert engine.wire.aborted
    world.at_rest()
    client.sends(chat(max_tokens=5))  # the connection goes on
    world.engine().says(ANSWER)
    assert client.heard.endswith(ANSWER)


def test_it_ends_at_the_end_of_an_event_and_not_within_one() -> None:
    piece = event({"id": "s1", "choices": [{"index": 0, "delta": {"content": "abc"}}]})
    whole = chunked(piece, piece, end=False)
    for at in range(whole.index(b"data:"), len(whole)):
        world = World("request: {maxStreamSeconds: 5}")
        client = world.client()
        client.sends(chat(max_tokens=500, stream=True))
        world.engine().says(whole[:at])
        world.passes(5)
        world.engine().says(whole[at:])
        assert client.heard.startswith(whole[:at])
        assert client.heard.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"), at
        world.at_rest()


def test_the_bodies_of_an_allowed_path_pass_as_they_are() -> None:
    world = World(allowed_paths=(AllowedPath("/v1/realtime/x"),))
    client = world.client()
    client.sends(post("/v1/realtime/x", b"\x00\x01" * 100))
    assert Heard(world.engine().heard).requests[0][3] == b"\x00\x01" * 100
    world.engine().says(ok(b"\xff\x00"))
    assert client.heard == ok(b"\xff\x00")
    world.at_rest()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["new", "answer", "leave", "reset", "tick", "metrics", "down", "up", "half"]
            ),
            st.integers(0, 30),
        ),
        max_size=60,
    )
)
@settings(max_examples=150, deadline=None)
def test_whatever_happens_in_whatever_order_the_ledger_ends_at_zero(
    moves: list[tuple[str, int]],
) -> None:
    world = World(
        "slo: {ttftP99Seconds: 3}\nrequest: {maxOutputTokens: 400, maxStreamSeconds: 20}",
        replicas=2,
        pool_tokens=1500,
    )
    clients: list[Side] = []
    for move, number in moves:
        engines = [one for one in world.engines if one.protocol.exchange is not None]
        match move:
            case "new":
                clients.append(world.client())
                clients[-1].sends(
                    chat("x" * 10 * number, max_tokens=10 * number + 1, stream=bool(number % 2))
                )
            case "leave" if clients:
                clients.pop(number % len(clients)).leaves()
            case "answer" if engines:
                engines[number % len(engines)].says(ANSWER)
            case "half" if engines:
                engines[number % len(engines)].says(
                    chunked(event({"id": "a", "choices": []}), end=False)
                )
            case "reset" if engines:
                engines[number % len(engines)].leaves()
            case "tick":
                world.passes(number / 4)
            case "metrics":
                world.desk.observed(
                    world.replicas[number % 2], Observation(number / 30, number, number % 3, number)
                )
            case "down":
                world.desk.stands(world.replicas[number % 2], "unreachable")
            case "up":
                world.desk.stands(world.replicas[number % 2], "up")
        held = sum(client.protocol.current is not None for client in clients)
        assert len(world.desk.ledger.reservations) <= held
    for client in clients:
        client.leaves()
    world.at_rest()


def test_an_engine_that_left_while_it_was_looked_at_is_not_taken_for_one() -> None:
    world = World(replicas=2)
    left = world.replicas[0]
    left.standing = "leaving"
    world.desk.leaves(left)
    world.desk.has_pool(left, Pool(100_000, 16, 64, 32_768))
    assert [*world.desk.pools] == [*world.desk.ledger.replicas] == ["engine-1:8000"]
    client = world.client()
    client.sends(chat(max_tokens=5))
    world.engine().says(ANSWER)
    assert client.heard == ANSWER
    world.at_rest()


def test_a_list_to_embed_passes_however_many_it_has() -> None:
    world = World("request: {maxInputTokens: 1000}")
    client = world.client()
    client.sends(post("/v1/embeddings", {"model": "m", "input": ["hello"] * 1000}))
    assert len(Heard(world.engine().heard).requests) == 1
    world.engine().says(
        ok(
            b'{"data": [], "usage": {"prompt_tokens": 2000, "total_tokens": 2000, "completion_tokens": 0}}'
        )
    )
    world.at_rest()


@pytest.mark.parametrize(
    "body",
    [
        {"n": "many"},
        {"max_tokens": -1},
        b"no json",
        b'{"logit_bias": [' + b"[]," * TEXTS_AND_BRACKETS + b"[]]}",
    ],
)
def test_in_shadow_a_body_that_would_be_refused_is_the_engines(body: object) -> None:
    world = World(shadow=True)
    client = world.client()
    request = post("/v1/chat/completions", body)
    client.sends(request)
    assert Heard(world.engine().heard).requests[0][3] == request.partition(b"\r\n\r\n")[2]
    world.engine().says(ANSWER)
    assert client.heard == ANSWER
    assert world.metrics.counters["shadow_refusals_total", (("reason", "bad-request"),)] == 1
    world.at_rest()
