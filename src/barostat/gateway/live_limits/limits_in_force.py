"""The limits in force: the file's, reloaded when it changes, and temporary overrides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from barostat.core.errors import InputError
from barostat.core.limits import ServingLimits
from barostat.gateway.live_limits.overrides import (
    Fences,
    HeldByAnother,
    Override,
    asked_override,
    in_force,
)
from barostat.gateway.metrics import Metrics
from barostat.gateway.say import say
from barostat.io.input_files.file_stamp import stamp
from barostat.io.input_files.limits_file import as_document, load

_LOOK_EVERY_S = 2.0


class _Found(NamedTuple):
    """The file as it was read. `limits`: or why they cannot be used."""

    stamp: tuple[int, int, int] | None
    limits: ServingLimits | InputError


Work = Callable[[], _Found | None]


class LimitsInForce:
    """Loads the limits file. If the file is invalid, the former limits stay in force and an error
    is logged.
    """

    def __init__(
        self, path: Path, metrics: Metrics, *, with_keys: frozenset[str] | None = frozenset()
    ) -> None:
        """`with_keys`: the tenants that have keys, None without authentication. Errors: InputError
        if the file is invalid at start.
        """
        self.path = path
        self.adopt: Callable[[ServingLimits, bool], None] | None = None
        self.elsewhere: Callable[[Work, Callable[[_Found | None], None]], None] = _at_once
        """Does work that reads a file, then passes on what it found: off the loop of a gateway."""
        self._metrics = metrics
        self._with_keys = with_keys
        self._stamp = stamp(path)
        self.file = self._load()
        self.override: Override | None = None
        self._fences = Fences()
        self._looked_at = 0.0
        self._now = 0.0
        self._reads = False

    def limits(self, now: float) -> ServingLimits:
        """Return the limits in force at `now`."""
        try:
            return in_force(self.file, self.override, now)
        except InputError:  # a file that came after the override contradicts it: the file counts
            return self.file

    def reload(self, now: float) -> None:
        """Read the file; its limits are in force if they are right."""
        self._now = now
        self.elsewhere(self._read, self._found)

    def _read(self) -> _Found:
        seen = stamp(self.path)
        try:
            return _Found(seen, self._load())
        except InputError as error:
            return _Found(seen, error)

    def _read_if_changed(self) -> _Found | None:
        there = stamp(self.path)
        return None if there is None or there == self._stamp else self._read()

    def _found(self, found: _Found | None) -> None:
        self._reads = False
        if found is None:
            return
        self._stamp = found.stamp
        if isinstance(found.limits, InputError):
            self._metrics.count("limits_reloads_total", outcome="refused")
            say(str(found.limits))
            say("the limits before stay in force")
            return
        self.file = found.limits
        self._metrics.count("limits_reloads_total", outcome="taken")
        say(f"{self.path} is in force")
        self._tell(self._now)

    def _load(self) -> ServingLimits:
        limits = load(self.path)
        if not limits.spec.tenants:
            return limits
        if self._with_keys is None:
            raise InputError(
                "spec.tenants: tenants are told apart by their keys; say --keys FILE, or "
                "leave them out",
                str(self.path),
            )
        unlisted = self._with_keys - {tenant.name for tenant in limits.spec.tenants}
        if unlisted:
            names = ", ".join(sorted(unlisted))
            say(f"{self.path} lists no tenant {names}: requests with their keys are refused")
        return limits

    def tick(self, now: float) -> None:
        """Drop an expired override; reload a changed file."""
        if self.override is not None and now >= self.override.until:
            say(f"the limits set by {self.override.holder} were not renewed: the file's again")
            self.override = None
            self._metrics.count("overrides_total", outcome="expired")
            self._tell(now)
        self._now = now
        if now - self._looked_at >= _LOOK_EVERY_S and not self._reads:
            self._looked_at, self._reads = now, True
            self.elsewhere(self._read_if_changed, self._found)

    def put(self, document: Any, now: float) -> Override:
        """Put the requested override into force.

        Errors: InputError where it is wrong, HeldByAnother where another holder's is in force.
        """
        asked = asked_override(document, now)
        if refused := self._fences.refused(asked.holder, asked.epoch):
            raise HeldByAnother(refused, "epoch")
        held = self.override
        if held is not None and held.holder != asked.holder and now < held.until:
            raise HeldByAnother(
                f"the limits are held by {held.holder} for another {held.until - now:.0f} s",
                "holder",
            )
        in_force(self.file, asked, now)
        self._fences.heard(asked.holder, asked.epoch, ended=False)
        self.override = asked
        if held is None or (held.holder, held.values, held.enforce) != (
            asked.holder,
            asked.values,
            asked.enforce,
        ):
            self._metrics.count("overrides_total", outcome="set")
            watched = " (and enforces them)" if asked.enforce else ""
            values = ", ".join(f"{name} {value:.10g}" for name, value in asked.values.items())
            say(f"{asked.holder} sets limits for a while{watched}: {values}")
            self._tell(now)
        return asked

    def take_back(self, now: float, holder: str = "", epoch: int = 0) -> None:
        """Remove the override. `holder`: only this holder's, and reject later writes of its runs up
        to `epoch`.

        Errors: HeldByAnother if a later run of the holder is known.
        """
        if holder:
            if (held := self.override) is not None and held.holder == holder and held.epoch > epoch:
                raise HeldByAnother(
                    f"run {epoch} of {holder} is over: run {held.epoch} goes on", "epoch"
                )
            self._fences.heard(holder, epoch, ended=True)
        if self.override is not None and holder in ("", self.override.holder):
            say(f"the limits set by {self.override.holder} are taken back: the file's again")
            self.override = None
            self._metrics.count("overrides_total", outcome="taken-back")
            self._tell(now)

    def document(self, now: float) -> dict[str, Any]:
        """Return the limits in force and their sources, as JSON values."""
        held = self.override
        lease: dict[str, Any] | None = None
        if held is not None:
            lease = {
                "holder": held.holder,
                "epoch": held.epoch,
                "limits": dict(held.values),
                "enforce": held.enforce,
            }
            lease["leaseSeconds"] = round(held.until - now, 3)
        return {"limits": as_document(self.limits(now)), "file": self.path.name, "override": lease}

    def _tell(self, now: float) -> None:
        if self.adopt is not None:
            held = self.override
            self.adopt(self.limits(now), held is not None and held.enforce)


def _at_once(work: Work, done: Callable[[_Found | None], None]) -> None:
    done(work())
