"""The two ways in which something can fail that is not our bug."""

from __future__ import annotations


class InputError(Exception):
    """An error that the user can fix: what is wrong, where, and what to do, in one sentence.

    Exit code 2.
    """

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"{where}: {what}" if where else what)
        self.what = what
        self.where = where


class OutsideError(Exception):
    """The world failed: an address does not answer, a server sent half an answer.

    Exit code 4. `retryable` says whether the same call may go through later.
    """

    def __init__(self, what: str, *, retryable: bool) -> None:
        super().__init__(what)
        self.retryable = retryable
