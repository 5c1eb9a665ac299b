"""bundle.yaml."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barostat.core.errors import InputError
from barostat.io.bundles.manifest import Manifest, ReplicaEntry, parse, render
from barostat.judge.evidence.recording import ProbeResult

HEAD = "apiVersion: barostat.dev/v1alpha1\nkind: Bundle\n"


def test_everything_that_can_be_written_is_read() -> None:
    text = HEAD + (
        "engine: vllm\nreplicas:\n- name: vllm-0\n  version: 0.10\n  args: "
        "[--max-num-seqs, 64, --enforce-eager]\n"
        "  env: {VLLM_USE_V1: 1, A: yes}\n  gpu: H100\n  gpuMemoryGiB: 79.6\n  node: n1\n  "
        "configFile: {max-num-seqs: 128}\n"
        "- name: vllm-1\n  args: vllm serve m --port 8000\n- vllm-2\n"
    )
    first, second, third = parse(text, "bundle.yaml").replicas
    assert (first.version, first.args) == ("0.10", ("--max-num-seqs", "64", "--enforce-eager"))
    assert (first.env, first.gpu, first.gpu_memory_gib, first.node) == (
        {"VLLM_USE_V1": "1", "A": "yes"},
        "H100",
        79.6,
        "n1",
    )
    assert first.config_file == {"max-num-seqs": 128}
    assert second.args == "vllm serve m --port 8000"
    assert third == ReplicaEntry("vllm-2")


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "bundle.yaml", "empty"),
        ("a: [1\nb: 2\n", "bundle.yaml:2:", "no YAML"),
        ("- a\n", "bundle.yaml:1:1", "mapping"),
        ("kind: Bundle\n", "bundle.yaml:1:1", "`apiVersion: barostat.dev/v1alpha1` is missing"),
        (
            "apiVersion: barostat.dev/v2\nkind: Bundle\n",
            "bundle.yaml:1:13",
            "apiVersion is 'barostat.dev/v2'",
        ),
        ("apiVersion: barostat.dev/v1alpha1\nkind: Pod\n", "bundle.yaml:2:7", "kind is 'Pod'"),
        (HEAD + "replica: []\n", "bundle.yaml:3:1", "unknown key 'replica' in the bundle"),
        (
            HEAD + "replicas:\n- name: a\n  flags: []\n",
            "bundle.yaml:5:3",
            "unknown key 'flags' in a replica",
        ),
        (HEAD + "replicas:\n- version: 0.9\n", "bundle.yaml:4:3", "without a name"),
        (HEAD + "replicas: 5\n", "bundle.yaml:3:11", "should be a list"),
        (
            HEAD + "replicas:\n- name: a\n- name: a\n",
            "bundle.yaml:4:1",
            "two replicas are named 'a'",
        ),
        (
            HEAD + "replicas:\n- name: a\n  gpuMemoryGiB: many\n",
            "bundle.yaml:5:17",
            "'many' is no number",
        ),
        (HEAD + "replicas:\n- name: a\n  args: {a: b}\n", "bundle.yaml:5:9", "should be a list"),
        (HEAD + "kind: Bundle\n", "bundle.yaml:3:1", "'kind' is there twice"),
        (HEAD + "at: !!python/object:os.system {}\n", "bundle.yaml:3:5", "single value"),
        ("[" * 600, "bundle.yaml", "no YAML"),
        (HEAD + "engine: \x00\n", "bundle.yaml", "no YAML"),
    ],
)
def test_what_is_wrong_is_said_with_line_and_column(text: str, place: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, "bundle.yaml")
    assert str(caught.value).startswith(place)
    assert said in str(caught.value)


_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20
)
_NUMBER = st.floats(0, 2e9, allow_nan=False)
_PROBE = st.builds(
    ProbeResult,
    at=_NUMBER,
    health_ok=st.none() | st.booleans(),
    token_ok=st.none() | st.booleans(),
    token_detail=_TEXT | st.just(""),
    max_model_len=st.none() | st.integers(1, 1 << 20),
    version=st.none() | _TEXT,
)
_ENTRY = st.builds(
    ReplicaEntry,
    name=_TEXT,
    version=st.none() | _TEXT,
    args=st.none() | _TEXT | st.lists(_TEXT, min_size=1, max_size=4).map(tuple),
    env=st.dictionaries(_TEXT, _TEXT, max_size=3),
    gpu=st.none() | _TEXT,
    gpu_memory_gib=st.none() | _NUMBER,
    node=st.none() | _TEXT,
    exit_code=st.none() | st.integers(-64, 255),
    failed_scrapes=st.lists(st.tuples(_NUMBER, _TEXT), max_size=3).map(tuple),
    probe=st.none() | _PROBE,
)


@given(
    st.lists(_ENTRY, max_size=3, unique_by=lambda entry: entry.name),
    st.none() | _TEXT,
    st.none() | _NUMBER,
)
def test_what_is_written_reads_back_equal(
    replicas: list[ReplicaEntry], target: str | None, at: float | None
) -> None:
    manifest = Manifest("vllm", tuple(replicas), target, at)
    assert parse(render(manifest), "bundle.yaml") == manifest


@given(st.text(max_size=200))
def test_no_text_raises_anything_but_a_clear_error(text: str) -> None:
    with suppress(InputError):
        assert parse(HEAD + text, "bundle.yaml").engine


@pytest.mark.parametrize(
    "written",
    ["!!set {a, b}", "{a: !!float }", "{a: !!int x}", "{a: !!timestamp 2026-99-99}", "{? [1] : 2}"],
)
def test_a_mapping_of_what_is_none_is_refused_with_its_place(written: str) -> None:
    with pytest.raises(InputError, match=r"bundle\.yaml:\d+"):
        parse(
            "apiVersion: barostat.dev/v1alpha1\nkind: Bundle\nreplicas:\n- name: a\n  "
            f"configFile: {written}\n",
            "bundle.yaml",
        )


def test_an_instant_beyond_the_year_9999_is_refused() -> None:
    text = "apiVersion: barostat.dev/v1alpha1\nkind: Bundle\nat: 253402300800\n"
    with pytest.raises(InputError, match="not between the years 1970 and 9999"):
        parse(text, "bundle.yaml")
