"""Command lines: the engine's, in a list or in the text of a shell; and our own."""

# ruff: noqa: E501 (inputs as they come)

from __future__ import annotations

import contextlib
import re
from argparse import ArgumentTypeError
from pathlib import Path

from tests.fuzz.front import Front, Wrong, text_of
from tests.fuzz.fronts.files import said, strict_json

from barostat.core.errors import InputError
from barostat.core.redaction.credentials import arguments
from barostat.core.version import parse_version
from barostat.engines.vllm.command_line.arguments import parse
from barostat.engines.vllm.command_line.config import resolve
from barostat.engines.vllm.command_line.config_text import NotPlain, value_in, with_setting
from barostat.engines.vllm.command_line.refused import refused_arguments
from barostat.engines.vllm.command_line.write_flag import with_flag
from barostat.io.prometheus.access import access
from barostat.io.prometheus.selector import matchers

_SCRIPTS = (
    b"vllm serve Qwen/Qwen3-8B --max-num-seqs 64 --max-model-len=8192",
    b'exec python3 -m vllm.entrypoints.openai.api_server --model ${MODEL:-m} --max_num_seqs=64 "$@"',
    b'set -e\nexport VLLM_USE_V1=1\nif [ -n "$HF_TOKEN" ]; then huggingface-cli login; fi\nvllm serve m \\\n  --max-num-seqs 64 \\\n  --kv-cache-dtype fp8 # last\n',
    b"X=64 vllm serve 'org/m' --max-num-seqs $X --compilation-config '{\"level\": 3}' --no-enable-prefix-caching 2>&1 | tee /var/log/vllm.log",
    b"bash -c 'vllm serve m --max-num-seqs 64'",
    b"cat <<EOF > /etc/c.yaml\nmax-num-seqs: 3\nEOF\nvllm serve m --config /etc/c.yaml",
)
_MOST_TEXT = 32 << 10  # read six times below, which is what takes the time
_NEWEST = parse_version("0.32.0")
_WORDS = (
    "--max-num-seqs", "--max_num_seqs=", " --max-model-len 8k", "--no-enable-prefix-caching", "-tp", " -tp 2", "--gpu-memory-utilization=0.9", " -O3",
    "vllm serve ", "python -m vllm.entrypoints.openai.api_server ", "--kv-transfer-config {", "--config x", "${MAX:-1}", "--model=m",
)  # fmt: skip


def _shell(data: bytes, _: Path) -> None:
    """Read, resolved, redacted, edited: what was set is there afterwards, and the rest is as it
    was.
    """
    text = text_of(data[:_MOST_TEXT])
    line = parse(text, {"MODEL": "m"})
    config = resolve(args=text, version=_NEWEST)
    assert config is not None
    if _NEWEST is not None:
        refused_arguments(line, _NEWEST)
    arguments(text)
    edited = with_flag(text, "max_num_seqs", 17)
    after = parse(edited, {"MODEL": "m"})
    if after.text("max_num_seqs") != "17":
        raise Wrong("the flag that was set is not there")
    before = {name: found.text for name, found in line.settings.items() if name != "max_num_seqs"}
    if {
        name: found.text for name, found in after.settings.items() if name != "max_num_seqs"
    } != before or after.model != line.model:
        raise Wrong("another flag has changed")


def _list(data: bytes, _: Path) -> None:
    words = text_of(data).split("\n")
    line = parse(words)
    resolve(args=tuple(words), version=_NEWEST)
    arguments(tuple(words))
    if parse(with_flag(words, "max_num_seqs", 17)).text("max_num_seqs") != "17":
        raise Wrong("the flag that was set is not there")
    with_flag(words, "max_num_seqs", None)
    assert line is not None


def _config(data: bytes, _: Path) -> None:
    text = text_of(data)
    value_in(text, "max_num_seqs")
    changed = with_setting(text, "max_num_seqs", 17)
    if not isinstance(changed, NotPlain) and value_in(changed, "max_num_seqs") != "17":
        raise Wrong("the setting that was set is not there")


