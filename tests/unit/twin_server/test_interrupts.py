"""Ctrl-C is remembered, also where the exception that it raises is lost, and where it was switched
off.
"""

from __future__ import annotations

import os
import signal
import weakref

import pytest

from barostat.twin_server.interrupts import remembered


class Thing:
    """Something that can be referred to weakly."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("before", [signal.default_int_handler, signal.SIG_IGN])
def test_one_that_python_loses_is_remembered(before: signal.Handlers) -> None:
    own = signal.signal(signal.SIGINT, before)
    try:
        with remembered() as interrupted:
            assert not interrupted()
            thing = Thing()
            gone = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
            del thing
            assert gone() is None
            assert interrupted()
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, own)
