"""What engines tell of themselves, and where requests go: preemptions, sharing, other clients,
drained and far replicas.
"""

from __future__ import annotations

import pytest
from tests.support.gates import Gate

from barostat.admit import gate
from barostat.admit.decision import Admitted
from barostat.admit.replica_news import Observation


def test_prompts_that_begin_alike_go_to_the_same_replica_while_it_has_room() -> None:
    tried = Gate(replicas=4)
    first = tried.admit(prefix_key=7)
    assert {tried.admit(prefix_key=7).replica for _ in range(5)} == {first.replica}
    assert tried.admit(prefix_key=8).replica != first.replica


def test_a_replica_that_drains_or_failed_gets_nothing() -> None:
    tried = Gate(replicas=2)
    gate.draining(tried.ledger, "r0", True)
    assert tried.admit().replica == "r1"
    gate.draining(tried.ledger, "r0", False)
    assert tried.admit().replica == "r0"
    assert tried.admit(not_on=("r0",)).replica == "r1"


def test_preemptions_raise_the_margin_and_answers_lower_it() -> None:
    tried = Gate()
    before = tried.ledger.learned.margin.z
    gate.observed(tried.ledger, "r0", Observation(0.5, 1, 0, 7), 0.0)
    assert tried.ledger.learned.margin.z == before  # what was before the first look is not ours
    gate.observed(tried.ledger, "r0", Observation(0.5, 1, 0, 8), 1.0)
    raised = tried.ledger.learned.margin.z
    assert raised > before
    tried.end(tried.admit().reservation, 10)
    assert tried.ledger.learned.margin.z < raised
    gate.observed(tried.ledger, "r0", Observation(0.5, 1, 0, 0), 2.0)  # the engine began anew
    assert tried.ledger.learned.margin.z < raised


def test_answers_that_are_not_streamed_do_not_pass_for_shared_prompts() -> None:
    """Ten short prompts, long answers of which nothing is heard until they are whole, at a pace
    that has become five times as slow.
    """
    tried = Gate(kv_tokens=10_000)
    gate.returned(tried.ledger, tried.admit(40, 200).reservation, 2.0, "stop", output_tokens=200)
    for _ in range(10):
        tried.admit(40, 200)
    for second in range(2, 12):
        held = 10 * (40 + 20 * second)  # a tenth of the 100 tokens a second that are reckoned
        gate.observed(tried.ledger, "r0", Observation(held / 10_000, 10, 0, 0), 1.0 + second)
    assert tried.ledger.replicas["r0"].shared_ratio == 1.0


def test_sharing_is_learned_beside_prompts_that_are_not_computed_yet() -> None:
    """Half of what runs has not begun its answer, as where many short answers come and go: of the
    other half the pool tells enough.
    """
    tried = Gate(kv_tokens=20_000)
    numbers = [tried.admit(900, 20).reservation for _ in range(10)]
    for number in numbers[:5]:
        gate.produced(tried.ledger, number, 10, 1.0)
    ratio = {}
    for name, each in (("none shared", 900), ("nine tenths shared", 90)):
        for second in range(20):
            gate.observed(
                tried.ledger,
                "r0",
                Observation((5 * each + 5 * 18) / 20_000, 10, 0, 0),
                1.0 + second / 100,
            )
        ratio[name] = tried.ledger.replicas["r0"].shared_ratio
    assert (
        ratio["none shared"] > 0.99
    )  # what is not computed yet holds nothing, and is not taken for shared
    assert ratio["nine tenths shared"] < 0.2


def test_what_is_far_from_what_was_believed_is_believed_sooner_and_noise_more_slowly() -> None:
    tried = Gate(kv_tokens=20_000)
    numbers = [tried.admit(900, 20).reservation for _ in range(10)]
    for number in numbers:
        gate.produced(tried.ledger, number, 10, 1.0)
    replica = tried.ledger.replicas["r0"]

    def moved_by(each: float) -> float:
        """Of the way from what was believed to what a look says, at which each prompt holds so many
        tokens.
        """
        before = replica.shared_ratio
        gate.observed(
            tried.ledger, "r0", Observation((10 * each + 10 * 18) / 20_000, 10, 0, 0), 1.0
        )
        return (before - replica.shared_ratio) / (before - each / 900)

    assert moved_by(180) == pytest.approx(0.6)
    replica.shared_ratio = 0.25
    assert moved_by(180) == pytest.approx(0.3)
    replica.shared_ratio = 0.2
    assert moved_by(225) == pytest.approx(0.5)


def test_shared_prefixes_make_room_and_other_clients_take_it() -> None:
    tried = Gate(kv_tokens=10_000)
    numbers = [tried.admit(900, 20).reservation for _ in range(10)]
    for number in numbers:
        gate.produced(tried.ledger, number, 10, 1.0)
    waiting = tried.queue(900, 20)
    for second in range(20):
        gate.observed(tried.ledger, "r0", Observation(0.12, 10, 0, 0), 1.0 + second)
    assert tried.ledger.replicas["r0"].shared_ratio < 0.2
    tried.at = 9.0
    assert [one.reservation for one in tried.due()] == [waiting.reservation]
    gate.observed(tried.ledger, "r0", Observation(0.99, 40, 0, 0), 10.0)
    tried.at = 11.0
    replica = tried.ledger.replicas["r0"]
    assert replica.foreign_tokens > 7_500
    while isinstance(tried.ask(900, 20), Admitted):
        pass
    assert 2_000 < replica.held_tokens <= 2_500


def test_who_goes_round_the_gateway_does_not_shut_it() -> None:
    """Others fill the pool and queue in the engine: a quarter of the pool stays with those who come
    by the gateway, and no more.
    """
    tried = Gate(kv_tokens=10_000)
    gate.observed(tried.ledger, "r0", Observation(1.0, 40, 30, 0), 1.0)
    assert tried.ledger.replicas["r0"].foreign_tokens == 10_000
    admitted = 0
    while isinstance(tried.ask(100, 100), Admitted):
        admitted += 1
    assert admitted == 2_500 // (100 + 100 + 16)


def test_what_waits_in_the_engine_without_others_waits_for_its_turn() -> None:
    tried = Gate(kv_tokens=10_000)
    for _ in range(4):
        tried.admit(100, 100)
    gate.observed(tried.ledger, "r0", Observation(0.0, 0, 4, 0), 1.0)
    assert not isinstance(tried.ask(100, 100), Admitted)


def test_prompts_that_begin_alike_stay_together_until_others_stand_idle_beside_them() -> None:
    tried = Gate(kv_tokens=100_000, replicas=4)
    went = [tried.admit(200, 300, prefix_key=7).replica for _ in range(120)]
    assert set(went[:33]) == {went[0]}
    counts = sorted(went.count(name) for name in set(went))
    assert len(counts) == 4
    assert counts[-1] - counts[0] <= 33
