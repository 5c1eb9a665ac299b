"""What a hand types after `diagnose`: the file itself, without saying what kind it is."""

from __future__ import annotations

import io
import json
import os
import tarfile
import threading
from pathlib import Path

import pytest
import yaml

from barostat.shells.cli.main import main

ROOT = Path(__file__).parents[5]
BUNDLE = ROOT / "tests" / "data" / "bundles" / "kv-preemption-thrash"
STARTED = "INFO 11-21 08:00:00 [core.py:1] Initializing a V1 LLM engine (v0.32.0) with config\n"
REFUSED = STARTED + "vllm: error: unrecognized arguments: --swap-space 4\n"


@pytest.fixture(autouse=True)
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("incident.tar.gz", "odd-name"):
        with tarfile.open(tmp_path / name, "w:gz") as packed:
            packed.add(BUNDLE, "incident")
    (tmp_path / "folder").symlink_to(BUNDLE)
    for name in ("vllm.log", "output"):
        (tmp_path / name).write_text(REFUSED)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("word", "cause"),
    [
        ("incident.tar.gz", "kv-preemption-thrash"),
        ("./incident.tar.gz", "kv-preemption-thrash"),
        ("odd-name", "kv-preemption-thrash"),
        ("folder", "kv-preemption-thrash"),
        ("./folder/", "kv-preemption-thrash"),
        ("vllm.log", "bad-config"),
        ("./output", "bad-config"),
    ],
)
@pytest.mark.parametrize("configured", [False, True])
def test_it_is_read_as_what_it_is(
    word: str,
    cause: str,
    configured: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if configured and word.endswith((".gz", ".log")):
        monkeypatch.setenv("BAROSTAT_NAMESPACE", "inference")
    assert main(["diagnose", word, "--no-trials", "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["fleet"]["diagnosis"]["cause"] == cause


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "vllm-0", "namespace": "inference"},
    "spec": {
        "containers": [
            {
                "name": "vllm",
                "image": "vllm/vllm-openai:v0.11.0",
                "resources": {"limits": {"memory": "32Gi"}},
            }
        ]
    },
    "status": {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "vllm",
                "restartCount": 7,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {
                    "terminated": {
                        "reason": "OOMKilled",
                        "exitCode": 137,
                        "finishedAt": "2026-11-20T08:13:00Z",
                    }
                },
            }
        ],
    },
}
DESCRIBED = """\
Name:             vllm-0
Namespace:        inference
Node:             gpu-3/10.0.3.14
Status:           Running
Containers:
  vllm:
    Image:          vllm/vllm-openai:v0.11.0
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Restart Count:  7
    Limits:
      memory:       32Gi
"""
SMI = """\
| NVIDIA-SMI 560.35.03              Driver Version: 560.35.03      CUDA Version: 12.6     |
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    3 |
| N/A   88C    P0            612W /  700W |   74112MiB /  81559MiB |     34%      Default |
"""
QUERY = (
    "name, memory.used [MiB], clocks_event_reasons.active, temperature.gpu\nNVIDIA H100, 74112 "
    "MiB, 0x0000000000000040, 91\n"
)
PRINTED = [
    ("ticket.json", json.dumps(POD), "host-oom"),
    ("ticket.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD]}), "host-oom"),
    (
        "ticket.json",
        json.dumps(
            {"apiVersion": "v1", "items": [{"metadata": {}} | POD], "kind": "PodList"}, indent=2
        ),
        "host-oom",
    ),
    ("ticket.yaml", yaml.safe_dump(POD), "host-oom"),
    (
        "ticket.yaml",
        yaml.safe_dump({"apiVersion": "v1", "items": [POD], "kind": "List"}),
        "host-oom",
    ),
    ("ticket.txt", DESCRIBED, "host-oom"),
    ("ticket.txt", SMI, "node-fault"),
    ("ticket.log", QUERY, "node-fault"),
]


@pytest.mark.parametrize(("name", "text", "cause"), PRINTED)
@pytest.mark.parametrize("by", ["name", "--log", "-"])
def test_what_kubectl_and_nvidia_smi_print_is_read_as_that_and_not_as_a_log(
    name: str,
    text: str,
    cause: str,
    by: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path(name).write_text(text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    words = {"name": [name], "--log": ["--log", name], "-": ["-"]}[by]
    assert main(["diagnose", *words, "--no-trials", "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["fleet"]["diagnosis"]["cause"] == cause


SERVED = """\
INFO 11-26 10:00:05 [__init__.py:244] Automatically detected platform cuda.
(EngineCore_DP0 pid=271) ERROR 11-26 10:00:50 [core.py:586] ValueError: No available memory for the cache blocks. Try increasing \
`gpu_memory_utilization` when initializing the engine.
"""


ERROR = SERVED.split("[core.py:586] ")[1]
TABLE = "NAME     READY   STATUS    RESTARTS   AGE\n"
TICKETS = [
    *[
        above + SERVED
        for above in (
            SMI,
            QUERY,
            TABLE,
            DESCRIBED,
            DESCRIBED + "Events:  <none>\n\n",
            yaml.safe_dump(POD),
        )
    ],
    *[SERVED + below for below in (DESCRIBED, yaml.safe_dump(POD))],
    *[above + ERROR for above in (SMI, QUERY, TABLE)],
    SMI
    + SERVED.replace("INFO 11-26", "\x1b[32mINFO\x1b[0m 11-26").replace(
        "ERROR 11-26", "\x1b[31mERROR\x1b[0m 11-26"
    ),
    SMI + SERVED.replace(" 11-26 10", " 2026-11-26 10"),
]


@pytest.mark.parametrize("text", TICKETS)
@pytest.mark.parametrize("by", ["name", "--log", "-"])
def test_a_ticket_with_an_engines_log_beside_the_rest_is_read_as_the_log(
    text: str, by: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ticket.log").write_text(text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert (
        main(
            [
                "diagnose",
                *{"name": ["ticket.log"], "--log": ["--log", "ticket.log"], "-": ["-"]}[by],
                "--no-trials",
                "-o",
                "json",
            ]
        )
        == 1
    )
    assert json.loads(capsys.readouterr().out)["fleet"]["diagnosis"]["cause"] == "kv-pool-too-small"


def test_the_log_that_a_container_left_as_its_message_does_not_make_its_pod_a_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    last_words = (
        "ERROR 11-26 10:00:50 [core.py:586] it was shot\nTraceback (most recent call last):\n  "
        "in run:\n    raise Error(a: b)\nError: so"
    )
    Path("ticket.txt").write_text(
        DESCRIBED.replace("Exit Code:", f"Message:  {last_words}\n      Exit Code:")
        + "Events:  <none>\n"
    )
    assert main(["diagnose", "ticket.txt", "--no-trials", "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["fleet"]["diagnosis"]["cause"] == "host-oom"


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        (
            "NAME     READY   STATUS    RESTARTS   AGE\nvllm-0   1/1     Running   0          3d\n",
            "kubectl get pods -n NS -o json > pods.json",
        ),
        (
            "NAMESPACE   NAME   READY   STATUS   RESTARTS   AGE\n",
            "kubectl get pods -n NS -o json > pods.json",
        ),
        (
            (
                "LAST SEEN   TYPE      REASON      OBJECT       MESSAGE\n9m          Warning   "
                "Unhealthy   pod/vllm-0   no\n"
            ),
            "kubectl get events",
        ),
        (
            "NAME    STATUS   ROLES    AGE   VERSION\ngpu-3   Ready    <none>   3d    v1.34.1\n",
            "kubectl get nodes",
        ),
    ],
)
@pytest.mark.parametrize("words", [["seen.txt"], ["--log", "seen.txt"]])
def test_a_table_of_kubectl_get_is_refused_with_the_command_for_more(
    words: list[str], text: str, instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("seen.txt").write_text(text)
    assert main(["diagnose", *words]) == 2
    said = capsys.readouterr().err
    assert instead in said
    assert said.count("\n") == 1


INIT = f"""{DESCRIBED.replace("Containers:", "Init Containers:").replace("  vllm:", "  fetch:").rstrip()}
Containers:
  vllm:
    Image:          vllm/vllm-openai:v0.11.0
    State:          Waiting
      Reason:       PodInitializing
    Restart Count:  0
"""
FINE = yaml.safe_dump(POD | {"metadata": {"name": "other"}, "status": {"phase": "Running"}})


@pytest.mark.parametrize(
    "text",
    [
        INIT,
        DESCRIBED.replace("\n", "\r\n"),
        DESCRIBED.replace("Exit Code:    137", "Exit Code:    --5"),
        DESCRIBED
        + (
            "Events:\n  Warning  Unhealthy  1s  kubelet  Liveness probe failed: Traceback "
            "(most recent call last):\n"
        ),
        FINE + "---\n" + yaml.safe_dump(POD),
    ],
)
def test_what_kubectl_prints_is_read_in_its_other_forms_too(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ticket.txt").write_bytes(text.encode())
    assert main(["diagnose", "ticket.txt", "--no-trials", "-o", "json"]) == 1
    assert "host-oom" in {
        one["diagnosis"]["cause"] for one in json.loads(capsys.readouterr().out)["replicas"]
    }


@pytest.mark.parametrize(
    "status", ["status: {}\n", "---\nkind: ConfigMap\ndata:\n  status: 'on'\n"]
)
def test_a_manifest_is_no_printed_object(status: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("made.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: vllm}\nspec: {replicas: 1}\n"
        + status
    )
    assert main(["diagnose", "made.yaml"]) == 2
    assert "barostat check made.yaml" in capsys.readouterr().err


def test_what_a_container_said_of_a_prompt_is_not_in_the_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pod = json.loads(json.dumps(POD))
    ended = {
        "reason": "Error",
        "exitCode": 1,
        "message": "Received request cmpl-1: prompt: 'a private matter', params: SamplingParams(n=1)",
    }
    pod["status"]["containerStatuses"][0]["lastState"] = {"terminated": ended}
    Path("ticket.json").write_text(json.dumps(pod))
    main(["diagnose", "ticket.json", "--no-trials", "-o", "json"])
    assert "a private matter" not in capsys.readouterr().out


def test_a_bundle_beside_a_log_that_is_none_is_not_dropped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("ticket.txt").write_text(DESCRIBED)
    Path("other").mkdir()
    assert main(["diagnose", "--log", "ticket.txt", "--bundle", "other"]) == 2
    assert "other: not a bundle" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--log", "vllm.log", "--describe", "ticket.txt"],
        ["vllm.log", "ticket.txt"],
        ["ticket.txt", "vllm.log"],
        ["--bundle", "ticket.txt", "--log", "vllm.log"],
    ],
)
def test_files_of_one_engine_are_one_recording(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The log and what kubectl describe printed, at once: both are evidence, and what was printed
    names the pod.
    """
    Path("ticket.txt").write_text(DESCRIBED)
    assert main(["diagnose", *words, "-o", "json"]) == 1
    said = capsys.readouterr().out
    (replica,) = json.loads(said)["replicas"]
    assert replica["name"] == "vllm-0"
    assert replica["diagnosis"]["cause"] == "host-oom"
    assert "--swap-space" in said


def test_half_of_a_printed_object_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ticket.json").write_text(json.dumps(POD)[:-20])
    assert main(["diagnose", "ticket.json"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("barostat: ticket.json: is no JSON")
    assert said.count("\n") == 1


def test_a_dash_is_the_log_that_is_piped_in(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(REFUSED.encode())))
    monkeypatch.setenv("BAROSTAT_NAMESPACE", "inference")
    assert main(["diagnose", "-", "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["fleet"]["diagnosis"]["cause"] == "bad-config"


def test_an_empty_pipe_is_told_by_the_name_that_a_person_knows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    assert main(["diagnose", "--log", "-"]) == 3
    assert "\nNote: stdin is empty\n" in capsys.readouterr().out


class Screen(io.StringIO):
    """What a terminal gets."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("words", "plain"), [([], False), (["--no-color"], True)])
def test_a_terminal_gets_plain_text_where_it_is_asked_for(
    words: list[str], plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    assert main(["diagnose", "vllm.log", *words]) == 1
    assert ("\x1b" not in screen.getvalue()) is plain
    assert "CRITICAL" in screen.getvalue()


def test_a_pipe_is_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(REFUSED,), daemon=True)
    writer.start()
    assert main(["diagnose", "pipe", "-o", "json"]) == 1
    writer.join(10)
    assert json.loads(capsys.readouterr().out)["fleet"]["diagnosis"]["cause"] == "bad-config"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["gone.tar.gz"], "gone.tar.gz: there is no such file"),
        (["./gone"], "gone: there is no such file"),
        (["gone.log"], "gone.log: there is no such file"),
        (["./incident.tar.gz", "vllm.log"], "vllm.log: is a second log of the same engine"),
        (["incident.tar.gz", "--log", "vllm.log"], "is a second log of the same engine"),
        (["incident.tar.gz", "folder"], "folder: is a second bundle"),
        (
            ["incident.tar.gz", "http://localhost:1"],
            "is a recording, and the other target is a running engine",
        ),
        (["incident.tar.gz", "--watch"], "goes with no running target"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", *words]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_a_workload_is_one_though_a_folder_is_called_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deploy" / "vllm").mkdir(parents=True)
    assert main(["diagnose", "deploy/vllm", "--kubeconfig", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "requests.jsonl",
            '{"arrival_s": 0.0, "input_tokens": 393, "output_tokens": 76}\n' * 3,
            "a trace of requests",
        ),
        (
            "azure.csv",
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00,500,20\n",
            "--trace azure.csv",
        ),
        ("vllm.yaml", "kind: Deployment\n", "barostat check vllm.yaml"),
        ("deploy/vllm.yaml", "kind: Deployment\n", "barostat check deploy/vllm.yaml"),
        ("limits.yaml", "kind: ServingLimits\n", "barostat limits validate limits.yaml"),
        ("config.json", '{"model_type": "qwen3"}', "barostat plan --model-config config.json"),
        (
            "report.json",
            '{"apiVersion": "barostat.dev/v1alpha1", "kind": "Report"}',
            "a report that barostat wrote",
        ),
    ],
)
def test_a_file_that_another_verb_reads_is_named_with_it(
    name: str, text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text)
    assert main(["diagnose", name]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"barostat: {name}: ")
    assert says in said
    assert said.count("\n") == 1


def test_a_log_of_json_lines_is_a_log() -> None:
    Path("engine.jsonl").write_text(
        '{"level": "INFO", "message": "Initializing a V1 LLM engine (v0.32.0) with config"}\n'
    )
    assert main(["diagnose", "engine.jsonl", "--no-trials"]) in (0, 1, 3)


@pytest.mark.parametrize("word", ["inc-*", "incidents/*", "vllm-?", "*.log", "log[12]"])
def test_a_pattern_that_matched_nothing_is_not_a_host(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", word]) == 2
    assert capsys.readouterr().err == f"barostat: {word}: no file matches this pattern\n"


def test_a_pattern_is_not_a_host_of_any_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "vllm-?", "--out", "b.tar.gz"]) == 2
    assert "vllm-?: no file matches this pattern" in capsys.readouterr().err
