"""The kernel's own words about GPUs and memory: Xid lines, GSP time-outs, amdgpu resets, the OOM
killer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from barostat.catalog.signals import signal
from barostat.catalog.xid import Xid, xid
from barostat.core.signal import Signal

LONGEST = 4_096
QUOTED = 300

_XID = re.compile(
    r"(?<![A-Za-z])(?P<switch>S?)[Xx][Ii][Dd]\b(?: error| code)?\s*+(?:\((?:PCI:)?(?P<bus>[^)]*)\))?\s*+"
    r"[:=]?\s*+(?P<code>\d{1,5})\b(?P<rest>.*)"
)
_CARD_ERROR = re.compile(
    r"fallen off the bus|GPU is lost|heartbeat timed out|GSP.{0,60}(?:[Tt]imeout|timed out)|RmInitAdapter failed|GPU[ -]?[Ll]ost"
    r"|amdgpu.*(?:GPU reset begin|\bring \S+ timeout|GPU reset(?:\(\d+\))? failed|GPU hang|failed to respond|MES might be in unrecoverable"
    r"|HW Exception|[Uu]ncorrectable (?:hardware )?error|RAS:? .*uncorrect|RAS.*poison|Fatal error during GPU init|device lost)"
    r"|\[drm:amdgpu_job_timedout|AER:.*Uncorrect\w+ \(Fatal\)",
)
# NVSWITCH_ERROR_SEVERITY_FATAL is 1, NONFATAL is 0
_SWITCH_FATAL = re.compile(r"\bFatal\b|\bSeverity 1\b")
_HEARTBEAT = re.compile(r"heartbeat timed out", re.IGNORECASE)
_PAGE_FAULT = re.compile(r"amdgpu.*\[?(?:gfxhub|mmhub)\d*\]? .*page fault")
_OOM_KILL = re.compile(
    r"(?:[Oo]ut of memory|OOM): Kill(?:ed)? process (?P<pid>\d+)(?: \((?P<name>[^)]*)\))?"
    r"|oom-kill:.*task=(?P<task>[^,]*),pid=(?P<taskpid>\d+)"
    r"|earlyoom.*sending SIG(?:TERM|KILL) to process (?P<earlypid>\d+)"
    r"|systemd-oomd.*Killed (?P<unit>\S+) due to (?:memory|swap)"
    r"|System OOM encountered, victim process: (?P<victim>[^,]+), pid: (?P<victimpid>\d+)"
)
_BOOT = re.compile(r"(?:^|\s|\]\s)Linux version \d|^-- (?:Boot|Reboot)\b")
# The allocation that the driver retries: it is printed by healthy engines and predicts nothing.
_BENIGN = re.compile(r"NV_ERR_NO_MEMORY|nvCheckOkFailedNoLog")

_ISO = re.compile(
    r"^\[?(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,]\d{1,9})?(?:[Zz]|([-+])(\d\d):?(\d\d))?"
)
_CTIME = re.compile(r"^\[\w{3} (\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\]")
_SYSLOG = re.compile(r"^(\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)\b")
_UPTIME = re.compile(r"^(?:<\d+>)?\[ *(\d+\.\d+)\]")
_PLAIN_YEAR = 2001
_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}


@dataclass(frozen=True, slots=True)
class KernelTime:
    """When a line was printed. `year_known` False: `s` counts from the start of an unknown year;
    `uptime`: from the boot.
    """

    s: float
    year_known: bool = True
    uptime: bool = False


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """All lines of one kind since the last boot that the log shows.

    `kind` is the catalogue's signal name; `codes` the Xid numbers among them; `names` the processes
    that were killed; `quote` the last line, cut.
    """

    kind: str
    count: int
    last: KernelTime | None
    quote: str
    codes: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelDigest:
    """A kernel log in a nutshell.

    `pending`: meanings of codes that wait for a reset; `unclear`: codes that decide nothing.
    """

    source: str
    lines: int = 0
    events: tuple[KernelEvent, ...] = ()
    pending: tuple[int, ...] = ()
    unclear: tuple[int, ...] = ()
    last: KernelTime | None = None
    problems: tuple[str, ...] = ()

    def event(self, kind: str) -> KernelEvent | None:
        """The event of this kind, or None."""
        return next((event for event in self.events if event.kind == kind), None)

    def signals(self, at: float) -> dict[str, Signal]:
        """The kernel_* signals as seen at `at` (unix seconds), 0 where the log holds no line of the
        kind.

        A line without a year belongs to the latest year that puts it before `at`; where only the
        uptime is printed, the last line is put at `at`.
        """
        found: dict[str, Signal] = {}
        for kind in _KINDS:
            event = self.event(kind)
            if event is None:
                made = signal(kind, [(at, 0.0)], self.source)
            else:
                named = [
                    f"Xid {code}: {xid(code, event.quote).meaning}" for code in event.codes
                ] or list(event.names)
                detail = "; ".join([*named, event.quote])
                made = signal(
                    kind, [(self._instant(event.last, at), float(event.count))], self.source, detail
                )
            if made is not None:
                found[kind] = made
        return found

    def _instant(self, when: KernelTime | None, at: float) -> float:
        if when is None:
            return at
        if when.uptime:
            return at - (self.last.s - when.s) if self.last is not None and self.last.uptime else at
        if when.year_known:
            return min(when.s, at)
        year = datetime.fromtimestamp(at, UTC).year
        then = _in_year(when.s, year)
        return min(then if then <= at + 86_400.0 else _in_year(when.s, year - 1), at)


_KINDS = ("kernel_xid_fatal", "kernel_xid_software", "kernel_oom_kill", "kernel_gpu_error")


@dataclass(slots=True)
class _Tally:
    count: int = 0
    last: KernelTime | None = None
    quote: str = ""
    codes: set[int] = field(default_factory=set)
    names: dict[str, None] = field(default_factory=dict)

    def add(self, text: str, when: KernelTime | None) -> None:
        self.count += 1
        self.last = when or self.last
        self.quote = text.strip()[:QUOTED]


@dataclass(slots=True)
class _Boot:
    """What happened since the last boot.

    `cards`: per bus address the application's lines, held back until it is known whether the card
    broke.
    """

    fatal: _Tally = field(default_factory=_Tally)
    driver: _Tally = field(default_factory=_Tally)
    killed: _Tally = field(default_factory=_Tally)
    cards: dict[str, _Tally] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    pids: set[str] = field(default_factory=set)
    pending: set[int] = field(default_factory=set)
    unclear: set[int] = field(default_factory=set)


def digest(lines: Iterable[str], *, source: str) -> KernelDigest:
    """Digest the text of dmesg, journalctl or node events, in one pass with constant memory.
    `source` names it for the user.

    Lines before the last boot are ignored, because a reset or a reboot may have fixed their cause.

    Errors: none; binary lines are counted in `problems`.
    """
    boot = _Boot()
    count = binary = 0
    last: KernelTime | None = None
    for raw in lines:
        count += 1
        text = raw[:LONGEST]
        if "\0" in text:
            binary += 1
            text = text.replace("\0", "")
        when = _time_of(text)
        last = when or last
        if _BOOT.search(text):
            boot, last = _Boot(), when
            continue
        _read(text, when, boot)
    problems = (
        (f"{binary} lines hold binary data: part of this is not a text log",) if binary else ()
    )
    return KernelDigest(
        source,
        count,
        _events(boot),
        tuple(sorted(boot.pending)),
        tuple(sorted(boot.unclear)),
        last,
        problems,
    )


def _read(text: str, when: KernelTime | None, boot: _Boot) -> None:
    if _BENIGN.search(text):
        return
    if found := _XID.search(text):
        _read_xid(found, text, when, boot)
    elif found := _OOM_KILL.search(text):
        pid = (
            found["pid"]
            or found["taskpid"]
            or found["victimpid"]
            or found["earlypid"]
            or found["unit"]
            or ""
        )
        if pid in boot.pids:
            return
        if len(boot.pids) < 1_000:
            boot.pids.add(pid)
        boot.killed.add(text, when)
        name = found["name"] or found["task"] or found["victim"] or found["unit"]
        if name and len(boot.killed.names) < 8:
            boot.killed.names[name[:60]] = None
    elif _CARD_ERROR.search(text) or _HEARTBEAT.search(text):
        boot.driver.add(text, when)
    elif _PAGE_FAULT.search(text):
        boot.cards.setdefault("amdgpu", _Tally()).add(text, when)


def _read_xid(found: re.Match[str], text: str, when: KernelTime | None, boot: _Boot) -> None:
    if found["switch"]:  # the NVSwitch says itself whether its error is fatal
        if _SWITCH_FATAL.search(found["rest"]) and "Non-fatal" not in found["rest"]:
            boot.driver.add(text, when)
        return
    bus = (found["bus"] or "").lower()
    meaning: Xid = xid(int(found["code"]), found["rest"])
    match meaning.kind:
        case "fatal":
            boot.fatal.add(text, when)
            boot.fatal.codes.add(meaning.code)
            if len(boot.broken) < 64:
                boot.broken.add(bus)
        case "application":
            if bus in boot.cards or len(boot.cards) < 64:
                tally = boot.cards.setdefault(bus, _Tally())
                tally.add(text, when)
                tally.codes.add(meaning.code)
        case "pending":
            boot.pending.add(meaning.code)
        case "unclear" if len(boot.unclear) < 64:
            boot.unclear.add(meaning.code)


def _events(boot: _Boot) -> tuple[KernelEvent, ...]:
    software = _Tally()
    for bus, tally in boot.cards.items():
        if bus in boot.broken:
            continue  # the same card failed: what its programs ran into is a consequence
        software.count += tally.count
        software.codes |= tally.codes
        software.quote, software.last = tally.quote, tally.last
    tallies = {
        "kernel_xid_fatal": boot.fatal,
        "kernel_xid_software": software,
        "kernel_oom_kill": boot.killed,
        "kernel_gpu_error": boot.driver,
    }
    return tuple(
        KernelEvent(
            kind,
            tally.count,
            tally.last,
            tally.quote,
            tuple(sorted(tally.codes)),
            tuple(tally.names),
        )
        for kind, tally in tallies.items()
        if tally.count
    )


def _year_start(year: int) -> float:
    return datetime(year, 1, 1, tzinfo=UTC).timestamp()


def _in_year(s: float, year: int) -> float:
    """Seconds of a year without a leap day, as an instant of this year."""
    leap_day = 86_400.0 if year % 4 == 0 and s >= 59 * 86_400.0 else 0.0
    return _year_start(year) + s + leap_day


def _time_of(text: str) -> KernelTime | None:
    try:
        if found := _ISO.match(text):
            *parts, sign, hours, minutes = found.groups()
            written = datetime(*map(int, parts), tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]
            # `dmesg --time-format iso`: the node's own clock, and how far ahead it is
            ahead_s = int(hours) * 3600 + int(minutes) * 60 if sign else 0
            return KernelTime(written + (ahead_s if sign == "-" else -ahead_s))
        if found := _CTIME.match(text):
            month, day, hour, minute, second, year = found.groups()
            return KernelTime(
                datetime(
                    int(year),
                    _MONTHS[month],
                    int(day),
                    int(hour),
                    int(minute),
                    int(second),
                    tzinfo=UTC,
                ).timestamp()
            )
        if found := _SYSLOG.match(text):
            month, day, hour, minute, second = found.groups()
            then = datetime(
                _PLAIN_YEAR,
                _MONTHS[month],
                int(day),
                int(hour),
                int(minute),
                int(second),
                tzinfo=UTC,
            )
            return KernelTime(then.timestamp() - _year_start(_PLAIN_YEAR), year_known=False)
        if found := _UPTIME.match(text):
            return KernelTime(float(found[1]), uptime=True)
    except (ValueError, KeyError, OverflowError):
        return None
    return None
