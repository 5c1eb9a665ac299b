"""The real vLLM for tests, one at a time: engines of equal flags are shared, because a start takes
half a minute.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from dev.engine import Engine, is_installed

EngineFactory = Callable[..., Engine]
POOLING = (
    *("--max-model-len", "4096", "--num-gpu-blocks-override", "64", "--max-num-seqs", "64"),
    *("--runner", "pooling", "--convert", "embed"),
)
"""Flags of the engine that pools and does not generate."""


class _Pool:
    """At most one engine that listens; another one only after it has stopped: the machine may have
    two cores.
    """

    def __init__(self) -> None:
        self._engine: Engine | None = None

    def ready(self, *flags: str, shape: str = "tiny") -> Engine:
        """An engine with these flags that answers /health."""
        engine = self._engine
        if (
            engine is not None
            and engine.flags == flags
            and engine.shape == shape
            and engine.health() == 200
        ):
            return engine
        self.stop()
        self._engine = Engine(*flags, shape=shape).start()
        return self._engine.wait_ready()

    def stop(self) -> None:
        """No engine is left."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything that uses an engine is marked `real`. Tests of the engine that pools run one after
    another, so that it starts once.
    """
    pooling = [item for item in items if "pooling_engine" in getattr(item, "fixturenames", ())]
    if pooling:
        first = items.index(pooling[0])
        rest = [item for item in items[first:] if item not in pooling]
        items[first:] = [*pooling, *rest]
    for item in items:
        if {"real_vllm"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def real_vllm() -> bool:
    """The real vLLM is installed, else the test is skipped (with CI=true: fails)."""
    if is_installed():
        return True
    why = "the real vLLM is not installed here: run `make vllm`"
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    return pytest.skip(why)


@pytest.fixture(scope="session")
def one_engine(real_vllm: bool) -> Iterator[_Pool]:
    assert real_vllm
    pool = _Pool()
    yield pool
    pool.stop()


@pytest.fixture
def engine_factory(one_engine: _Pool) -> EngineFactory:
    """`engine_factory(*flags, shape="tiny")` gives a listening engine; the last one is kept for the
    next test that asks for the same.
    """
    return one_engine.ready


@pytest.fixture
def pooling_engine(one_engine: _Pool) -> Engine:
    """An engine that embeds, scores and ranks."""
    return one_engine.ready(*POOLING)


@pytest.fixture
def no_engine(one_engine: _Pool) -> None:
    """No engine runs: for a test that starts its own."""
    one_engine.stop()
