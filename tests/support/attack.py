"""Strings that would run, ask or break out if a page let them, and inputs of every kind in which
each string is one of them.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from itertools import count, cycle
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml
from tests.support.small_servers import Handler, answer

BUNDLES = Path(__file__).parent.parent / "data" / "bundles"
RAN = "document.title='ran';window.ran=1"


def payloads(beacon: str) -> tuple[str, ...]:
    """The strings. `beacon`: an address at which whatever is asked for is seen."""
    svg = f"%3Csvg xmlns='http://www.w3.org/2000/svg' onload=\"{RAN}\"/%3E"
    return (
        f"<script>{RAN}</script>",
        f"<script src={beacon}/a.js></script>",
        f"</style><script>{RAN}</script>",
        f"</title><img src={beacon}/b.png onerror=\"{RAN}\">",
        f"\"><img src=x onerror={RAN}>",
        f"' onmouseover='{RAN}' autofocus onfocus='{RAN}' x='",
        f"javascript:{RAN}",
        f"<a href=\"javascript:{RAN}\" id=x>x</a>",
        f"<svg onload=\"{RAN}\"><use href=\"{beacon}/c.svg#x\"/></svg>",
        f"</svg></text><script>{RAN}</script>",
        f"<iframe srcdoc=\"<script>parent.{RAN}</script>\" src={beacon}/d></iframe>",
        f"data:image/svg+xml,{svg}",
        f"<img src=\"data:image/svg+xml,{svg}\"><object data={beacon}/e></object>",
        f"<link rel=stylesheet href={beacon}/f.css><style>@import '{beacon}/g.css';body{{background:url({beacon}/h.png)}}</style>",
        f"<meta http-equiv=refresh content=\"0;url={beacon}/i\"><base href={beacon}/>",
        f"<form action={beacon}/j><input autofocus onfocus=\"{RAN}\"></form>",
        f"&lt;script&gt;{RAN}&lt;/script&gt;&#60;img src=x onerror={RAN}&#62;&quot;&NewLine;",
        f"<details open ontoggle=\"{RAN}\"><video poster={beacon}/k><source onerror=\"{RAN}\"></video></details>",
        f"--><!--<script>{RAN}</script>]]>",
        f"<ScRiPt\x00>{RAN}</sCrIpT\x0c>",
        "\x1b[31m\x1b]0;ran\x07\u202e\u2066\u200b<b\u00ad>\x85\x9b",
        f"<math><mi xlink:href=\"javascript:{RAN}\">x</mi></math><template><script>{RAN}</script></template>",
        f"`;${{{RAN}}}//{{{{constructor.constructor('{RAN}')()}}}}<%={RAN}%>",
        f"+ADw-script+AD4-{RAN}+ADw-/script+AD4-\ufeff<x onclick={RAN}>\r\n<script>{RAN}</script>",
    )  # fmt: skip


class Attacker:
    """Gives one attack after another, or all of them at once."""

    def __init__(self, beacon: str) -> None:
        """`beacon`: see payloads."""
        self.every = payloads(beacon)
        self._next = cycle(self.every)

    def one(self) -> str:
        """The next of them."""
        return next(self._next)

    def all(self) -> str:
        """Each of them, one after another."""
        return " ".join(self.every)

    def name(self) -> str:
        """The next that may be the name of a file."""
        while True:
            text = self.one().replace("/", "\\").replace("\0", "")
            if "\r" not in text and len(text.encode()) < 200:
                return text

    def into(self, value: Any, takes: Callable[[Any], object], refusing: type[Exception]) -> Any:
        """The JSON value with an attack in each string that its reader `takes` there; the reader
        raises `refusing` where it does not.
        """
        done = json.loads(json.dumps(value))
        for holder, key in list(_strings(done)):
            kept, holder[key] = holder[key], self.one()
            try:
                takes(done)
            except refusing:
                holder[key] = kept
        return done


def _strings(value: Any) -> Any:
    """Each place of a string in it: the holder and the key."""
    for key, held in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        if isinstance(held, str):
            yield value, key
        else:
            yield from _strings(held)


LOG = (
    "ERROR 11-21 07:00:00 [core.py:700] EngineCore failed to start. {}",
    "(EngineCore_0 pid=7) ERROR 11-21 07:00:00 [core.py:700] ValueError: {}",
    "vllm serve: error: unrecognized arguments: {}",
    "INFO 11-21 07:00:00 [api_server.py:1] vLLM API server version {}",
    "WARNING 11-21 07:00:00 [scheduler.py:1] {} is preempted",
    "RuntimeError: {}",
)


def bundle(attacker: Attacker, folder: Path, source: str = "kv-preemption-thrash") -> Path:
    """A recorded bundle with attacks for its names, arguments, environment, labels, log lines,
    pods, events and readings.
    """
    shutil.copytree(BUNDLES / source, folder)
    replica = attacker.name()
    for room in ("metrics", "host"):
        if (folder / room / "replica-0").exists():
            (folder / room / "replica-0").rename(folder / room / replica)
    (folder / "logs" / "replica-0.log").rename(folder / "logs" / f"{replica}.log")
    for page in folder.glob("metrics/*/*.prom"):
        model = json.dumps(attacker.all().replace("\r", ""), ensure_ascii=False)
        page.write_text(
            re.sub(r'model_name="[^"]*"', lambda _: f"model_name={model}", page.read_text(encoding="utf-8")), encoding="utf-8"  # noqa: B023
        )  # fmt: skip
    with (folder / "logs" / f"{replica}.log").open("a", encoding="utf-8") as log:
        log.writelines(f"{line.format(text)}\n" for text in attacker.every for line in LOG)
    manifest = folder / "bundle.yaml"
    told = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    entry = told["replicas"][0]
    entry |= {"name": replica, "node": attacker.all()}
    entry["args"] += [
        "--served-model-name",
        attacker.all(),
        f"--{attacker.one()}",
        attacker.all(),
        "--tokenizer",
        attacker.all(),
    ]
    entry["env"] = entry.get("env", {}) | {"VLLM_X": attacker.all(), "NCCL_X": attacker.all()}
    manifest.write_text(yaml.safe_dump(told, allow_unicode=True), encoding="utf-8")
    (folder / "kubernetes").mkdir()
    for kind, items in objects(attacker, replica).items():
        (folder / "kubernetes" / f"{kind}.json").write_text(
            json.dumps({"items": items}), encoding="utf-8"
        )
    (folder / "gateway").mkdir()
    (folder / "gateway" / f"{attacker.name()}.log").write_text(
        "".join(f"{one}\n" for one in attacker.every), encoding="utf-8"
    )
    return folder


def objects(attacker: Attacker, pod: str) -> dict[str, list[dict[str, Any]]]:
    """What a cluster that is not ours may say of the pod: each word of it an attack."""
    terminated = {
        "reason": attacker.all(),
        "message": attacker.all(),
        "exitCode": 137,
        "finishedAt": "2026-11-21T07:00:00Z",
    }
    status = {
        "name": "vllm", "restartCount": 3, "ready": False, "lastState": {"terminated": terminated},
        "state": {"waiting": {"reason": attacker.all(), "message": attacker.all()}},
    }  # fmt: skip
    container = {
        "name": "vllm",
        "image": f"vllm/vllm-openai:{attacker.one()}",
        "args": ["--model", attacker.all(), attacker.all()],
    }
    conditions = [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": attacker.all(),
        }
    ]
    words = {attacker.one(): attacker.all()}
    metadata = {
        "name": pod, "namespace": attacker.all(), "labels": words, "annotations": words,
        "ownerReferences": [{"kind": attacker.all(), "name": attacker.all(), "controller": True}],
    }  # fmt: skip
    return {
        "pods": [
            {
                "metadata": metadata, "spec": {"nodeName": attacker.all(), "containers": [container]},
                "status": {"phase": "Pending", "reason": attacker.all(), "conditions": conditions, "containerStatuses": [status]},
            }
        ],
        "events": [
            {
                "type": "Warning", "reason": reason, "message": attacker.all(), "lastTimestamp": "2026-11-21T07:00:00Z", "count": 4,
                "involvedObject": {"kind": "Pod", "name": pod, "namespace": attacker.all()},
            }
            for reason in ("FailedScheduling", "Unhealthy", "BackOff", "Evicted", attacker.all())
        ],
        "nodes": [
            {
                "metadata": {"name": attacker.all(), "labels": {attacker.one(): attacker.all()}},
                "status": {"conditions": [{"type": "Ready", "status": "False", "reason": attacker.all(), "message": attacker.all()}]},
            }
        ],
    }  # fmt: skip


CONFIG = {
    "num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
    "intermediate_size": 12288, "vocab_size": 151936, "max_position_embeddings": 40960,
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "torch_dtype": "bfloat16",
}  # fmt: skip


def config(attacker: Attacker, folder: Path) -> Path:
    """A model's config.json in a folder that is called as an attack is; what is not its sizes is
    one too.
    """
    model = folder / attacker.name()
    model.mkdir(parents=True)
    words = {
        "_name_or_path": attacker.all(),
        "transformers_version": attacker.all(),
        attacker.one(): attacker.all(),
    }
    (model / "config.json").write_text(json.dumps({**CONFIG, **words}), encoding="utf-8")
    return model / "config.json"


def trace(attacker: Attacker, folder: Path) -> Path:
    """Requests in a file that is called as an attack is, with fields of that kind."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "arrival_s": place / 6,
            "input_tokens": 900,
            "output_tokens": 200,
            "id": attacker.all(),
            "model": attacker.one(),
        }
        for place in range(400)
    ]
    file = folder / f"{attacker.name()}.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def engine(attacker: Attacker) -> Handler:
    """A server that says it is vLLM, names its model as an attack is called, and refuses each
    request of a load in such words.
    """
    said = attacker.all()
    label = json.dumps(said.replace("\r", ""), ensure_ascii=False)
    page = (
        f'vllm:num_requests_running{{engine="0",model_name={label}}} '
        f'0.0\nvllm:num_requests_waiting{{engine="0",model_name={label}}} 0.0\n'
    )
    refusal = json.dumps(
        {
            "error": {"message": said, "type": said, "code": said, "param": said},
            "object": said,
            "detail": said,
        }
    )
    answers = {
        "metrics": answer(page),
        "health": answer(""),
        "version": answer(json.dumps({"version": f"0.32.0 {said}"}), kind="application/json"),
        "models": answer(
            json.dumps({"data": [{"id": said, "root": said, "max_model_len": 4096}]}),
            kind="application/json",
        ),
    }

    asked = count(1)

    def handle(connection: Any, request: str) -> None:
        last = request.split(" ")[1].split("?")[0].rstrip("/").rpartition("/")[2]
        if (
            last == "completions" and (so_far := next(asked)) <= 3
        ):  # the load's own questions: how this server counts
            usage = {"prompt_tokens": 10 * so_far, "completion_tokens": 1}
            connection.sendall(
                answer(
                    json.dumps({"choices": [{"text": said}], "usage": usage}),
                    kind="application/json",
                )
            )
        else:
            connection.sendall(
                answers.get(last, answer(refusal, f"429 {said[:40]}", "application/json"))
            )

    return handle