_OURS = (
    "plan --gpu H100 -- vllm serve Qwen/Qwen3-8B --max-model-len 8192", "plan --gpu 4xA100 --model Qwen/Qwen3-8B -o json", "plan --gpu list",
    "explain kv-preemption-thrash -o json", "explain num_preemptions", "help plan", "version", "completion bash", "limits diff a b", "config show",
    "plan --compare H100,MI300X --model Qwen/Qwen3-8B --price H100=2.5", "rules --limits x.yaml", "check . -o sarif", "diagnose --bundle x",
    "diagnose --log x -o json", "simulate --trace x --kv-blocks 4096", "plan --gpu L40S --tp 2 --max-num-seqs 64 --kv-cache-dtype fp8 --model Qwen/Qwen3-8B",
)  # fmt: skip
_OFFLINE = {
    "plan",
    "explain",
    "help",
    "version",
    "completion",
    "limits",
    "config",
    "rules",
    "check",
    "diagnose",
}
_REACHES_OUT = re.compile(r"://|^/|\.\.|^-[fw]$|^(?:deploy|sts|pod|svc|job)\w*/")
_NOT_FED = (
    "for",
    "watch",
    "fix",
    "out",
    "live",
    "since",
    "pid",
    "kubeconfig",
    "context",
    "prometheus",
    "until-it-breaks",
    "serve",
    "open",
    "write",
)


def _reaches_out(word: str) -> bool:
    """True for what names something outside of the folder, runs for long, or writes: flags also
    where they are cut short.
    """
    flag = word.partition("=")[0].removeprefix("--")
    return bool(_REACHES_OUT.search(word)) or (
        word.startswith("--")
        and any(name.startswith(flag) or flag.startswith(name) for name in _NOT_FED)
    )


def _ours(data: bytes, folder: Path) -> None:
    """A word a line. Verbs that reach out or run for long are left out, and so is what makes others
    do it.
    """
    words = text_of(data).split("\n")
    if (
        not words
        or next((word for word in words if not word.startswith("-")), "") not in _OFFLINE
        or any("\0" in word for word in words)
    ):
        raise InputError("not fed")
    asked = words[: words.index("--")] if "--" in words else words
    if any(map(_reaches_out, asked)):
        raise InputError("not fed")
    if "diagnose" in words and not any(
        word.split("=")[0] in ("--bundle", "--log") for word in words
    ):
        raise InputError("not fed")
    with contextlib.chdir(folder):
        _, out = said(*words)
    if "-o\njson" in text_of(data) and out.lstrip()[:1] == "{":
        strict_json(out)


def _addresses(data: bytes, _: Path) -> None:
    from barostat.gateway.replica import upstream_address
    from barostat.io.engine_http.address import address
    from barostat.shells.cli.durations import parse_duration
    from barostat.twin_server.faults import parse_fault
    from barostat.twin_server.lengths import parse_lengths

    text = text_of(data)
    refusals = []
    for read in (
        address,
        upstream_address,
        access,
        matchers,
        parse_version,
        parse_duration,
        parse_fault,
        parse_lengths,
    ):
        try:
            read(text)
        except (InputError, ArgumentTypeError) as error:
            refusals.append(error)
    if len(refusals) == 7:
        raise InputError(str(refusals[0]))


FRONTS = (
    Front("shell-text", lambda: list(_SCRIPTS), _shell, "shell", words=_WORDS),
    Front("argv-of-engine", lambda: [b"\n".join(script.split()) for script in _SCRIPTS], _list, "lines", words=_WORDS),
    Front("config-file-of-engine", lambda: [b"model: m\nmax-num-seqs: 64\ntensor-parallel-size: 2 # cards\n", b'{"max-num-seqs": 64}'], _config, "yaml"),
    Front("command-line", lambda: ["\n".join(line.split()).encode() for line in _OURS], _ours, "lines", words=(*_WORDS, "\n--gpu\n", "\n-o\njson", "\n--tp\n", "\n--", "\n-h")),
    Front("addresses", lambda: [b"http://127.0.0.1:8000/v1", b"prometheus:9090/graph", b'app="vllm",pod=~"x.*"', b"0.32.0rc1+cu128", b"1h30m", b"slow-network:0.2", b"128,0.5"], _addresses, "bytes"),
)  # fmt: skip
