"""Lines about memory keep the figures that decide, in any wording that is met."""

from __future__ import annotations

import pytest

from barostat.symptoms._memory_figures import memory_figures

TORCH = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 224.00 MiB. GPU 3 has a "
    "total capacity of 79.25 GiB of which 150.94 MiB "
    "is free. Including non-PyTorch memory, this process has 79.09 GiB memory in use. Of "
    "the allocated memory 78.42 GiB is allocated by "
    "PyTorch, and 38.11 MiB is reserved by PyTorch but unallocated."
)
OLD_TORCH = (
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.77 GiB total "
    "capacity; 14.20 GiB already allocated; "
    "10.19 MiB free; 14.50 GiB reserved in total by PyTorch)"
)
RAY = (
    "Memory on the node (IP: 10.0.0.4, ID: 3f) where the task was running was 122.90GB / "
    "128.00GB (0.960146), which exceeds the memory "
    "usage threshold of 0.95. Ray killed this worker (ID: 55) because it was the most "
    "recently scheduled task"
)
CGROUP = (
    "Memory cgroup out of memory: Killed process 4242 (VLLM::EngineCor) total-vm:98765432kB, "
    "anon-rss:66123456kB, file-rss:0kB"
)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            TORCH,
            (
                "tried 224.00 MiB on GPU 3, 150.94 MiB of 79.25 GiB free; PyTorch holds 78.42 "
                "GiB, 38.11 MiB more are reserved and unused"
            ),
        ),
        (
            OLD_TORCH,
            (
                "tried 20.00 MiB on GPU 0, 10.19 MiB of 15.77 GiB free; PyTorch holds 14.20 "
                "GiB, 14.50 GiB reserved in all"
            ),
        ),
        (
            RAY,
            (
                "ray's memory monitor: 122.90GB of the node's 128.00GB in use, over its "
                "threshold of 0.95"
            ),
        ),
        (
            "3 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed",
            "ray's memory monitor killed 3 workers to free the node's memory",
        ),
        (
            CGROUP,
            (
                "the kernel killed VLLM::EngineCor (process 4242) at 63.1 GiB: the container's "
                "memory limit was reached"
            ),
        ),
        (
            "Out of memory: Killed process 7 (python3) total-vm:1kB, anon-rss:1048576kB",
            "the node's memory ran out",
        ),
        ("Tried to allocate 2.00 GiB", ""),
        ("nothing about memory", ""),
    ],
)
def test_the_figures_are_kept(line: str, says: str) -> None:
    assert says in memory_figures(line)
    assert bool(memory_figures(line)) is bool(says)
