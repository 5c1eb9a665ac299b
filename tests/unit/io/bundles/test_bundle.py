"""Bundles as they come: whole, broken, hostile, or one loose file."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import tarfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barostat.core.bounds import Bound
from barostat.core.errors import InputError
from barostat.engines.vllm.logs.digest import LogDigest
from barostat.io.bundles import bundle
from barostat.judge.evidence.recording import Recording, ReplicaRecording

SCRAPE = (
    "# TYPE vllm:num_requests_running "
    'gauge\nvllm:num_requests_running{engine="0",model_name="m"} 3.0\n'
)
POD = {
    "metadata": {"name": "vllm-0", "creationTimestamp": "2026-01-02T03:04:05Z"},
    "spec": {
        "nodeName": "n1",
        "containers": [
            {"name": "vllm", "image": "vllm/vllm-openai:v0.32.0", "args": ["--max-num-seqs=64"]}
        ],
    },
}
WHOLE = {
    "bundle.yaml": "apiVersion: barostat.dev/v1alpha1\nkind: Bundle\nreplicas:\n- name: a\n  node: n1\n",
    "metrics/a/1763713205.prom": SCRAPE,
    "metrics/a/1763713200.prom": SCRAPE,
    "metrics/b/1763713200.5.prom": SCRAPE,
    "logs/a.log": "INFO one\nINFO two\n",
    "logs/a.previous.log": "INFO before\n",
    "logs/n1.kernel.log": "NVRM: nothing\n",
    "gpu/a/1763713201.nvidia-smi.csv": "name\nH100\n",
    "host/a/1763713202.json": '{"cpu_usage_cores": 1.5}',
    "kubernetes/events.json": '{"items": []}',
    "gateway/one.log": "x\ny\n",
    "gateway/two.log": "z\n",
}


def _folder(path: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _packed(path: Path, files: dict[str, str], top: str = "") -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            header = tarfile.TarInfo(top + name)
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content.encode()))
    return path


def _without_sources(recording: Recording) -> Recording:
    def bare(replica: ReplicaRecording) -> ReplicaRecording:
        def named(log: LogDigest | None) -> LogDigest | None:
            return replace(log, source="") if log else None

        return replace(
            replica,
            scrapes=tuple(replace(text, source="") for text in replica.scrapes),
            gpu_texts=tuple(replace(text, source="") for text in replica.gpu_texts),
            host=tuple(replace(reading, source="") for reading in replica.host),
            log=named(replica.log),
            previous_log=named(replica.previous_log),
            kernel_log=replace(replica.kernel_log, source="") if replica.kernel_log else None,
        )

    gateway = replace(recording.gateway, source="") if recording.gateway else None
    return replace(
        recording, target="", replicas=tuple(map(bare, recording.replicas)), gateway=gateway
    )


def test_everything_in_a_bundle_is_read(tmp_path: Path) -> None:
    recording = bundle.read(_folder(tmp_path / "b", dict(WHOLE)))
    a, b = recording.replicas
    assert recording.problems == ()
    assert (recording.at, a.name, b.name, a.node) == (1763713205.0, "a", "b", "n1")
    assert [scrape.at for scrape in a.scrapes] == [1763713200.0, 1763713205.0]
    assert [scrape.at for scrape in b.scrapes] == [1763713200.5]
    assert a.log is not None
    assert a.previous_log is not None
    assert a.kernel_log is not None
    assert (a.log.lines, a.previous_log.lines, a.kernel_log.lines) == (2, 1, 1)
    assert b.kernel_log is None
    assert [(text.kind, text.at) for text in a.gpu_texts] == [("nvidia-smi.csv", 1763713201.0)]
    assert a.host[0].values == {"cpu_usage_cores": 1.5}
    assert recording.kubernetes == {"events": {"items": []}}
    assert recording.gateway is not None
    assert recording.gateway.lines == 3


@pytest.mark.parametrize("top", ["", "./", "incident/", "some/where/incident/"])
def test_an_archive_reads_as_the_directory_it_was_made_of(tmp_path: Path, top: str) -> None:
    folder = bundle.read(_folder(tmp_path / "b", dict(WHOLE)))
    packed = bundle.read(_packed(tmp_path / "b.tar.gz", WHOLE, top))
    assert _without_sources(packed) == _without_sources(folder)


def test_a_directory_around_the_bundle_is_looked_through(tmp_path: Path) -> None:
    _folder(tmp_path / "out" / "b", dict(WHOLE))
    assert [replica.name for replica in bundle.read(tmp_path / "out").replicas] == ["a", "b"]
    _folder(tmp_path / "out" / "c", dict(WHOLE))
    with pytest.raises(InputError, match=r"several bundles \(b, c\)"):
        bundle.read(tmp_path / "out")


@pytest.mark.parametrize("name", list(WHOLE))
def test_any_single_file_is_a_bundle(tmp_path: Path, name: str) -> None:
    recording = bundle.read(_folder(tmp_path / "b", {name: WHOLE[name]}))
    assert recording.problems == ()
    assert recording.target == str(tmp_path / "b")


def test_pods_alone_are_the_replicas_with_their_command_line_and_node(tmp_path: Path) -> None:
    recording = bundle.read(
        _folder(tmp_path / "b", {"kubernetes/pods.json": json.dumps({"items": [POD]})})
    )
    assert [(replica.name, replica.args, replica.node) for replica in recording.replicas] == [
        ("vllm-0", ("--max-num-seqs=64",), "n1")
    ]
    assert recording.at == 1767323045.0


def test_bundle_yaml_knows_better_than_the_pod(tmp_path: Path) -> None:
    text = (
        "apiVersion: barostat.dev/v1alpha1\nkind: Bundle\nreplicas:\n- name: vllm-0\n  args: "
        "[--max-num-seqs, 8]\n"
    )
    files: dict[str, str | bytes] = {
        "bundle.yaml": text,
        "kubernetes/pods.json": json.dumps({"items": [POD]}),
    }
    (replica,) = bundle.read(_folder(tmp_path / "b", files)).replicas
    assert (replica.args, replica.node) == (("--max-num-seqs", "8"), "n1")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"metrics/a/latest.prom": SCRAPE},
            "metrics/a/latest.prom was left out: its name is no unix time",
        ),
        ({"metrics/a/1763713200.prom": ""}, "metrics/a/1763713200.prom is empty"),
        ({"metrics/a/1763713200.prom": b"\x1f\x8b\x08\0\0"}, "is binary"),
        ({"metrics/a": "text"}, "metrics/a is a file, but should be a directory"),
        ({"metrics": "text"}, "metrics is a file, but should be a directory"),
        ({"logs/a.log/x": "text"}, "logs/a.log is a directory, but should be a file"),
        ({"logs/a.log": b"\0\1\2\3" * 500}, "logs/a.log was left out: it is binary"),
        ({"logs/a.log": gzip.compress(b"INFO one\n" * 50)}, "compressed with gzip"),
        ({"logs/n7.kernel.log": "x\n", "logs/n8.kernel.log": "x\n"}, "no replica runs on 'n7'"),
        (
            {"host/a/1763713200.json": '{"cpu'},
            "no JSON (Unterminated string starting at, line 1 column 2)",
        ),
        ({"host/a/1763713200.json": "[1]"}, "should be a JSON object"),
        ({"kubernetes/pods.json": "NotFound"}, "kubernetes/pods.json was left out: it is no JSON"),
        ({"kubernetes/pods.json": "3"}, "as `kubectl get -o json` prints it"),
        (
            {"kubernetes/pods.json": "[" * 100_000},
            "kubernetes/pods.json was left out: it is no JSON",
        ),
        (
            {"kubernetes/pods.json": b"\xff\xff{}"},
            "kubernetes/pods.json was left out: it is no JSON",
        ),
        ({"kubernetes/pods.json": "9" * 5000}, "kubernetes/pods.json was left out: it is no JSON"),
        ({"kubernetes/secrets.json": "{}"}, "kubernetes/secrets.json was left out: only pods.json"),
        ({"gpu/a/1763713200.txt": "x"}, "its name should end in .nvidia-smi.csv"),
    ],
)
def test_a_file_that_is_wrong_is_left_out_with_a_sentence_and_the_rest_is_read(
    tmp_path: Path, files: dict[str, str | bytes], said: str
) -> None:
    recording = bundle.read(_folder(tmp_path / "b", {**files, "host/good/1763713100.json": "{}"}))
    assert said in recording.problems[0]
    assert "good" in [replica.name for replica in recording.replicas]


def test_an_empty_scrape_counts_as_one_that_failed(tmp_path: Path) -> None:
    (replica,) = bundle.read(_folder(tmp_path / "b", {"metrics/a/1763713200.prom": " \n"})).replicas
    assert replica.failed_scrapes == ((1763713200.0, "the recorded scrape is empty"),)


def test_a_pipe_in_a_bundle_does_not_block(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "b", dict(WHOLE))
    os.mkfifo(folder / "logs" / "b.log")
    assert bundle.read(folder).problems == (
        "logs/b.log is neither a file nor a directory; left out",
    )


def test_a_link_that_leaves_the_directory_is_not_followed(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "b", dict(WHOLE))
    (tmp_path / "secret").write_text("x\n")
    (folder / "logs" / "b.log").symlink_to(tmp_path / "secret")
    (folder / "logs" / "c.log").symlink_to("a.log")
    recording = bundle.read(folder)
    assert recording.problems == (
        "logs/b.log is a link that leaves the bundle; put the file itself there",
    )
    assert [replica.name for replica in recording.replicas] == ["a", "b", "c"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_left_out(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "b", dict(WHOLE))
    (folder / "logs" / "a.log").chmod(0)
    assert bundle.read(folder).problems == (
        "logs/a.log cannot be read (Permission denied); left out",
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("gone", None, "there is no such file or directory; give a bundle"),
        ("empty", {}, "not a bundle: none of its files lies where a bundle keeps one"),
        ("notes", {"README.md": "x", "src/a.py": "y"}, "not a bundle"),
        ("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(200), "not a bundle"),
        ("x.json", b"{}", "not a bundle"),
        ("b.tgz", b"", "not a bundle: b.tgz is truncated or damaged"),
        (
            "b.tar.gz",
            b"not a tar at all\n" * 100,
            "not a bundle: b.tar.gz is truncated or damaged: what should be a tar header is none",
        ),
        (
            "wrong",
            {"bundle.yaml": "kind: Pod\n"},
            "bundle.yaml:1:1: `apiVersion: barostat.dev/v1alpha1` is missing",
        ),
    ],
)
def test_what_is_no_bundle_is_one_clear_sentence(
    tmp_path: Path, name: str, content: dict[str, str | bytes] | bytes | None, said: str
) -> None:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.mkdir()
        _folder(path, content)
    with pytest.raises(InputError) as caught:
        bundle.read(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_truncated_archive_gives_what_is_left_and_says_so(tmp_path: Path) -> None:
    whole = _packed(
        tmp_path / "whole.tgz",
        {
            name: content + os.urandom(400).hex()
            for name, content in WHOLE.items()
            if name != "bundle.yaml"
        },
    )
    cut = tmp_path / "cut.tgz"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    recording = bundle.read(cut)
    assert [scrape.at for scrape in recording.replicas[0].scrapes] == [1763713200.0, 1763713205.0]
    assert any(
        "cut.tgz is truncated or damaged: the compressed data ends too early" in problem
        for problem in recording.problems
    )


def test_a_log_that_is_cut_in_the_archive_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = _packed(
        tmp_path / "whole.tgz",
        {"logs/a.log": "".join(f"INFO line {number}\n" for number in range(5000))},
    )
    with gzip.open(whole) as unpacked:
        (tmp_path / "cut.tar").write_bytes(unpacked.read(40_000))
    (replica,) = bundle.read(tmp_path / "cut.tar").replicas
    assert replica.log is not None
    assert 2000 < replica.log.lines < 5000


def test_a_tar_with_two_bundles_reads_the_first(tmp_path: Path) -> None:
    both = {f"one/{name}": content for name, content in WHOLE.items()} | {"two/logs/z.log": "x\n"}
    recording = bundle.read(_packed(tmp_path / "b.tgz", both))
    assert [replica.name for replica in recording.replicas] == ["a", "b"]
    assert recording.problems == (
        "two/logs/z.log was left out: it belongs to a second bundle in the same archive",
    )


def test_an_archive_that_tar_made_is_read(tmp_path: Path) -> None:
    _folder(tmp_path / "b", dict(WHOLE))
    subprocess.run(["tar", "czf", "b.tgz", "b"], cwd=tmp_path, check=True)
    assert bundle.read(tmp_path / "b.tgz").problems == ()


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("x.prom", SCRAPE, "scrapes"),
        ("1763713200.prom", SCRAPE, "scrapes"),
        ("metrics.txt", SCRAPE, "scrapes"),
        ("vllm.log", "INFO one\n", "log"),
        ("vllm.out", "INFO one\n", "log"),
        ("nohup", "INFO one\n", "log"),
        ("vllm.previous.log", "INFO one\n", "previous_log"),
        ("dmesg.kernel.log", "NVRM\n", "kernel_log"),
        ("nvidia-smi.csv", "name\nH100\n", "gpu_texts"),
    ],
)
def test_one_loose_file_is_taken_for_what_it_is(
    tmp_path: Path, name: str, content: str, part: str
) -> None:
    (tmp_path / name).write_text(content)
    (replica,) = bundle.read(tmp_path / name).replicas
    assert getattr(replica, part)


def test_a_loose_scrape_is_dated_by_its_name_or_by_its_file(tmp_path: Path) -> None:
    for name in ("1763713200.prom", "x.prom"):
        (tmp_path / name).write_text(SCRAPE)
        os.utime(tmp_path / name, (1763000000, 1763000000))
    assert bundle.read(tmp_path / "1763713200.prom").at == 1763713200.0
    assert bundle.read(tmp_path / "x.prom").at == 1763000000.0


def test_loose_pods_are_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "pods.json").write_text(json.dumps({"items": [POD]}))
    assert [replica.name for replica in bundle.read(tmp_path / "pods.json").replicas] == ["vllm-0"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(sorted({*WHOLE, "kubernetes/pods.json"} - {"bundle.yaml"})),
        st.binary(max_size=300),
        min_size=1,
        max_size=4,
    )
)
def test_no_content_raises_anything_but_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    folder = tmp_path_factory.mktemp("b")
    with suppress(InputError):
        assert bundle.read(_folder(folder, dict(files))).engine == "vllm"


def test_replicas_and_scrapes_beyond_the_bounds_are_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "REPLICAS", Bound("a bundle", 3, "replicas", ""))
    monkeypatch.setattr(bundle, "SCRAPES", Bound("a replica", 2, "scrapes", ""))
    for replica in range(5):
        for at in range(4):
            place = tmp_path / "metrics" / f"r{replica}" / f"{1000 + at}.prom"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("vllm:num_requests_running 1\n")
    found = bundle.read(tmp_path)
    assert [len(one.scrapes) for one in found.replicas] == [2, 2, 2]
    assert sorted(found.problems) == [
        "more than 2 scrapes of r0: the others were left out",
        "more than 2 scrapes of r1: the others were left out",
        "more than 2 scrapes of r2: the others were left out",
        "more than 3 replicas: the others were left out, 8 files or entries of theirs",
    ]


def test_readings_and_objects_beyond_the_bounds_are_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "SCRAPES", Bound("a replica", 2, "scrapes", ""))
    monkeypatch.setattr(bundle, "BUNDLE_OBJECTS", Bound("a list", 3, "objects", ""))
    (tmp_path / "host" / "a").mkdir(parents=True)
    (tmp_path / "kubernetes").mkdir()
    for at in range(4):
        (tmp_path / "host" / "a" / f"{1000 + at}.json").write_text("{}")
    (tmp_path / "kubernetes" / "events.json").write_text('{"items": [{}, {}, {}, {}, {}]}')
    found = bundle.read(tmp_path)
    assert [len(one.host) for one in found.replicas] == [2]
    assert len(found.kubernetes["events"]["items"]) == 3
    assert sorted(found.problems) == [
        "kubernetes/events.json has more than 3 objects: 2 were left out",
        "more than 2 readings of a: the others were left out",
    ]
