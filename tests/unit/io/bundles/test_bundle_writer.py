"""What is written reads back equal, tells no secret, and is whole or not there."""

from __future__ import annotations

import json
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barostat.core.errors import InputError, OutsideError
from barostat.io.bundles import bundle, bundle_writer
from barostat.io.bundles.bundle_writer import Logs, write
from barostat.judge.evidence.recording import (
    GpuText,
    HostReading,
    ProbeResult,
    Recording,
    ReplicaRecording,
    Scrape,
)

RECORDING = Recording(
    target="http://localhost:8000",
    at=1763713210.25,
    replicas=(
        ReplicaRecording(
            "localhost:8000",
            version="0.10",
            args=("--max-num-seqs", "64"),
            env={"VLLM_USE_V1": "1"},
            config_file={"max-model-len": 4096},
            gpu="H100",
            gpu_memory_gib=79.6,
            node="n1",
            scrapes=(
                Scrape(1763713200.0, "vllm:x 1\n", ""),
                Scrape(1763713205.125, "vllm:x 2\n", ""),
            ),
            failed_scrapes=((1763713210.0, "refused"),),
            gpu_texts=(GpuText(1763713200.0, "nvidia-smi.csv", "name\nH100\n", ""),),
            host=(
                HostReading(
                    1763713201.0,
                    {
                        "cpu_usage_cores": 1.5,
                        "processes": [{"name": "VLLM::EngineCore", "cpu_cores": 1}],
                    },
                    "",
                ),
            ),
            probe=ProbeResult(
                1763713200.0,
                health_ok=True,
                token_ok=False,
                token_detail="no token within 20 s",
                max_model_len=4096,
                version="0.10",
            ),
            exit_code=-9,
        ),
        ReplicaRecording("b"),
    ),
    kubernetes={"events": {"kind": "List", "items": []}},
)


def _bare(recording: Recording) -> Recording:
    def bare(replica: ReplicaRecording) -> ReplicaRecording:
        return replace(
            replica,
            scrapes=tuple(replace(text, source="") for text in replica.scrapes),
            gpu_texts=tuple(replace(text, source="") for text in replica.gpu_texts),
            host=tuple(replace(reading, source="") for reading in replica.host),
        )

    return replace(recording, replicas=tuple(map(bare, recording.replicas)))


@pytest.mark.parametrize("name", ["b", "b.tar.gz", "b.tgz"])
def test_what_is_written_reads_back_equal(tmp_path: Path, name: str) -> None:
    counts = write(RECORDING, tmp_path / name)
    assert _bare(bundle.read(tmp_path / name)) == RECORDING
    assert counts == {
        "bundle.yaml": 1,
        "scrapes": 2,
        "GPU readings": 1,
        "host readings": 1,
        "Kubernetes documents": 1,
    }
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


_INSTANT = st.integers(1_600_000_000_000, 1_900_000_000_000).map(lambda ms: ms / 1000)
_REPLICA = st.builds(
    ReplicaRecording,
    name=st.from_regex(r"[a-z0-9][a-z0-9:_-]{0,20}", fullmatch=True),
    scrapes=st.lists(
        st.builds(Scrape, _INSTANT, st.just("x 1\n"), st.just("")),
        max_size=4,
        unique_by=lambda text: text.at,
    ).map(lambda found: tuple(sorted(found, key=lambda text: text.at))),
    failed_scrapes=st.lists(st.tuples(_INSTANT, st.just("refused")), max_size=3).map(
        lambda found: tuple(sorted(found))
    ),
    exit_code=st.none() | st.integers(-64, 255),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_REPLICA, min_size=1, max_size=3, unique_by=lambda replica: replica.name), _INSTANT)
def test_any_recording_reads_back_equal(
    tmp_path_factory: pytest.TempPathFactory, replicas: list[ReplicaRecording], at: float
) -> None:
    path = tmp_path_factory.mktemp("w") / "b.tar.gz"
    recording = Recording("http://x", at, tuple(replicas))
    write(recording, path)
    assert _bare(bundle.read(path)) == recording


@pytest.mark.parametrize("name", ["b", "b.tar.gz"])
def test_a_bundle_is_for_its_owner_only(tmp_path: Path, name: str) -> None:
    os.umask(os.umask(0))
    write(RECORDING, tmp_path / name)
    entries = [tmp_path / name, *(tmp_path / name).rglob("*")] if name == "b" else [tmp_path / name]
    assert {(entry.is_dir(), stat.S_IMODE(entry.stat().st_mode)) for entry in entries} <= {
        (True, 0o700),
        (False, 0o600),
    }


def test_the_same_recording_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.tgz", "b.tgz"):
        (tmp_path / name[0]).mkdir()
        write(RECORDING, tmp_path / name[0] / "x.tgz")
    assert (tmp_path / "a" / "x.tgz").read_bytes() == (tmp_path / "b" / "x.tgz").read_bytes()


def test_what_is_there_is_replaced_only_when_asked(tmp_path: Path) -> None:
    for name in ("b", "b.tar.gz"):
        write(RECORDING, tmp_path / name)
        with pytest.raises(
            InputError, match=r"is there already and not empty; give another --out, or --force"
        ):
            write(RECORDING, tmp_path / name)
        write(replace(RECORDING, target="second"), tmp_path / name, force=True)
        assert bundle.read(tmp_path / name).target == "second"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["b", "b.tar.gz"]


def test_a_directory_of_something_else_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds something else than a bundle"):
        write(RECORDING, tmp_path / "home", force=True)
    assert (tmp_path / "home" / "thesis.tex").read_text() == "x"


