"""What a time of observing comes to: harm, what would have been done, what the twin says, and what
people did.
"""

from __future__ import annotations

from dataclasses import replace

from tests.support.observed_week import BEGIN, HELPS, HOUR_S, a_review, incident
from tests.support.tried_bundles import recorded

from barostat.core.limits import ServiceLevel
from barostat.judge.diagnosis.diagnose import examine
from barostat.operator.incident import (
    IncidentPlan,
    as_document,
    from_document,
)
from barostat.operator.review import review
from barostat.operator.verdict import harm_of, tried
from barostat.shells.reports.incident.review import (
    conclusions,
    review_document,
    review_json,
    shown,
)
from barostat.shells.reports.sheet import forms


def test_harm_is_added_up_within_the_time_and_what_people_did_stands_beside_it() -> None:
    found = a_review()
    assert [one.incident.name for one in found.incidents] == ["llm-3600", "llm-0"]
    assert found.harmed_s == HOUR_S + 600.0
    assert found.avoidable_s == 600.0
    assert [action.record for action in found.incidents[1].by_hand] == ["llm-3f9a"]
    assert found.incidents[0].by_hand == ()


def test_the_report_says_what_the_twin_says_and_what_it_was_not_asked() -> None:
    said = " ".join(conclusions(a_review()))
    assert "2 incidents" in said
    assert "in 1 of 2: it helps in 1" in said
    assert "Not tried in 1: no traffic was seen." in said
    assert "By hand: 1 change, of which 1 verified." in said
    for form in ("text", "md", "html"):
        shown_text = forms.shown(review_document(shown(a_review())), form)
        assert "preemptions/s 9.1 -" in shown_text
        assert "llm-3f9a" in shown_text
        assert "is no JSON" in shown_text
    document = review_json(a_review())
    assert document["incidents"][1]["wouldHelp"] is True
    assert document["incidents"][0]["wouldHelp"] is None
    assert document["notRead"] == ["x|y: is no JSON"]


def test_a_change_that_does_harm_is_named() -> None:
    harmful = incident(0.0, 60.0, replace(HELPS, effect="harms"))
    found = review([harmful], [], BEGIN, BEGIN + HOUR_S)
    assert found.avoidable_s == 0.0
    assert "It does harm in 1: llm-0." in " ".join(conclusions(found))


def test_no_incident_is_said() -> None:
    assert conclusions(review([], [], BEGIN, BEGIN + 1.0)) == ["no incident"]


def test_a_trial_outlives_the_cluster_and_belongs_to_its_change() -> None:
    made = incident(0.0, None, HELPS)
    item = {
        "metadata": {"namespace": made.namespace, "name": made.name},
        "spec": as_document(made.spec),
        "status": as_document(made.status),
    }
    assert from_document(item) == made
    same = IncidentPlan(HELPS.lever, HELPS.change, record="op-1")
    assert same.with_trial_of(HELPS).changed == HELPS.changed
    assert not IncidentPlan("other", HELPS.change).with_trial_of(HELPS).is_tried


def test_the_plan_of_a_harmed_engine_is_tried_on_its_twin() -> None:
    recording = recorded("kv-preemption-thrash")
    examined = examine(recording)
    before = harm_of(examined)
    assert before is not None
    assert before.plan is not None
    assert not before.plan.is_tried
    after = harm_of(tried(examined, recording, ServiceLevel()), was_tried=True)
    assert after is not None
    assert after.plan is not None
    assert after.plan.effect == "helps"
    assert after.plan.unchanged is not None
    assert after.plan.changed is not None
    assert float(after.plan.changed.ttft_p99_seconds) < float(after.plan.unchanged.ttft_p99_seconds)
