"""Archives that strangers send."""

from __future__ import annotations

import gzip
import io
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barostat.core.errors import InputError
from barostat.io.bundles.archive import ArchiveBounds, Truncated, is_archive, members

UNBOUNDED = ArchiveBounds()


def _packed(path: Path, files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w", format=form) as tar:
        for name, content in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))
    return path


def _with(path: Path, header: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w") as tar:
        tar.addfile(tarfile.TarInfo("logs"))
        tar.addfile(header)
    return path


def _content(path: Path, bounds: ArchiveBounds = UNBOUNDED) -> dict[str, bytes]:
    found = {}
    for name, file in members(path, bounds):
        parts = []
        while part := file.read(1000):
            parts.append(part)
        found[name] = b"".join(parts)
    return found


FILES = {
    "metrics/a/1.prom": b"x 1\n" * 700,
    "logs/a.log": b"line\n",
    "logs/empty.log": b"",
    "metrics/" + "long" * 60 + "/2.prom": b"y",
    "é/ü.log": b"z",
}


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("name", ["b.tar", "b.tar.gz", "b.tgz"])
def test_every_file_comes_out_as_it_went_in(tmp_path: Path, name: str, form: int) -> None:
    assert _content(_packed(tmp_path / name, FILES, form)) == FILES


def test_files_that_nobody_reads_are_passed_over(tmp_path: Path) -> None:
    assert [name for name, _ in members(_packed(tmp_path / "b.tgz", FILES))] == list(FILES)


@pytest.mark.parametrize(
    "name", ["../evil.log", "/etc/passwd", "logs/../../evil", "a/..", "..\\evil.log", "\\evil"]
)
def test_a_member_that_points_outside_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="points outside the archive") as caught:
        _content(_with(tmp_path / "b.tar", tarfile.TarInfo(name)))
    assert name.replace("\\", "\\\\") in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.LNKTYPE, "a hard link"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.BLKTYPE, "a device"),
        (tarfile.FIFOTYPE, "a pipe"),
        (tarfile.GNUTYPE_SPARSE, "a sparse file"),
        (b"Z", "of an unknown kind"),
    ],
)
def test_what_is_neither_file_nor_directory_is_refused_by_name(
    tmp_path: Path, kind: bytes, said: str
) -> None:
    header = tarfile.TarInfo("logs/a.log")
    header.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
    block = header.tobuf(tarfile.USTAR_FORMAT)
    raw = bytearray(block)
    raw[156:157] = kind
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw[:512])
    path = tmp_path / "b.tar"
    path.write_bytes(bytes(raw) + b"\0" * 1024)
    with pytest.raises(InputError, match=f"'logs/a.log' is {said}"):
        _content(path)


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    path = _packed(tmp_path / "b.tar", {f"logs/{number}.log": b"" for number in range(12)})
    with pytest.raises(InputError, match="more than 10 members"):
        _content(path, ArchiveBounds(members=10))


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(
    tmp_path: Path,
) -> None:
    header = tarfile.TarInfo("logs/a.log")
    header.size = 5 << 30
    path = tmp_path / "b.tar.gz"
    path.write_bytes(gzip.compress(header.tobuf(tarfile.GNU_FORMAT)))
    with pytest.raises(InputError, match="more than 4 GiB"):
        _content(path)


def test_a_name_of_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 2 << 20
    path = tmp_path / "b.tar"
    path.write_bytes(header.tobuf(tarfile.USTAR_FORMAT) + b"\0" * 4096)
    with pytest.raises(InputError, match="a name record of more than 1 MiB"):
        _content(path)


@pytest.mark.parametrize("name", ["b.tar", "b.tgz"])
def test_wherever_an_archive_ends_what_came_before_is_given_and_the_end_is_told(
    tmp_path: Path, name: str
) -> None:
    whole = _packed(
        tmp_path / f"whole-{name}",
        {f"logs/{number}.log": bytes([65 + number]) * 3000 for number in range(5)},
    )
    raw = whole.read_bytes()
    seen = set()
    told: list[str] = []
    for end in range(0, len(raw) - 1, max(1, len(raw) // 60)):
        path = tmp_path / name
        path.write_bytes(raw[:end])
        found: dict[str, bytes] = {}
        try:
            for member, file in members(path):
                found[member] = file.read(3000)
        except Truncated as error:
            told.append(error.what)
            seen.add(len(found))
        for member, content in found.items():
            assert content in (bytes([65 + int(member[5])]) * 3000)[:3000]
    assert len(seen) > 3
    assert all(told)


@given(st.binary(max_size=3000), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_at_all_raise_anything_but_a_clear_error(
    tmp_path: Path, content: bytes, packed: bool
) -> None:
    path = tmp_path / "b.tar"
    path.write_bytes(gzip.compress(content) if packed else content)
    with suppress(InputError):
        _content(path)


def test_an_archive_is_told_by_its_first_header_or_its_name(tmp_path: Path) -> None:
    unnamed = _packed(tmp_path / "b.tgz", FILES).rename(tmp_path / "incident")
    (tmp_path / "empty.tgz").write_bytes(b"")
    (tmp_path / "a.log").write_bytes(b"INFO hello\n" * 100)
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(b"INFO hello\n" * 100))
    told = {
        name: is_archive(tmp_path / name) for name in ("incident", "empty.tgz", "a.log", "a.log.gz")
    }
    assert unnamed.exists()
    assert told == {"incident": True, "empty.tgz": True, "a.log": False, "a.log.gz": False}


def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path: Path) -> None:
    path = _packed(tmp_path / "bomb.tar.gz", {"logs/a.log": b"\0" * (20 << 20)})
    with pytest.raises(InputError, match="unpacks to more than 120") as refused:
        _content(path)
    assert "bomb.tar.gz" in str(refused.value)
