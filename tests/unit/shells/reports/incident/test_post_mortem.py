"""The post-mortem as a page, as Markdown and as data: what was measured before and after, with the
phases behind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

from tests.support.measured_incident import AT, HOME, LOOKS, SPARE, STATE

from barostat.core.signal import Point
from barostat.judge.mitigation.measurements import Look, document
from barostat.remedy.acts import DeletePod, PodRef, ScaleHome
from barostat.remedy.program import program
from barostat.remedy.record import from_json, to_json
from barostat.remedy.state import Entry, State
from barostat.shells.reports.incident.charts import QUANTITIES
from barostat.shells.reports.incident.post_mortem import _at, as_json, line, post_mortem
from barostat.shells.reports.sheet import forms
from barostat.shells.reports.sheet.charts import LEFT, RIGHT, WIDTH

CODE = f"`{SPARE} (spare-0)`"


def as_html(state: State, looks: Sequence[Look] = (), unseen: str = "") -> str:
    return forms.as_html(post_mortem(state, looks, unseen))


def as_markdown(state: State, looks: Sequence[Look] = (), unseen: str = "") -> str:
    return forms.as_markdown(post_mortem(state, looks, unseen))


def whole(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.removeprefix("<!doctype html>\n"))


def figures(text: str) -> dict[str, ElementTree.Element]:
    return {
        caption.text or "": found
        for found in whole(text).iter("figure")
        if (caption := found.find("figcaption")) is not None
    }


def across(figure: ElementTree.Element, kind: str) -> list[float]:
    """Where the lines of that kind lie on the axis of time."""
    lines = [
        line
        for line in figure.iter("polyline")
        if line.attrib["class"].split()[1:2] == ([kind] if kind else [])
    ]
    return [float(pair.split(",")[0]) for line in lines for pair in line.attrib["points"].split()]


def test_there_is_a_drawing_for_each_quantity_with_before_left_of_after() -> None:
    drawn = figures(as_html(STATE, LOOKS))
    assert list(drawn) == [title for title, *_ in QUANTITIES]
    for figure in drawn.values():
        assert max(across(figure, "second")) < min(across(figure, ""))


def test_the_phases_are_shaded_behind_at_their_times() -> None:
    figure = figures(as_html(STATE, LOOKS))["KV usage"]
    bands = {band.findtext("title"): band.attrib for band in figure.iter("rect")}
    assert list(bands) == [
        "Confirming",
        "Planned",
        "Preparing",
        "Changing",
        "Draining",
        "Verifying",
        "Promoting",
    ]
    verifying = bands["Verifying"]
    left, right = float(verifying["x"]), float(verifying["x"]) + float(verifying["width"])
    assert left - 0.2 <= min(across(figure, "")) < max(across(figure, "")) <= right + 0.2


def test_what_was_promised_is_drawn_where_it_is_known() -> None:
    drawn = figures(as_html(STATE, LOOKS))
    named = {
        title: [text.text for text in figure.iter("text") if text.get("class") == "limit-name"]
        for title, figure in drawn.items()
    }
    assert named["Time to first token"] == ["at most 2 s"]
    assert named["Time between tokens"] == ["at most 100 ms"]
    assert named["Output tokens per second"] == ["at least 576 at the load before"]
    assert named["Running requests"] == ["limit before: 64", "limit after: 16"]
    assert named["KV usage"] == ["at most 97%"]
    assert "the limit does not apply while preemptions_per_s is at most 0.01" in (
        drawn["KV usage"].findtext("figcaption/span") or ""
    )
    assert named["Preemptions per second"] == []


def test_each_line_says_whose_it_is() -> None:
    tips = [
        title.text for title in figures(as_html(STATE, LOOKS))["Time to first token"].iter("title")
    ]
    assert f"before: {HOME}" in tips
    assert f"after: {SPARE}, p99" in tips


def test_the_table_has_a_row_for_each_look() -> None:
    text = as_markdown(STATE, LOOKS)
    rows = [line for line in text.splitlines() if line.startswith(("| before", "| after"))]
    assert rows[-1].startswith(f"| after | 172 s | {CODE} | 75% | 0 | 15.1 |")
    assert rows[0].startswith(f"| before | -45 s | `{HOME} (home-0)` |")
    assert len(rows) == len(LOOKS)
    widths = {
        line.count("|") for line in text.split("## Measured")[1].split("##")[0].strip().splitlines()
    }
    assert len(widths) == 1


def test_without_looks_it_says_so_in_a_sentence_and_draws_none() -> None:
    told = "What was measured cannot be read: seen.json: is no JSON <script>."
    page, text = as_html(STATE, (), told), as_markdown(STATE, (), told)
    assert figures(page) == {}
    assert "cannot be read: seen.json: is no JSON &lt;script&gt;." in page
    assert "cannot be read: seen.json: is no JSON &lt;script>." in text
    assert "phases over time" in page


def test_what_is_left_to_undo_is_named_with_its_pods_and_numbers() -> None:
    pods = (("home-0", PodRef("<vllm-a>", "u")),)
    begun = replace(
        STATE,
        phase="HandedOff",
        committed=False,
        undo=(ScaleHome(1, 2), DeletePod("home-0")),
        pods=pods,
    )
    assert (
        "## Not yet taken back\n\n1. DeletePod home-0 (&lt;vllm-a>)\n2. ScaleHome 1 -> 2 replicas"
        in as_markdown(begun)
    )
    assert (
        "<li>DeletePod home-0 (&lt;vllm-a&gt;)</li><li>ScaleHome 1 -&gt; 2 replicas</li>"
        in as_html(begun)
    )
    proved = as_markdown(replace(begun, committed=True, cursor=len(program(begun.plan)) - 1))
    assert "Not yet taken back" not in proved
    assert "## Left to do\n\n1. ReleaseHome" in proved


def test_as_data_the_record_stays_what_it_is_and_has_what_was_seen_beside_it() -> None:
    found = json.loads(as_json(STATE, LOOKS))
    assert found.pop("seen") == json.loads(json.dumps(document(LOOKS)))
    assert from_json(json.dumps(found)) == from_json(to_json(STATE))
    assert json.loads(as_json(STATE))["seen"] is None


def test_a_name_that_is_no_pods_is_harmless() -> None:
    bad = "<script>alert(1)</script>|\n"
    page = as_html(STATE, [Look("after", bad, bad, LOOKS[-1].series)])
    assert "<script>" not in page
    whole(page)
    (row,) = [
        line
        for line in as_markdown(STATE, [Look("after", bad, bad, LOOKS[-1].series)]).splitlines()
        if "alert" in line
    ]
    assert row.replace("\\|", "").count("|") == 11


def test_a_look_of_one_point_and_an_incident_without_a_timeline_are_drawn() -> None:
    one = Look("after", SPARE, "", {"kv_usage_ratio": (Point(AT, 0.5),)})
    assert list(figures(as_html(replace(STATE, timeline=()), [one]))) == ["KV usage"]


def test_what_was_measured_is_not_a_sliver_of_a_long_incident() -> None:
    late = replace(STATE, timeline=(*STATE.timeline[:-1], Entry(AT + 90_000.0, "Done", "")))
    figure = figures(as_html(late, LOOKS))["KV usage"]
    assert max(across(figure, "")) - min(across(figure, "second")) > 0.35 * (WIDTH - LEFT - RIGHT)


def test_the_page_is_the_same_each_time() -> None:
    assert as_html(STATE, LOOKS) == as_html(STATE, LOOKS)
    assert not re.search(r"https?://(?!www\.w3\.org)", as_html(STATE, LOOKS))


def test_a_numbered_pod_is_called_by_its_part_before_and_after() -> None:
    parts = (("new-0", PodRef(HOME, "u2")), ("unit-0", PodRef(HOME, "u1")))
    after = replace(LOOKS[0], when="after")
    text = as_markdown(replace(STATE, pods=parts), (LOOKS[0], after))
    shown = [line for line in text.splitlines() if line.startswith(("| before", "| after"))]
    assert f"{HOME} (unit-0)" in shown[0]
    assert f"{HOME} (new-0)" in shown[1]


def test_the_figures_before_say_what_they_are() -> None:
    baseline = (("preemptions_per_s:least", 49.9), ("preemptions_per_s:error", 0.2))
    text = as_markdown(replace(STATE, plan=replace(STATE.plan, baseline=baseline)))
    assert "`preemptions_per_s` (lowest replica) 49.9" in text
    assert "`preemptions_per_s` (standard error) 0.2" in text


def test_a_version_that_is_kept_warm_is_named_with_the_time_until_when() -> None:
    plan = replace(STATE.plan, keep_previous_s=1800.0)
    kept = Entry(AT, "KeepPrevious", "previous (vllm-previous-x)")
    pods = (("previous", PodRef("vllm-previous-x", "u")),)
    state = replace(STATE, plan=plan, pods=pods, timeline=(*STATE.timeline, kept))
    until = _at(AT + 1800.0)
    assert f"vllm-previous-x, warm and out of rotation until {until}" in as_markdown(state)
    assert line(state).endswith(f"; former version warm until {until}")
    assert "former version" not in line(STATE).lower() + as_markdown(STATE).lower()
    without = replace(STATE, plan=replace(STATE.plan, not_kept="no replica is replaced"))
    assert "not kept warm: no replica is replaced" in as_markdown(without)
    tried = replace(kept, detail="previous: not done: no node takes it")
    failed = replace(state, pods=(), timeline=(*STATE.timeline, tried))
    assert "not kept warm: no node takes it" in as_markdown(failed)
    back = replace(STATE, plan=replace(STATE.plan, previous="i0-previous"))
    assert "i0-previous kept it warm and served as the first spare" in as_markdown(back)
