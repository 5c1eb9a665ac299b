"""An engine that remembers what it was sent: for what must arrive unchanged, or changed only where
the policy says.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

METRICS = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 0.0
vllm:num_requests_waiting{engine="0",model_name="m"} 0.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.0
vllm:num_preemptions_total{engine="0",model_name="m"} 0.0
vllm:generation_tokens_total{engine="0",model_name="m"} 0.0
vllm:cache_config_info{block_size="16",cache_dtype="auto",engine="0",enable_prefix_caching="True",num_gpu_blocks="BLOCKS"} 1.0
"""
USAGE = {"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23}
ANSWER = json.dumps(
    {"id": "c", "choices": [{"index": 0, "finish_reason": "stop"}], "usage": USAGE}
).encode()
EVENT = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
LAST = (
    b"data: "
    + json.dumps({"id": "c", "choices": [], "usage": USAGE}).encode()
    + b"\n\ndata: [DONE]\n\n"
)


class RecordingEngine:
    """`seen`: (path, headers in lower case, body) of every POST. A stream sends `events`, one every
    `gap_s`. What is not streamed is answered after `before_s`, or the connection closed where it
    `breaks`.
    """

    before_s = 0.0
    breaks = False

    def __init__(self, blocks: int = 20_001, events: int = 5, gap_s: float = 0.01) -> None:
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self.events, self.gap_s = events, gap_s
        engine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                cards = {"object": "list", "data": [{"id": "m", "max_model_len": 100000}]}
                pages = {
                    "/metrics": METRICS.replace("BLOCKS", str(blocks)).encode(),
                    "/v1/models": json.dumps(cards).encode(),
                }
                self._whole(pages.get(self.path, b""))

            def do_POST(self) -> None:
                body = self._body()
                engine.seen.append(
                    (self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                )
                if b'"stream": true' in body:
                    self._stream()
                    return
                time.sleep(engine.before_s)
                if engine.breaks:
                    self.close_connection = True
                    return
                self._whole(ANSWER)

            def _body(self) -> bytes:
                if "chunked" not in (self.headers["transfer-encoding"] or ""):
                    return self.rfile.read(int(self.headers["content-length"] or 0))
                parts = []
                while size := int(self.rfile.readline(), 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)

            def _whole(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _stream(self) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                try:
                    for data in (*[EVENT] * engine.events, LAST, b""):
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                        time.sleep(engine.gap_s)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Nothing is written."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """It does not listen any more."""
        self._server.shutdown()
        self._server.server_close()
