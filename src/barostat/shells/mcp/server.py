"""The server: the official library speaks the protocol, and each call runs one verb in a process of
its own, so that what it prints, how long it takes and how it ends stay its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

import jsonschema
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from barostat.core.redaction.credentials import clean
from barostat.core.release import __version__
from barostat.core.visible import one_line
from barostat.shells.mcp.tools import TOOLS, Call, Refused, ToolAccess, ToolRow, call, input_schema

CALL_S = 300.0
MOST_OUTPUT_BYTES = 32 << 20
MOST_RESULT_CHARACTERS = 60_000
"""A result that an agent can still read. What is longer loses the end of its longest list, and says
how many items were left out.
"""
MOST_SENTENCE = 2_000
MEANINGS = {
    0: "answered, nothing to do",
    1: "findings",
    3: "cannot tell, or not everything could be read",
}
"""Exit codes with a document behind them."""
INSTRUCTIONS = (
    "Barostat diagnoses vLLM engines under KV-cache pressure. All tools only read. Begin with survey "
    "or diagnose; explain tells what a name means. To change something, tell a person the command."
)


def server_of(access: ToolAccess) -> Server[Any]:
    """The server with all tools."""

    async def listed(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool, access) for tool in TOOLS])

    async def called(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await answer(params.name, params.arguments or {}, access)

    return Server(
        "barostat",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
    )


def _described(tool: ToolRow, access: ToolAccess) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=input_schema(tool, access),
        annotations=types.ToolAnnotations(read_only_hint=True, destructive_hint=False),
    )


async def answer(name: str, given: dict[str, Any], access: ToolAccess) -> types.CallToolResult:
    """The result of one call; a call that cannot be made is an error with a sentence."""
    tool = next((one for one in TOOLS if one.name == name), None)
    if tool is None:
        return _failed(f"there is no tool {name!r}")
    wrong = next(
        jsonschema.Draft202012Validator(input_schema(tool, access)).iter_errors(given), None
    )
    if wrong is not None:
        where = ".".join(map(str, wrong.path)) or "the arguments"
        return _failed(f"{where}: {wrong.message}")
    made = call(tool, given, access)
    return _failed(made.because) if isinstance(made, Refused) else await _run(made)


async def _run(made: Call) -> types.CallToolResult:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "barostat", *made.words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(made.stdin.encode()), CALL_S)
    except TimeoutError:
        return _failed(f"took longer than {CALL_S:g} s; name one workload, or look for less time")
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    code = process.returncode or 0
    said = [line for line in err.decode(errors="replace").splitlines() if line.strip()]
    if code not in MEANINGS or not out.strip():
        return _failed(said[-1] if said else f"ended with exit code {code}")
    if len(out) > MOST_OUTPUT_BYTES:
        return _failed("the result is too large; name one namespace or workload")
    document = json.loads(out)
    result = bounded({"exitCode": code, "meaning": MEANINGS[code], "result": document})
    text = json.dumps(result, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=result
    )


def bounded(result: dict[str, Any]) -> dict[str, Any]:
    """The result with the ends of its longest lists left out until it is short enough. The number
    of items left out stands in `leftOut`, by the list's path.
    """
    left_out: dict[str, int] = {}
    while len(json.dumps(result, ensure_ascii=False)) > MOST_RESULT_CHARACTERS:
        path, longest = max(_lists(result, ""), key=lambda one: _size(one[1]), default=("", []))
        if len(longest) < 2:
            return {"leftOut": {"result": 1}, "meaning": "the result is too large to show"}
        dropped = max(1, len(longest) // 4)
        del longest[-dropped:]
        left_out[path] = left_out.get(path, 0) + dropped
        result["leftOut"] = left_out
    return result


def _lists(node: Any, path: str) -> list[tuple[str, list[Any]]]:
    if isinstance(node, dict):
        return [
            found
            for key, item in node.items()
            for found in _lists(item, f"{path}.{key}".strip("."))
        ]
    if isinstance(node, list):
        inner = [
            found for place, item in enumerate(node) for found in _lists(item, f"{path}[{place}]")
        ]
        return [(path, node), *inner] if len(node) > 1 else inner
    return []


def _size(found: list[Any]) -> int:
    return len(json.dumps(found, ensure_ascii=False))


def _failed(sentence: str) -> types.CallToolResult:
    text = one_line(clean(sentence))[:MOST_SENTENCE]
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


async def over_stdio(access: ToolAccess) -> None:
    """Serve one client over standard input and output, until it closes them."""
    server = server_of(access)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


async def over_http(access: ToolAccess, port: int) -> None:
    """Serve on loopback. The library refuses other Host and Origin headers (DNS rebinding)."""
    import uvicorn

    app = server_of(access).streamable_http_app(host="127.0.0.1")
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")
    print(f"listening on http://127.0.0.1:{port}/mcp", file=sys.stderr, flush=True)
    await uvicorn.Server(config).serve()