KEPT = (
    "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc", "vllm:num_preemptions_total",
    "vllm:request_success_total", "vllm:prompt_tokens_total", "vllm:generation_tokens_total",
)  # fmt: skip


def prometheus(attacker: Attacker) -> Handler:
    """A server that says it is Prometheus: every series that is asked for is there, under labels
    that are attacks, in pressure.
    """
    said = attacker.all()
    labels = [
        {
            "pod": f"{place}{said}",
            "namespace": said,
            "instance": said,
            "model_name": said,
            "engine": "0",
            attacker.one(): said,
        }
        for place in (1, 2)
    ]

    def handle(connection: Any, request: str) -> None:
        asked = parse_qs(urlsplit(request.split(" ")[1]).query)
        found = {
            "status": "success",
            "warnings": [said],
            "infos": [said],
            "data": _remembered(asked, labels),
        }
        connection.sendall(answer(json.dumps(found), kind="application/json"))

    return handle


def _remembered(asked: dict[str, list[str]], labels: Sequence[dict[str, str]]) -> dict[str, Any]:
    query, start, end, step, at = (
        asked.get(name, ["0"])[0] for name in ("query", "start", "end", "step", "time")
    )
    if asked.get("end"):
        instants = [
            float(start) + float(step) * place
            for place in range(int((float(end) - float(start)) / float(step)) + 1)
        ]
        series = [
            {"metric": one, "values": [[when, _value(query, when)] for when in instants]}
            for one in labels
        ]
        return {"resultType": "matrix", "result": series}
    raw = re.match(r'\{__name__=~"([^"]*)"', query)
    if raw is None:
        return {
            "resultType": "vector",
            "result": [
                {"metric": one, "value": [float(at), _value(query, float(at))]} for one in labels
            ],
        }
    names = [name for name in KEPT if re.fullmatch(raw[1], name)]
    values = {
        name: [
            [float(at) - 5.0 * place, _value(name, float(at) - 5.0 * place)]
            for place in reversed(range(12))
        ]
        for name in names
    }
    return {
        "resultType": "matrix",
        "result": [
            {"metric": {"__name__": name, **one}, "values": values[name]}
            for name in names
            for one in labels
        ],
    }


def _value(query: str, at: float) -> str:
    return (
        "0.99"
        if "perc" in query
        else "2"
        if query.startswith("count(")
        else f"{at % 1e6:.0f}"
        if query.endswith("_total")
        else "30"
    )
