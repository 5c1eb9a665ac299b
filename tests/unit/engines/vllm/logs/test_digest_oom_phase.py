"""Where GPU memory ran out: a graph's wrapper stands in every traceback of a compiled model, and
only a capture is a capture.
"""

from __future__ import annotations

import pytest

from barostat.engines.vllm.logs.digest import digest

AT = "(Worker_TP0 pid=9) ERROR 01-02 03:04:05 [multiproc_executor.py:1] "
OOM = AT + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB."


def frame(function: str, file: str = "gpu_model_runner.py") -> str:
    """A line of a traceback as a worker logs it."""
    return f'{AT}  File "/opt/vllm/{file}", line 1, in {function}'


WRAPPER = frame("__call__", "compilation/cuda_graph.py")
LOOP = frame("worker_busy_loop", "multiproc_executor.py")


@pytest.mark.parametrize(
    ("frames", "kind"),
    [
        ([LOOP, frame("execute_model"), WRAPPER], "gpu_oom_serving"),
        (
            [LOOP, frame("determine_available_memory"), frame("_dummy_run"), WRAPPER],
            "gpu_oom_startup",
        ),
        (
            [LOOP, frame("compile_or_warm_up_model"), frame("_dummy_run"), WRAPPER],
            "gpu_oom_graph_capture",
        ),
        ([WRAPPER, frame("capture_end", "torch/cuda/graphs.py")], "gpu_oom_graph_capture"),
        ([frame("capture_end", "torch/cuda/graphs.py")], "gpu_oom_graph_capture"),
        ([WRAPPER], "gpu_oom_graph_capture"),
        ([frame("_execute_mm_encoder")], "gpu_oom_serving"),
    ],
)
def test_the_phase_is_that_of_the_caller(frames: list[str], kind: str) -> None:
    assert [event.kind for event in digest([*frames, OOM], source="test").events] == [kind]


def test_v0_says_that_it_captures_in_its_own_word() -> None:
    capturing = (
        "INFO 01-02 03:04:04 [model_runner.py:1] Capturing cudagraphs for decoding. This may "
        "lead to unexpected consequences"
    )
    assert [
        event.kind for event in digest(["Loading weights", capturing, OOM], source="test").events
    ] == ["gpu_oom_graph_capture"]