def test_an_empty_directory_may_be_used(tmp_path: Path) -> None:
    for name in ("b", "b.tgz"):
        (tmp_path / name).mkdir()
        write(RECORDING, tmp_path / name)
        assert bundle.read(tmp_path / name).replicas


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no/where/b", "does not exist; make it first"),
        ("b.zip", "a directory or as .tar.gz"),
        ("b.tar", "a directory or as"),
    ],
)
def test_a_name_that_cannot_be_is_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        write(RECORDING, tmp_path / name)


@pytest.mark.parametrize("name", ["b", "b.tar.gz"])
@pytest.mark.parametrize("before", [False, True])
def test_a_failure_leaves_nothing_behind_and_what_was_there_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, before: bool
) -> None:
    if before:
        write(RECORDING, tmp_path / name)

    def full(*_: object) -> Iterator[tuple[str, str, list[bytes]]]:
        yield "bundle.yaml", "bundle.yaml", [b"x"]
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle_writer, "_contents", full)
    with pytest.raises(OutsideError, match=r"could not be written to .*: No space left on device"):
        write(replace(RECORDING, target="second"), tmp_path / name, force=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ([name] if before else [])
    if before:
        assert bundle.read(tmp_path / name).target == RECORDING.target


@pytest.mark.parametrize(
    "names",
    [
        ["a/b", "a_b"],
        ["../x", ".x"],
        ["x.previous", "x"],
        ["x.kernel", "..", "a\0b"],
        ["é" * 150, "é" * 151],
    ],
)
def test_any_name_of_a_replica_becomes_a_file_name_of_its_own(
    tmp_path: Path, names: list[str]
) -> None:
    log = tmp_path / "x.log"
    log.write_text("INFO one\n")
    replicas = tuple(ReplicaRecording(name, scrapes=(Scrape(5.0, "x 1\n", ""),)) for name in names)
    write(Recording("t", 5.0, replicas), tmp_path / "b", Logs(current=dict.fromkeys(names, log)))
    recording = bundle.read(tmp_path / "b")
    assert len(recording.replicas) == len(names)
    assert recording.problems == ()
    assert all(replica.scrapes and replica.log for replica in recording.replicas)


SECRETS = [
    "hf_AbCdEfGhIjKlMnOpQrSt",
    "sk-proj-abcDEF1234567890",
    "Zx81QwErTy77",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.dozjgNry",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("name", ["b", "b.tar.gz"])
def test_a_secret_planted_anywhere_is_nowhere_in_the_bundle(
    tmp_path: Path, secret: str, name: str
) -> None:
    prompt = "aunt Mathilda"
    (tmp_path / "engine.log").write_text(
        f"non-default args: {{'api_key': ['{secret}'], 'model': 'm'}}\n"
        f"INFO 11-20 10:00:00 [l.py:1] Received request cmpl-1: prompt: '{prompt} "
        f"{secret}', params: SamplingParams(n=1)\n"
        f"Authorization: Bearer {secret}\nexport HF_TOKEN={secret}\nhttps://bob:{secret}@host/x\n"
        f"  input_value='{prompt} {secret}', input_type=str]\n"
    )
    (tmp_path / "ingress.log").write_text(
        f'203.0.113.9 - bob [20/Nov/2026:10:00:00 +0000] "GET /v1/x?api_key={secret} '
        f'HTTP/1.1" 200 1 "https://x/?t={secret}" "a"\n'
        f'{{"remote_addr": "203.0.113.9", "path": "/?k={secret}", "authorization": "Bearer '
        f'{secret}", "body": "{prompt}"}}\n'
    )
    pod = {
        "metadata": {
            "name": "p",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": secret},
        },
        "spec": {
            "containers": [
                {
                    "name": "vllm",
                    "args": ["--api-key", secret],
                    "env": [{"name": "ANY", "value": secret}],
                }
            ]
        },
    }
    replica = ReplicaRecording(
        "a",
        args=("vllm", "serve", "m", "--api-key", secret, f"--hf-token={secret}"),
        env={"VLLM_API_KEY": secret, "ANY": secret, "VLLM_CONFIG": f"http://u:{secret}@h"},
        config_file={"api-key": secret, "hf-token": secret},
        scrapes=(Scrape(5.0, f'x{{api_key="{secret}"}} 1\n', ""),),
        failed_scrapes=((5.0, f"Authorization: Bearer {secret}"),),
        gpu_texts=(GpuText(5.0, "nvidia-smi.txt", f"python --api_key={secret}", ""),),
        host=(HostReading(5.0, {"processes": [{"name": f"x token={secret}"}]}, ""),),
    )
    recording = Recording(
        f"http://u:{secret}@host", 5.0, (replica,), kubernetes={"pods": {"items": [pod]}}
    )
    logs = Logs(
        {"a": tmp_path / "engine.log"},
        {"a": tmp_path / "engine.log"},
        {},
        {"ingress": tmp_path / "ingress.log"},
    )
    write(recording, tmp_path / name, logs)
    if name == "b":
        everything = b"".join(
            file.read_bytes() for file in (tmp_path / name).rglob("*") if file.is_file()
        )
    else:
        with tarfile.open(tmp_path / name) as tar:
            everything = b"".join(
                found.read() for member in tar if (found := tar.extractfile(member)) is not None
            )
    for planted in (secret, prompt, "203.0.113.9"):
        assert planted.encode() not in everything
    assert b"--api-key" in everything
    assert b"SamplingParams(n=1)" in everything
    assert bundle.read(tmp_path / name).problems == ()


def test_a_redacted_document_is_still_json(tmp_path: Path) -> None:
    write(RECORDING, tmp_path / "b")
    for file in (tmp_path / "b").rglob("*.json"):
        assert json.loads(file.read_text()) is not None
