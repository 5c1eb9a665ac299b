"""Limits files: strict, with places; edited with their comments; the schema of the same model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from barostat.core.errors import InputError
from barostat.io.input_files import limits_file, limits_schema
from barostat.judge.sizing.limits_diff import differences

GOOD = """\
apiVersion: barostat.dev/v1alpha1
kind: ServingLimits
spec:
  # agreed with the team on Friday
  model: Qwen/Qwen3-8B
  request: {maxInputTokens: 6000, maxOutputTokens: 1000, onMissingOutputLimit: cap}
  engine:
    maxModelLen: 8192   # one long request must not starve the rest
    maxNumSeqs: 64
  capacity: {kvCacheTokens: 397984, headroomRatio: 0.1}
  tenants:
    - {name: chat, share: 0.7}
    - {name: batch, share: 0.3}
because:
  engine.maxNumSeqs: measured
"""


def test_a_good_file_reads_and_writes_the_same() -> None:
    limits = limits_file.parse(GOOD)
    assert limits.spec.engine.max_num_seqs == 64
    assert limits.spec.tenants[1].name == "batch"
    assert limits_file.parse(limits_file.render(limits)) == limits


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        ("maxNumSeqs: 64", "maxNumSeq: 64", "9:5", "did you mean maxNumSeqs"),
        ("maxNumSeqs: 64", "maxNumSeqs: many", "9:17", "whole number"),
        ("maxNumSeqs: 64", "maxNumSeqs: 0", "9:17", "at least 1"), ("headroomRatio: 0.1", "headroomRatio: 10", "10:52", "at most 1"),
        ("share: 0.7", "share: 0.9", "11:3", "more than 1"), ("maxInputTokens: 6000", "maxInputTokens: 9000", "6:13", "no room"),
        ("kind: ServingLimits", "kind: Limits", "2:7", "ServingLimits"), ("spec:", "spec:\n  surprise: 1", "4:3", "no known key"),
        ("maxNumSeqs: 64", "maxNumSeqs: 64\n    maxNumSeqs: 65", "10:5", "twice"), ("cap}", "maybe}", "6:80", "cap, refuse"),
        ("  tenants:\n    - {name: chat, share: 0.7}", "  tenants:\n    - {share: 0.7}", "12:7", "name is missing"),
        ("maxNumSeqs: 64", "maxNumSeqs: 64\n    maxNumActiveSeqs: 70", "10:5", "refuses to start"),
        ("apiVersion: barostat.dev/v1alpha1\n", "", "1:1", "apiVersion"), ("spec:", "spec: [", "", "no YAML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(old: str, new: str, place: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        limits_file.parse(GOOD.replace(old, new, 1), "limits.yaml")
    text = str(caught.value)
    assert says in text
    assert f"limits.yaml:{place}" in text


@pytest.mark.parametrize(
    "text", ["", "[]", "- a", "a: b", "{", "\x00", "&a [*a]", "spec: {engine: []}", "? [a]\n: b"]
)
def test_rubbish_is_refused_as_input(text: str) -> None:
    with pytest.raises(InputError):
        limits_file.parse(text)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.yaml"):
        limits_file.load(tmp_path / "gone.yaml")


def test_comments_survive_an_edit() -> None:
    changed = limits_file.with_value(GOOD, "spec.engine.maxModelLen", 7168)
    assert "maxModelLen: 7168   # one long request must not starve the rest" in changed
    assert "# agreed with the team on Friday" in changed
    added = limits_file.with_value(changed, "spec.engine.watermark", 0.02)
    limits = limits_file.parse(limits_file.with_value(added, "spec.request.maxStreamSeconds", 60))
    assert (
        limits.spec.engine.max_model_len,
        limits.spec.engine.watermark,
        limits.spec.request.max_stream_seconds,
    ) == (7168, 0.02, 60)
    with pytest.raises(InputError, match="edge"):
        limits_file.with_value(GOOD, "spec.edge.kvTokenBudget", 1)


def test_a_difference_reads_like_a_review() -> None:
    new = GOOD.replace("maxModelLen: 8192", "maxModelLen: 16384").replace(
        "maxNumSeqs: 64", "maxNumSeqs: 32"
    )
    found = {
        change.path: change
        for change in differences(limits_file.parse(GOOD), limits_file.parse(new))
    }
    assert found["engine.maxModelLen"].says == "a request may now hold twice the KV"
    assert found["engine.maxModelLen"].looser is True
    assert "half" in found["engine.maxNumSeqs"].says
    assert not differences(limits_file.parse(GOOD), limits_file.parse(GOOD))


def test_schema_and_crd_are_of_the_same_model() -> None:
    schema, crd = limits_schema.json_schema(), limits_schema.crd()
    spec = schema["properties"]["spec"]
    assert spec["additionalProperties"] is False
    assert spec["properties"]["engine"]["properties"]["gpuMemoryUtilization"] == {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 1,
    }
    stored = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert set(stored["properties"]) == set(spec["properties"])
    assert crd["metadata"]["name"] == "servinglimits.barostat.dev"
    # Every field of the dataclasses is in the schema, with its type.
    for section in ("request", "engine", "capacity", "slo", "edge", "remedy"):
        assert spec["properties"][section]["properties"]


def test_the_committed_schema_and_crd_are_current() -> None:
    import subprocess
    import sys

    root = Path(__file__).resolve().parents[4]
    done = subprocess.run(
        [sys.executable, str(root / "dev" / "limits_schema.py"), "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_every_complaint_is_told_at_once_in_the_order_of_the_file() -> None:
    text = (
        GOOD.replace("maxNumSeqs: 64", "maxNumSeq: 64")
        .replace("share: 0.7", 'share: "0.7"')
        .replace("cap}", "maybe, x: 1}")
    )
    with pytest.raises(InputError) as caught:
        limits_file.parse(text, "limits.yaml")
    assert str(caught.value).splitlines() == [
        (
            "limits.yaml:6:80: spec.request.onMissingOutputLimit: is 'maybe'; one of cap, "
            "refuse was expected"
        ),
        "limits.yaml:6:87: spec.request.x: is no known key",
        "limits.yaml:9:5: spec.engine.maxNumSeq: is no known key; did you mean maxNumSeqs?",
        "limits.yaml:12:27: spec.tenants[0].share: is '0.7'; a number was expected",
    ]


def test_a_version_is_read_as_it_is_written() -> None:
    assert (
        limits_file.parse(
            GOOD.replace("  model:", "  engineVersion: 0.10\n  model:")
        ).spec.engine_version
        == "0.10"
    )


def test_the_model_has_every_field_and_every_type_of_the_dataclasses() -> None:
    import dataclasses

    from barostat.core.limits import LimitsSpec
    from barostat.core.naming import camel

    properties = limits_schema.schema_of(LimitsSpec)["properties"]
    assert list(properties) == [camel(field.name) for field in dataclasses.fields(LimitsSpec)]
    for section in (
        field
        for field in dataclasses.fields(LimitsSpec)
        if dataclasses.is_dataclass(field.default_factory)
    ):
        names = [camel(field.name) for field in dataclasses.fields(section.default_factory)]  # type: ignore[arg-type]
        assert list(properties[camel(section.name)]["properties"]) == names
        assert properties[camel(section.name)]["additionalProperties"] is False


def test_writing_limits_does_not_wait_for_the_schema_library() -> None:
    import subprocess
    import sys

    code = (
        "import sys; import barostat.shells.reports.capacity.plan_data; print('pydantic' in "
        "sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "False"
    )


@pytest.mark.parametrize("written", ["1:40", "0777", "9" * 400])
def test_a_number_that_yaml_takes_for_another_is_refused(written: str) -> None:
    text = (
        "apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nmetadata: {name: x}\n"
        f"spec:\n  request: {{maxInputTokens: {written}, maxOutputTokens: 10}}\n"
    )
    with pytest.raises(InputError, match=r"maxInputTokens: is '.*a whole number was expected"):
        limits_file.parse(text)


@pytest.mark.timeout(10)
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path, Path("/dev/zero")):
        with pytest.raises(InputError, match=r"regular file|Is a directory"):
            limits_file.load(path)
