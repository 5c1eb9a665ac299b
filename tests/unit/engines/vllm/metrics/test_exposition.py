"""The reader of /metrics text: well-formed as the kept parser reads it, and never an exception for
anything else.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from barostat.core.bounds import ENGINES, Bound
from barostat.engines.vllm.metrics import exposition
from barostat.engines.vllm.metrics.exposition import read

ERAS = sorted((Path(__file__).parents[4] / "data" / "expositions").glob("*.prom"))


def _peer(text: str) -> list[tuple[str, dict[str, str], float]]:
    return [
        (sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]


@pytest.mark.parametrize("path", ERAS, ids=lambda path: path.stem)
def test_every_era_reads_as_the_kept_parser_reads_it(path: Path) -> None:
    text = path.read_text()
    found = read(text)
    assert found.is_vllm
    assert found.problems == ()
    ours = [(sample.name, dict(sample.labels), sample.value) for sample in found.samples]
    kept = ("vllm:", "http_requests", "http_request_duration_highr_seconds_count", "process_")
    theirs = [entry for entry in _peer(text) if entry[0].startswith(kept)]
    assert len(ours) > 50
    assert sorted(map(repr, ours)) == sorted(map(repr, theirs))


_NAMES = st.from_regex(r"vllm:[a-z][a-z0-9_]{0,12}", fullmatch=True)
_LABELS = st.dictionaries(
    st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True), st.text(max_size=8), max_size=4
)
_LABELS_WITH_MODEL = _LABELS.map(lambda labels: {**labels, "model_name": "m"})


def _braced(labels: dict[str, str]) -> str:
    escaped = {
        key: value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
        for key, value in labels.items()
    }
    return "{" + ",".join(f'{key}="{value}"' for key, value in escaped.items()) + "}"


@given(st.lists(st.tuples(_NAMES, _LABELS_WITH_MODEL, st.floats()), min_size=1, max_size=6))
def test_any_label_value_and_number_survives(
    samples: list[tuple[str, dict[str, str], float]],
) -> None:
    text = "".join(f"{name}{_braced(labels)} {value!r}\n" for name, labels, value in samples)
    found = read(text)
    assert not [problem for problem in found.problems if "could not be read" in problem]
    wanted = sorted(repr((name, sorted(labels.items()), value)) for name, labels, value in samples)
    assert (
        sorted(repr((one.name, sorted(one.labels.items()), one.value)) for one in found.samples)
        == wanted
    )


_LINES = st.sampled_from(
    [
        'vllm:num_requests_running{engine="0",model_name="m"} 1.0',
        'vllm:e2e_request_latency_seconds_bucket{le="+Inf"} 2',
        "vllm:broken{",
        'vllm:x{a="b} 3',
        "# TYPE vllm:x gauge",
        "# EOF",
        "{",
        '"',
        "\\",
        " 1e999",
        "NaN",
        "\x00\ufffd",
        "\r",
        "\u2028",
    ]
)


@given(
    st.one_of(
        st.text(),
        st.lists(st.one_of(_LINES, st.text(max_size=10)), max_size=30).map("\n".join),
        st.lists(_LINES, max_size=20).map("".join),
    )
)
def test_no_text_raises(text: str) -> None:
    found = read(text)
    assert found.is_vllm or found.problems
    assert found.is_vllm or not list(found.samples)


@given(st.integers(min_value=0), st.sampled_from(ERAS))
def test_a_scrape_cut_anywhere_never_gives_a_value_that_was_not_there(at: int, path: Path) -> None:
    text = path.read_text()
    whole = {(one.name, frozenset(one.labels.items())): one.value for one in read(text).samples}
    part = read(text[: at % len(text)])
    for one in part.samples:
        assert whole[one.name, frozenset(one.labels.items())] == one.value


@pytest.mark.parametrize(
    ("text", "looks_like", "word"),
    [
        ("", "empty", "empty"),
        (" \n\n", "empty", "empty"),
        ("<!DOCTYPE html><html><body>vllm:num_requests_running 1</body></html>", "html", "HTML"),
        ('{"detail": "Not Found"}', "json", "JSON"),
        ("\x1f\x8b\x08\x00\x00\x00\ufffd\ufffd\x02\x03" * 20, "binary", "binary"),
        (
            '# TYPE go_goroutines gauge\ngo_goroutines 12\nprocess_cpu_seconds_total{job="x"} 3\n',
            "prometheus, but not vLLM",
            "--disable-log-stats",
        ),
        ("Not Found", "text", "Not Found"),
        ("INFO 11-21 vllm api server version 0.32.0\n", "text", "holds no metrics"),
        (
            'vllm:num_requests_running{server="http://a:8000"} 1.0\n',
            "prometheus, but not vLLM",
            "router",
        ),
    ],
)
def test_what_is_no_vllm_is_called_what_it_is(text: str, looks_like: str, word: str) -> None:
    found = read(text)
    assert found.looks_like == looks_like
    assert not found.is_vllm
    assert len(found.problems) == 1
    assert word in found.problems[0]


def test_openmetrics_timestamps_exemplars_and_odd_numbers() -> None:
    text = (
        "# TYPE vllm:a histogram\n"
        'vllm:a_bucket{le="0.5",model_name="x y"} 7 # {trace_id="a b"} 0.3 1700000000.1\n'
        'vllm:a_bucket{le="+Inf"} +Inf 1700000000000\n'
        "vllm:a_count NaN\n"
        'vllm:b{path="C:\\\\x \\"q\\" \\n # {",} -1.5e-3\r\n'
        "  vllm:c 4 \n"
        "# EOF"
    )
    found = read(text)
    assert found.problems == ()
    assert not found.cut
    assert [(dict(one.labels), one.value) for one in found.named("vllm:a_bucket")] == [
        ({"le": "0.5", "model_name": "x y"}, 7.0),
        ({"le": "+Inf"}, math.inf),
    ]
    assert math.isnan(found.named("vllm:a_count")[0].value)
    assert found.named("vllm:b")[0] == ("vllm:b", {"path": 'C:\\x "q" \n # {'}, -0.0015)
    assert found.named("vllm:c")[0].value == 4.0


@pytest.mark.parametrize("prefix", ["vllm_", "ray_vllm_", "vllm:"])
def test_rays_spelling_is_read_as_vllms_own(prefix: str) -> None:
    found = read(f'{prefix}num_requests_running{{model_name="m",engine="0",WorkerId="w"}} 3\n')
    assert found.is_vllm
    assert found.named("vllm:num_requests_running")[0].value == 3.0


def test_a_line_cut_short_is_left_out_and_said() -> None:
    found = read(
        'vllm:generation_tokens_total{engine="0"} 900.0\nvllm:prompt_tokens_total{engine="0"} 12'
    )
    assert found.cut
    assert "half an answer" in found.problems[0]
    assert not found.named("vllm:prompt_tokens_total")
    assert read('vllm:a_count 1\nvllm:b_bucket{le="1.0"} 1\n').cut


def test_unreadable_lines_are_counted_with_the_first_one() -> None:
    found = read("vllm:ok 1\nvllm:bad{engine=0} 1\nvllm:worse one\n%%%\n")
    assert found.is_vllm
    assert found.problems == (
        "3 of the lines could not be read, the first is line 2: 'vllm:bad{engine=0} 1'",
    )


def test_millions_of_hostile_characters_are_read_in_one_pass() -> None:
    # A backtracking regular expression would not come back from these within the age of the test
    # run.
    for line in (
        'vllm:x{a="' + "b" * 500_000,
        "vllm:x{" + 'a="b",' * 100_000 + "!",
        "vllm:x" + " " * 500_000 + "!",
        "vllm:x{" * 100_000,
    ):
        found = read(f"vllm:ok 1\n{line}\n")
        assert found.named("vllm:ok")
        assert len(found.problems) == 1


def test_engines_series_and_labels_are_bounded_and_the_rest_is_said() -> None:
    page = "".join(
        f'vllm:num_requests_running{{engine="{i}"}} 1\n' for i in range(ENGINES.most + 5)
    )
    found = read(page)
    assert len(found.named("vllm:num_requests_running")) == ENGINES.most
    assert found.problems == (
        f"more than {ENGINES.most:,} engines: 5 series of the others were left out",
    )
    long = read(f'vllm:a{{x="{"y" * 5000}"}} 1\nvllm:b 2\n')
    assert [sample.name for sample in long.samples] == ["vllm:b"]
    assert len(long.problems) == 1


def test_a_page_of_too_many_series_is_read_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposition, "SERIES", Bound("a page", 10, "series", ""))
    found = read("".join(f"vllm:a{i} 1\n" for i in range(20)))
    assert len(list(found.samples)) == 10
    assert found.problems == ("more than 10 series: the page was read up to line 10 of 20",)


@pytest.mark.parametrize("path", ERAS, ids=lambda path: path.stem)
def test_a_page_of_every_era_is_plainly_vllms(path: Path) -> None:
    assert exposition.is_plainly_vllm(path.read_text())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>vllm:num_requests_running</html>",
        '# TYPE a gauge\nvllm:num_requests_running{server="a"} 1.0\n',
        '# TYPE a gauge\nvllm:num_requests_running{server="model_name=\\"m\\""} 1.0\n',
        '# TYPE a gauge\nvllm:num_requests_running{model_name="m"} 1.',
        '{"vllm:num_requests_running": 1}',
    ],
)
def test_what_is_called_plainly_vllms_is_read_as_vllms(text: str) -> None:
    assert not exposition.is_plainly_vllm(text) or read(text).is_vllm
