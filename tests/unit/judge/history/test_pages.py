"""What a server said is what comes out again: a page goes into series as Prometheus keeps them, and
back.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from barostat.core.signal import Point
from barostat.engines.vllm.metrics.exposition import read
from barostat.io.bundles import bundle
from barostat.judge.diagnosis.diagnose import diagnose
from barostat.judge.evidence.recording import Recording, ReplicaRecording, Scrape
from barostat.judge.history.pages import pages, pairs, text_of
from barostat.judge.history.series import Series

BUNDLES = Path(__file__).resolve().parents[3] / "data" / "bundles"
TARGET = {"job": "vllm", "instance": "10.0.0.7:8000", "pod": "vllm-0"}


def as_kept(scrapes: tuple[Scrape, ...]) -> list[Series]:
    """The scrapes as a Prometheus keeps them: one series for each name and labels, the target's
    labels on each.
    """
    points: dict[tuple[tuple[str, str], ...], list[Point]] = {}
    for scrape in scrapes:
        for sample in scrape.exposition.samples:
            key = tuple(sorted({**sample.labels, **TARGET, "__name__": sample.name}.items()))
            points.setdefault(key, []).append(Point(scrape.at, sample.value))
    return [Series(dict(key), tuple(found)) for key, found in points.items()]


@pytest.mark.parametrize(
    "name",
    [
        "kv-preemption-thrash",
        "kv-admission-queueing",
        "slot-bound",
        "healthy-busy",
        "prefill-bound",
    ],
)
def test_a_recording_that_went_through_a_memory_is_diagnosed_the_same(name: str) -> None:
    whole = bundle.read(BUNDLES / name)
    replica = whole.replicas[0]
    bare = Recording("t", whole.at, (ReplicaRecording("vllm-0", scrapes=replica.scrapes),))
    again, problems = pages(as_kept(replica.scrapes), TARGET, "memory")
    assert not problems
    remembered = Recording("t", whole.at, (ReplicaRecording("vllm-0", scrapes=tuple(again)),))
    then, now = diagnose(bare), diagnose(remembered)
    assert now.fleet == then.fleet
    assert [(one.name, type(one.verdict)) for one in now.replicas[0].symptoms] == [
        (one.name, type(one.verdict)) for one in then.replicas[0].symptoms
    ]


def test_each_sample_of_a_page_is_there_again() -> None:
    scrapes = bundle.read(BUNDLES / "healthy-busy").replicas[0].scrapes
    again, _ = pages(as_kept(scrapes), TARGET, "memory")
    for before, after in zip(scrapes, again, strict=True):
        assert after.at == pytest.approx(before.at, abs=0.001)
        assert sorted(map(repr, after.exposition.samples)) == sorted(
            map(repr, before.exposition.samples)
        )
        assert not after.exposition.cut


def test_half_a_scrape_is_left_out_and_said() -> None:
    kept = [
        Series({"__name__": f"vllm:g{place}"}, (Point(1.0, 0.0), Point(2.0, 0.0)))
        for place in range(9)
    ]
    kept.append(
        Series({"__name__": "vllm:g9"}, (Point(1.0, 0.0), Point(2.0, 0.0), Point(3.0, 0.0)))
    )
    found, problems = pages(kept, (), "memory")
    assert [scrape.at for scrape in found] == [1.0, 2.0]
    assert "1 of 3 scrapes" in problems[0]


def test_samples_that_a_store_rounded_are_one_scrape() -> None:
    found, _ = pages(
        [
            Series({"__name__": "vllm:a"}, (Point(1.0, 0.0),)),
            Series({"__name__": "vllm:b"}, (Point(1.004, 0.0),)),
        ],
        (),
        "memory",
    )
    assert [sorted(scrape.exposition.by_name) for scrape in found] == [["vllm:a", "vllm:b"]]


def test_labels_are_written_so_that_they_are_read_again() -> None:
    odd = 'a"b\\c\nd'
    found, _ = pages(
        [
            Series(
                {"__name__": "vllm:a", "model_name": odd, "exported_job": "x"},
                (Point(1.0, math.nan),),
            )
        ],
        (),
        "memory",
    )
    sample = next(iter(read(found[0].text).samples))
    assert sample.labels == {"model_name": odd, "job": "x"}
    assert math.isnan(sample.value)
    assert pairs({"b": odd, "a": "1"}) == 'a="1",b="a\\"b\\\\c\\nd"'


def test_only_the_last_word_that_is_young_enough() -> None:
    kept = [
        Series({"__name__": "DCGM_A", "gpu": "0"}, (Point(1.0, 1.0), Point(9.0, 2.0))),
        Series({"__name__": "DCGM_B"}, (Point(1.0, 3.0),)),
    ]
    assert text_of(kept, 10.0, 5.0) == 'DCGM_A{gpu="0"} 2.0\n'
