"""Which of the settings that the twin has tried is taken."""

from __future__ import annotations

from barostat.core.diagnosis import NextStep
from barostat.core.proposed_change import SetFlag
from barostat.core.prose import Prose
from barostat.judge.experiments.trials import Made
from barostat.judge.mitigation.forecast import AtOnce, Forecast, pick, tighter
from barostat.twin.settings import KvGroup, Settings
from barostat.twin.summary import Slo
from barostat.twin.workload.made import parse_spec


def tried(
    value: int,
    preempted: float,
    tokens: float,
    good: float,
    present: float,
    crowded: float | None = None,
) -> Forecast:
    step = NextStep(
        "max-num-active-seqs", SetFlag("max_num_active_seqs", value), Prose(""), restarts=True
    )
    return Forecast(step, preempted, tokens, good, present, crowded)


def test_of_settings_that_yield_the_same_the_one_in_which_nobody_waits() -> None:
    # Where all serve what comes, the smallest limit has the shortest gaps and the longest queue.
    four, six, eight = (
        tried(4, 0.0, 177.0, 0.5, 14.0),
        tried(6, 0.0, 181.0, 0.5, 5.5),
        tried(8, 0.04, 194.0, 0.5, 5.0),
    )
    assert pick([four, six, eight], Slo()) == six
    assert pick([eight], Slo()) is None


def test_where_a_service_level_is_asked_for_good_requests_decide() -> None:
    fast, full = tried(4, 0.0, 150.0, 0.5, 3.0), tried(8, 0.0, 190.0, 0.3, 2.0)
    assert pick([fast, full], Slo(ttft_s=1.0)) == fast
    assert pick([fast, full], Slo()) == full


def test_one_that_holds_however_much_comes_goes_first_where_that_costs_little_time() -> None:
    firm, edge = tried(6, 0.0, 179.0, 0.5, 5.5, 0.001), tried(8, 0.0, 181.0, 0.5, 5.0, 0.2)
    assert pick([firm, edge], Slo()) == firm
    # What is left of the pressure is a crowd: a little preemption in it is too much where another
    # has none and takes not twice as long.
    roomy, hasty = tried(7, 0.0, 226.0, 0.6, 10.1, 0.0), tried(8, 0.0, 224.0, 0.6, 7.2, 0.02)
    assert pick([roomy, hasty], Slo()) == roomy
    slow = tried(5, 0.0, 179.0, 0.5, 16.0, 0.0)
    assert pick([slow, edge], Slo()) == edge
    dear = tried(4, 0.0, 150.0, 0.5, 14.0, 0.0)
    assert pick([dear, edge], Slo()) == edge
    assert pick([tried(6, 0.5, 176.0, 0.5, 5.5, 0.0)], Slo()) is None


def test_all_at_once_is_the_same_requests_from_the_start() -> None:
    load = Made(parse_spec("poisson:rate=2,minutes=1,input=100,output=50"))
    came, at_once = load.rows(3), AtOnce(load).rows(3)
    assert {row.arrival_s for row in at_once} == {0.0}
    assert [row[:1] + row[2:] for row in came] == [row[:1] + row[2:] for row in at_once]


def test_a_smaller_pool_holds_the_longest_request_still() -> None:
    roomy = Settings(kv_blocks=1000, groups=(KvGroup(16),), max_model_len=1024)
    assert tighter(roomy).kv_blocks == 950
    assert (
        tighter(Settings(kv_blocks=67, groups=(KvGroup(16),), max_model_len=1024)).kv_blocks == 65
    )
    assert (
        tighter(Settings(kv_blocks=60, groups=(KvGroup(16),), max_model_len=1024)).kv_blocks == 60
    )


def test_what_is_told_of_a_setting_is_what_the_choice_goes_by() -> None:
    assert tried(8, 0.04, 194.0, 0.5, 5.02, 0.124).says == (
        "0.04 preemptions/s, 194 tokens/s, 5.0 requests there at once; in a crowd 0.12 "
        "preemptions for each request"
    )
    assert "crowd" not in tried(8, 0.04, 194.0, 0.5, 5.0).says
