"""`barostat mcp` used by the official client library, over standard input and over HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from dev.free_port import free_port
from mcp import Client, StdioServerParameters
from tests.support.wide_cluster import in_a_process

ROOT = Path(__file__).parents[2]
BUNDLES = ROOT / "tests" / "data" / "bundles"
SERVE = ("-m", "barostat", "mcp")
MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: llm}
spec:
  containers:
  - {name: vllm, image: "vllm/vllm-openai:v0.32.0", args: [a/b, --swap-space, "4"]}
"""


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from in_a_process(tmp_path_factory.mktemp("wide"), "60", "4")


def test_an_agent_finds_the_worst_engine_and_asks_about_it(wide: str) -> None:
    async def talk() -> None:
        arguments = [*SERVE, "--kubeconfig", wide, "--bundles", str(BUNDLES)]
        async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == {
                "survey", "diagnose", "plan", "what_if", "check", "explain", "incident_show"
            }  # fmt: skip
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)

            survey = await _asked(client, "survey", {"price": "H100=2.5"})
            assert survey["exitCode"] == 1
            engines = survey["result"]["engines"]
            assert engines[0]["severity"] == "critical"
            # Sixty engines are more than an agent reads: the end of the list is left out, and said.
            assert len(engines) + survey["leftOut"]["result.engines"] == 60

            bundle = await _asked(client, "diagnose", {"bundle": "kv-preemption-thrash"})
            cause = bundle["result"]["fleet"]["diagnosis"]["cause"]
            assert cause == "kv-preemption-thrash"
            assert "preempt" in json.dumps(await _asked(client, "explain", {"name": cause}))

            found = await _asked(client, "check", {"manifest": MANIFEST})
            assert "unknown-flag" in json.dumps(found)

    asyncio.run(talk())


async def _asked(client: Client, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, given)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def test_a_call_that_cannot_be_made_is_a_sentence() -> None:
    async def talk() -> None:
        parameters = StdioServerParameters(command=sys.executable, args=[*SERVE])
        async with Client(parameters) as client:
            for tool, given, said in (
                ("explain", {"name": "--help"}, "begins with a dash"),
                ("explain", {}, "'name' is a required property"),
                ("check", {"manifest": "x", "fix": True}, "'fix' was unexpected"),
                ("mitigate", {}, "no tool 'mitigate'"),
                ("diagnose", {"target": "http://127.0.0.1:9", "seconds": 1}, "127.0.0.1:9"),
            ):
                result = await client.call_tool(tool, given)
                assert said in json.dumps([one.model_dump() for one in result.content])

    asyncio.run(talk())


def test_over_http_only_loopback_is_answered() -> None:
    port = free_port()
    command = [sys.executable, *SERVE, "--http", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            assert f"http://127.0.0.1:{port}/mcp" in server.stderr.readline()

            async def talk() -> str:
                for _ in range(100):
                    try:
                        httpx.get(f"http://127.0.0.1:{port}/")
                        break
                    except httpx.HTTPError:
                        await asyncio.sleep(0.1)
                async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                    return json.dumps(await _asked(client, "explain", {"name": "healthy-idle"}))

            assert "healthy-idle" in asyncio.run(talk())
            rebound = httpx.post(
                f"http://127.0.0.1:{port}/mcp", headers={"host": "evil.example"}, json={}
            )
            assert rebound.status_code in (403, 421)
        finally:
            server.terminate()
