"""`barostat check` as a person or a pipeline runs it."""

from __future__ import annotations

import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from barostat.io.manifests.live_objects import workload_documents
from barostat.judge.manifest_check.check import check
from barostat.shells.cli.main import main

BAD = """\
# our server
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: vllm
    image: vllm/vllm-openai:v0.32.0   # pinned
    args:
    - --model=Qwen/Qwen3-8B
    - --swap-space          # from an old blog
    - "4"
    - "--max-num-seqs 12"   # twelve
    - --gpu-memory-utilization=90
    resources: {limits: {nvidia.com/gpu: 1}}
"""
GOOD = BAD.replace('    - --swap-space          # from an old blog\n    - "4"\n', "").replace(
    '"--max-num-seqs 12"   # twelve', "--max-num-seqs=12"
)
GOOD = GOOD.replace("=90", "=0.9")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(BAD)
    Path("good.yaml").write_text(GOOD)


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main(["check", *words, "-o", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.yaml").write_text("a: b: c\n")
    assert main(["check", "good.yaml"]) == 0
    assert "nothing found" in capsys.readouterr().out
    assert main(["check", "bad.yaml"]) == 1
    assert main(["check", "bad.yaml", "--exit-zero"]) == 0
    assert main(["check", "broken.yaml", "bad.yaml"]) == 2
    assert "broken.yaml:1:5: error not-checked" in capsys.readouterr().out
    assert main(["check", "nowhere.yaml"]) == 2


def test_a_finding_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    report = _json(capsys, "bad.yaml")
    first = report["findings"][0]
    assert (first["file"], first["line"], first["column"], first["rule"]) == (
        "bad.yaml",
        11,
        7,
        "unknown-flag",
    )
    assert (first["severity"], first["confidence"]) == ("error", "high")
    assert first["message"]
    assert first["fix"]
    assert report["kind"] == "CheckReport"
    assert report["hiddenFindings"] > 0
    assert (
        len(_json(capsys, "bad.yaml", "--profile", "strict")["findings"])
        == len(report["findings"]) + report["hiddenFindings"]
    )


def test_stdin(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    report = _json(capsys, "-")
    assert {one["file"] for one in report["findings"]} == {"<stdin>"}


def test_fix_keeps_comments_and_is_done_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "bad.yaml", "--fix", "--unsafe", "--dry-run"]) == 0
    assert Path("bad.yaml").read_text() == BAD
    assert main(["check", "bad.yaml", "--fix"]) == 1
    certain = Path("bad.yaml").read_text()
    assert '    - "--max-num-seqs"\n    - "12"   # twelve\n' in certain
    assert "--swap-space" in certain
    assert main(["check", "bad.yaml", "--fix", "--unsafe"]) == 0
    mended = Path("bad.yaml").read_text()
    assert "--swap-space" not in mended
    assert "--gpu-memory-utilization=0.9\n" in mended
    assert "# our server" in mended
    assert "# pinned" in mended
    told = capsys.readouterr().err
    assert "-    - --gpu-memory-utilization=90" in told
    main(["check", "bad.yaml", "--fix", "--unsafe"])
    assert Path("bad.yaml").read_text() == mended


@pytest.mark.parametrize("words", [["--dry-run"], ["--unsafe", "--dry-run"], []])
def test_fix_says_so_where_there_is_nothing_to_mend(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("good.yaml").write_text(GOOD)
    main(["check", "good.yaml", "--fix", *words])
    assert "no file is changed" in capsys.readouterr().err
    main(["check", "bad.yaml", "--fix", *words])
    assert "no file is changed" not in capsys.readouterr().err


def test_fix_leaves_line_ends_and_rights(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("crlf.yaml")
    path.write_bytes(BAD.replace("\n", "\r\n").encode())
    path.chmod(0o600)
    main(["check", "crlf.yaml", "--fix"])
    capsys.readouterr()
    data = path.read_bytes()
    assert b'- "12"   # twelve\r\n' in data
    assert data.count(b"\r\n") >= BAD.count("\n")
    assert path.stat().st_mode & 0o777 == 0o600


def test_sarif_has_what_its_schema_and_code_scanning_want(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("allowed.yaml").write_text(
        GOOD.replace("v0.32.0   # pinned", "latest  # barostat: ignore[floating-tag] scratch")
    )
    main(["check", "bad.yaml", "allowed.yaml", "-o", "sarif"])
    log = json.loads(capsys.readouterr().out)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "barostat"
    rules = driver["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    assert run["results"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert not place["artifactLocation"]["uri"].startswith(("/", "file:"))
        assert place["region"]["startLine"] >= 1
        assert place["region"]["startColumn"] >= 1
        for fix in result.get("fixes", ()):
            for change in fix["artifactChanges"]:
                assert all(
                    part["deletedRegion"]["charOffset"] >= 0 for part in change["replacements"]
                )
    suppressed = [result for result in run["results"] if "suppressions" in result]
    assert [one["suppressions"] for one in suppressed] == [
        [{"kind": "inSource", "justification": "scratch"}]
    ]
    prints = [result["partialFingerprints"]["barostat/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints)


def test_annotations_junit_and_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a,b%.yaml").write_text(BAD)
    main(["check", "a,b%.yaml", "-o", "github"])
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("::error file=a%2Cb%25.yaml,line=11,col=7,title=unknown-flag::")
    main(["check", "bad.yaml", "-o", "junit"])
    suites = ElementTree.fromstring(capsys.readouterr().out)
    assert suites.attrib["failures"] == str(len(list(suites.iter("failure")))) != "0"
    main(["check", "good.yaml", "-o", "junit"])
    assert ElementTree.fromstring(capsys.readouterr().out).attrib["failures"] == "0"
    main(["check", "bad.yaml", "-o", "md"])
    assert "| `bad.yaml:11` | error | `unknown-flag` |" in capsys.readouterr().out


def test_since_shows_what_a_change_brings(capsys: pytest.CaptureFixture[str]) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", *words], check=True, capture_output=True, env={**os.environ, **_AUTHOR}
        )

    git("init", "-q")
    git("add", "bad.yaml")
    git("commit", "-qm", "one")
    assert _json(capsys, "bad.yaml", "--since", "HEAD")["findings"] == []
    Path("bad.yaml").write_text(
        BAD.replace("    resources", "    - --disable-log-stats\n    resources")
    )
    Path("new.yaml").write_text(BAD)
    report = _json(capsys, ".", "--since", "HEAD")
    assert [one["rule"] for one in report["findings"] if one["file"] == "bad.yaml"] == [
        "stats-switched-off"
    ]
    assert len([one for one in report["findings"] if one["file"] == "new.yaml"]) == 3
    assert main(["check", ".", "--since", "no-such-revision"]) == 2


_AUTHOR = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


def test_a_folder_is_walked_and_strangers_in_it_are_passed_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("x/.git").mkdir(parents=True)
    Path("x/.git/bad.yaml").write_text(BAD)
    Path("x/other.yaml").write_text("a: b: c\n")
    Path("x/data.json").write_text("[1, 2")
    Path("x/deep").mkdir()
    Path("x/deep/bad.yml").write_text(BAD)
    report = _json(capsys, "x")
    assert {one["file"] for one in report["findings"]} == {"x/deep/bad.yml"}
    assert report["unreadable"] == []


@pytest.mark.parametrize("named", [[".", "broken.yaml"], ["broken.yaml", "."]])
def test_a_file_that_was_named_has_to_be_readable_whatever_folder_it_lies_in(
    named: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.yaml").write_text("a: [1\n")
    assert main(["check", *named]) == 2
    assert capsys.readouterr().out.startswith("broken.yaml:2:1: error not-checked\n")


def test_arguments_that_make_no_sense_are_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["bad.yaml", "--gpu", "Z80"],
        ["bad.yaml", "--unsafe"],
        ["-", "--fix"],
        ["bad.yaml", "--engine-version", "new"],
    ):
        assert main(["check", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_the_card_that_the_user_names_is_planned_for(capsys: pytest.CaptureFixture[str]) -> None:
    Path("serve.sh").write_text(
        "vllm serve meta-llama/Llama-3.1-70B-Instruct --max-model-len 8192\n"
    )
    assert _json(capsys, "serve.sh")["findings"] == []
    assert [one["rule"] for one in _json(capsys, "serve.sh", "--gpu", "L4")["findings"]] == [
        "will-not-start"
    ]


BUNDLE = Path(__file__).parents[4] / "data" / "bundles" / "healthy-busy"


def test_live_holds_what_is_declared_against_what_runs(capsys: pytest.CaptureFixture[str]) -> None:
    serve = (
        "vllm serve /models/tiny --max-model-len 4096 --max-num-seqs {} "
        "--gpu-memory-utilization 0.92\n"
    )
    Path("same.sh").write_text(serve.format(64))
    Path("other.sh").write_text(serve.format(32))
    assert _json(capsys, "same.sh", "--live", str(BUNDLE))["findings"] == []
    (finding,) = _json(capsys, "other.sh", "--live", str(BUNDLE))["findings"]
    assert (finding["rule"], finding["file"], finding["line"]) == ("drift", "other.sh", 1)
    assert "--max-num-seqs 32" in finding["message"]
    assert "64" in finding["message"]


def test_live_holds_the_limits_against_the_measured_pool(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("limits.yaml").write_text(
        "apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nspec:\n  model: tiny\n  "
        "capacity:\n    kvCacheTokens: 100000\n"
    )
    Path("serve.sh").write_text("vllm serve /models/tiny\n")
    findings = _json(capsys, "serve.sh", "limits.yaml", "--live", str(BUNDLE))["findings"]
    assert [(one["rule"], one["file"], one["line"]) for one in findings] == [
        ("drift", "limits.yaml", 6)
    ]


def test_live_holds_limits_alone_against_the_workloads_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What the alert BarostatNotAsDeclared says to run."""
    Path("limits.yaml").write_text(
        "apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nspec:\n  model: tiny\n  "
        "engine:\n    maxModelLen: 2048\n"
    )
    report = _json(
        capsys, "limits.yaml", "--live", str(BUNDLE.parents[1] / "clusters" / "host-oom-cgroup")
    )
    assert ("limits-differ", "deployment/vllm (live)", 42) in {
        (one["rule"], one["file"], one["line"]) for one in report["findings"]
    }
    assert [
        note for note in report["notes"] if note.startswith("no engine is declared in the files")
    ]


def test_live_without_anything_declared_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--live", str(BUNDLE)]) == 2
    shown = capsys.readouterr()
    assert "nothing of an engine is declared" in shown.err
    assert "error nothing-checked" in shown.out
    assert main(["check"]) == 2
    assert main(["check", "good.yaml", "-n", "x"]) == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('args: ["--model=Qwen/Qwen3-8B", "--max-num-seqs 12", --swap-space=4]', 'args: ["--model=Qwen/Qwen3-8B", "--max-num-seqs=12"]'),
        ('args: [--swap-space, "4", --model=Qwen/Qwen3-8B]', "args: [--model=Qwen/Qwen3-8B]"),
        ("args:\r\n    - --model=a/b\r\n    - --port 8000\r\n", "args:\r\n    - --model=a/b\r\n    - --port\r\n    - \"8000\"\r\n"),
    ],
)  # fmt: skip
def test_fix_in_brackets_and_with_the_files_own_line_ends(before: str, after: str) -> None:
    head = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: "
        "vllm\n    image: vllm/vllm-openai:v0.32.0\n    "
    )
    head = head.replace("\n", "\r\n") if "\r" in before else head
    Path("a.yaml").write_bytes((head + before).encode())
    main(["check", "a.yaml", "--fix", "--unsafe"])
    assert Path("a.yaml").read_bytes().decode() == head + after


def test_fix_takes_a_setting_out_of_a_config_file() -> None:
    config = (
        "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  c.yaml: |\n    model: Qwen/Qwen3-8B\n  "
        "  swap-space: 4  # GiB\n"
    )
    config += "    max-num-seqs: 8\n"
    pod = (
        "---\nkind: Pod\nmetadata: {name: a}\nspec:\n  volumes: [{name: c, configMap: "
        "{name: c}}]\n  containers:\n  - name: vllm\n"
        "    image: vllm/vllm-openai:v0.32.0\n    args: [--config, /etc/vllm/c.yaml]\n    "
        "volumeMounts: [{name: c, mountPath: /etc/vllm}]\n"
        "    resources: {limits: {nvidia.com/gpu: 1}}\n"
    )
    Path("a.yaml").write_text(config + pod)
    assert main(["check", "a.yaml", "--fix", "--unsafe"]) == 0
    assert Path("a.yaml").read_text() == config.replace("    swap-space: 4  # GiB\n", "") + pod


def test_since_shows_also_what_a_change_brings_about_in_lines_that_it_does_not_touch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A newer image makes an old argument fatal; a value stands on a line of its own; what was
    there before is not told.
    """

    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
            check=True,
            capture_output=True,
        )

    head = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: "
        "vllm\n    image: vllm/vllm-openai:v0.17.0\n"
    )
    args = (
        '    args:\n    - --model=a/b\n    - --swap-space\n    - "4"\n    - '
        '--gpu-memory-utilization\n    - "0.9"\n    - --max-num-seqs 7\n'
    )
    Path("a.yaml").write_text(head + args)
    git("init", "-q")
    git("add", "a.yaml")
    git("commit", "-qm", "a")

    def told(text: str) -> list[tuple[str, int]]:
        Path("a.yaml").write_text(text)
        return [
            (one["rule"], one["line"])
            for one in _json(capsys, "a.yaml", "--since", "HEAD")["findings"]
        ]

    assert told(head + args) == []
    assert told("# ours\n" + head + args) == []
    assert told(head.replace("v0.17.0", "v0.18.0") + args) == [("unknown-flag", 10)]
    assert told(head.replace("v0.17.0", "v0.16.0") + args) == []
    assert told(head + args.replace('"0.9"', '"90"')) == [("bad-flag-value", 12)]
    without = args.replace("    - --model=a/b\n", "")
    assert told(head + without) == [("no-model-named", 6)]


def test_since_reads_names_and_lines_beyond_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that git would write in escapes, and beside it a file that is no UTF-8."""

    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
            check=True,
            capture_output=True,
        )

    Path("größe.yaml").write_text(BAD)
    Path("old.txt").write_bytes(b"Gr\xf6\xdfe\n")
    git("init", "-q")
    git("add", "größe.yaml", "old.txt")
    git("commit", "-qm", "a")
    Path("größe.yaml").write_text(
        BAD.replace("    resources", "    - --disable-log-stats\n    resources").replace(
            "=90", "=95"
        )
    )
    Path("old.txt").write_bytes(b"gr\xf6\xdfer\n")
    found = _json(capsys, "größe.yaml", "--since", "HEAD")["findings"]
    assert [(one["rule"], one["line"]) for one in found] == [
        ("bad-flag-value", 14),
        ("stats-switched-off", 15),
    ]


def test_a_file_that_cannot_be_read_is_annotated(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tab.yaml").write_text("a:\n\tb: 1\n")
    assert main(["check", "tab.yaml", "-o", "github"]) == 2
    line, last = capsys.readouterr().out.splitlines()
    assert line.startswith("::error file=tab.yaml,line=2,col=1,title=not-checked::not valid YAML: ")
    assert last.startswith("::error file=tab.yaml,line=1,col=1,title=nothing-checked::")


@pytest.fixture(params=["chart-without-helm", "nothing-of-vllm", "empty-folder"])
def unread(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder in which nothing can be checked."""
    Path("x/templates").mkdir(parents=True)
    if request.param == "chart-without-helm":
        Path("x/Chart.yaml").write_text("apiVersion: v2\nname: llm\nversion: 0.1.0\n")
        Path("x/templates/pod.yaml").write_text(BAD.replace("v0.32.0", "{{ .Values.tag }}"))
        monkeypatch.setenv("PATH", "")
    elif request.param == "nothing-of-vllm":
        Path("x/service.yaml").write_text("kind: Service\nmetadata: {name: web}\nspec: {}\n")
    return "x"


def test_nothing_checked_is_not_green_in_any_format(
    unread: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(form: str) -> str:
        assert main(["check", unread, "-o", form]) == 2
        return capsys.readouterr().out

    assert "error nothing-checked" in printed("table")
    assert "nothing was checked" in printed("table").splitlines()[-1]
    report = json.loads(printed("json"))
    assert report["findings"] == []
    assert "nothing-checked" in {one["rule"] for one in report["unchecked"]}
    assert report["unreadable"]
    (run,) = json.loads(printed("sarif"))["runs"]
    assert "nothing-checked" in {one["ruleId"] for one in run["results"]}
    assert run["invocations"][0]["executionSuccessful"] is False
    suites = ElementTree.fromstring(printed("junit"))
    assert int(suites.attrib["errors"]) == len(list(suites.iter("error"))) > 0
    assert "title=nothing-checked::" in printed("github")
    assert "| `nothing-checked` |" in printed("md")


def test_lenient_accepts_that_nothing_was_checked_and_still_shows_it(
    unread: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", unread, "--lenient"]) == 0
    assert "note nothing-checked" in capsys.readouterr().out


def test_a_failed_certificate_beside_limits_fails(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x").mkdir()
    Path("x/limits.yaml").write_text(
        "apiVersion: barostat.dev/v1alpha1\nkind: ServingLimits\nmetadata: {name: q}\n"
        "spec: {model: tiny, engine: {maxNumSeqs: 8}}\n"
    )
    assert main(["check", "x"]) == 0
    certificate = {
        "apiVersion": "barostat.dev/v1alpha1",
        "kind": "LoadTestCertificate",
        "verdict": "fail",
        "limits": {"name": "q", "digest": "sha256:0"},
    }
    Path("x/limits.certificate.json").write_text(json.dumps(certificate, indent=2))
    capsys.readouterr()
    assert main(["check", "x"]) == 1
    assert "x/limits.certificate.json:3:11: error not-load-tested" in capsys.readouterr().out


def test_what_the_cluster_holds_is_text() -> None:
    env = [{"name": "A", "value": text} for text in ("8", "0x1", "true", "123e4567", "2024-01-01")]
    args = ["--model", "a/b", "--revision", "1e3"]
    container = {"name": "a", "image": "vllm/vllm-openai:v0.32.0", "args": args, "env": env}
    workload = {
        "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    documents = workload_documents({"deployments": {"items": [workload]}})
    found = check([*documents.values()]).findings
    assert "value-not-quoted" not in [one.rule for one in found]


def test_the_assumed_version_is_in_the_result(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "start.sh"
    file.write_text("#!/bin/sh\nvllm serve Qwen/Qwen3-8B\n")
    main(["check", str(file)])
    assert "vLLM 0.33.0 assumed for 1 engine" in capsys.readouterr().out
    main(["check", str(file), "-o", "json"])
    assert json.loads(capsys.readouterr().out)["assumedVersion"] == {
        "version": "0.33.0",
        "engines": 1,
    }
    main(["check", str(file), "--engine-version", "0.32.0", "-o", "json"])
    assert json.loads(capsys.readouterr().out)["assumedVersion"] is None


KEYED = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - name: vllm
    image: vllm/vllm-openai:v0.32.0
    args:
    - --model=Qwen/Qwen3-8B
    - "--max-num-seqs 12"
    - --api-key
    - TOPSECRET
    resources: {limits: {nvidia.com/gpu: 1}}
"""


def test_the_diff_of_a_fix_shows_no_key_beside_the_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    key = "q7Zk9XwV" + "3bN8tR2m"
    Path("keyed.yaml").write_text(KEYED.replace("TOPSECRET", key))
    main(["check", "keyed.yaml", "--fix"])
    told = capsys.readouterr().err
    assert "--api-key" in told
    assert key not in told
    written = Path("keyed.yaml").read_text()
    assert key in written
    assert '"12"' in written


def test_a_fix_does_not_follow_a_link_out_of_the_folder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("outside").mkdir()
    Path("inside").mkdir()
    Path("outside/a.yaml").write_text(BAD)
    Path("inside/a.yaml").symlink_to(Path("outside/a.yaml").resolve())
    for named in ("inside", "inside/a.yaml"):
        main(["check", named, "--fix", "--unsafe"])
        assert Path("outside/a.yaml").read_text() == BAD
    assert "a symbolic link to a file outside the folder" in capsys.readouterr().err


def test_sarif_takes_a_file_name_that_is_not_utf_8(capsys: pytest.CaptureFixture[str]) -> None:
    Path(os.fsdecode(b"b\xff.yaml")).write_text(BAD)
    assert main(["check", ".", "-o", "sarif"]) == 1
    assert "b%FF.yaml" in capsys.readouterr().out


@pytest.mark.parametrize(("source", "drifts"), [("envFrom", False), ("none", True)])
def test_a_default_that_what_is_not_read_may_overrule_is_no_drift(
    source: str, drifts: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    given = "envFrom: [{secretRef: {name: serving}}]" if source == "envFrom" else "env: []"
    Path("pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: vllm}\nspec:\n  containers:\n"
        f"    - name: vllm\n      image: vllm/vllm-openai:v0.32.0\n      {given}\n"
        '      command: [sh, -c]\n      args: ["exec vllm serve /models/tiny --max-model-len '
        '4096 --max-num-seqs ${SEQS:-32} --gpu-memory-utilization 0.92"]\n'
    )
    findings = _json(capsys, "pod.yaml", "--live", str(BUNDLE))["findings"]
    assert ("drift" in {one["rule"] for one in findings}) is drifts
