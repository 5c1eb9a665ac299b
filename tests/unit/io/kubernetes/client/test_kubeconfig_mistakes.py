"""A kubeconfig, a key, a proxy or a plugin with a mistake in it: one sentence with the file and the
field, at once, and no secret in it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.io.kubernetes.client.test_kubeconfig import plugin, written

from barostat.core.errors import InputError, OutsideError
from barostat.io.kubernetes.client import login
from barostat.io.kubernetes.client.kubeconfig import find_access

DER = bytes([0x30, 0x82, 0x03, 0xFF]) * 25


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate and its key, once behind a passphrase as PKCS 8 and once in the
    older form.
    """
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here to make a key with")
    folder = tmp_path_factory.mktemp("keys")
    made = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=u",
        "-keyout",
        "plain",
        "-out",
        "crt",
    ]
    for command in (
        made,
        ["pkcs8", "-topk8", "-in", "plain", "-out", "pkcs8", "-passout", "pass:hunter2"],
        [
            "rsa",
            "-in",
            "plain",
            "-out",
            "older",
            "-aes128",
            "-traditional",
            "-passout",
            "pass:hunter2",
        ],
    ):
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("form", ["pkcs8", "older"])
def test_a_passphrase_is_never_asked_for(form: str, encrypted: Path, tmp_path: Path) -> None:
    user = {"client-certificate": str(encrypted / "crt"), "client-key": str(encrypted / form)}
    file = written(tmp_path / "config", user=user)
    program = (
        "import asyncio, sys\n"
        "from barostat.io.kubernetes.client import login\n"
        "from barostat.io.kubernetes.client.kubeconfig import find_access\n"
        "access = find_access(sys.argv[1])\n"
        "login.tls(access, asyncio.run(login.credential(access)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(file)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert f"InputError: {file}: the client-key of context 'one' is encrypted" in ran.stderr
    assert "pass phrase" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("key", ["certificate-authority", "client-certificate", "client-key"])
def test_a_binary_certificate_is_told_with_its_field_and_file(key: str, tmp_path: Path) -> None:
    (tmp_path / "der.bin").write_bytes(DER)
    at: dict[str, Any] = {"cluster" if key.startswith("certificate") else "user": {key: "der.bin"}}
    with pytest.raises(
        InputError, match=rf"config: {key} .*der\.bin is no PEM text; if it is DER: openssl"
    ):
        find_access(str(written(tmp_path / "config", **at)))


@pytest.mark.parametrize(
    "value", ["2020-13-45", "!!int x", "!!timestamp x", "!!float ''", "!!bool 7"]
)
def test_a_value_that_is_none_is_told_with_its_line(value: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(f"apiVersion: v1\na: {value}\n")
    with pytest.raises(InputError, match=r"config: is no YAML \(line 2: "):
        find_access(str(file))


@pytest.mark.parametrize(
    "server",
    [
        "127.0.0.1:1",
        "not-a-url",
        "ftp://x",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:x",
        "https://",
        "https://a b",
        "https://[::1",
        "//x",
    ],
)
@pytest.mark.parametrize("field", ["server", "proxy-url"])
def test_an_address_that_is_none_is_told_at_once(server: str, field: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"config: {field} of cluster 'c' is "):
        find_access(str(written(tmp_path / "config", cluster={field: server})))


@pytest.mark.parametrize(
    "server",
    [
        "ftp://user:hunter2@x",
        "user:hunter2@x",
        "https://user:hunter2@x:99999",
        "https://user:hun/ter2@x",
        "https://user:hunter2@[x",
    ],
)
def test_a_password_in_a_wrong_address_is_not_told(server: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as found:
        find_access(str(written(tmp_path / "config", cluster={"server": server})))
    assert "hun" not in str(found.value)
    assert "ter2" not in str(found.value)


def test_a_user_in_the_address_is_no_part_of_the_server(tmp_path: Path) -> None:
    found = find_access(
        str(
            written(
                tmp_path / "config",
                cluster={"server": "http://me:hunter%402@x:1/a/"},
                user={"as": "o"},
            )
        )
    )
    assert (found.server, found.basic) == ("http://x:1/a", ("me", "hunter@2"))
    assert (
        find_access(
            str(written(tmp_path / "config", cluster={"server": "http://me:hunter2@x:1"}))
        ).basic
        is None
    )


@pytest.mark.parametrize(
    "user",
    [
        {"token": "two\nlines"},
        {"token": "n\u00e4"},
        {"token": "t\n"},
        {"as": "a\nb"},
        {"as-groups": ["x", "\u00e4"]},
    ],
)
def test_what_no_header_can_hold_is_told(user: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"config: {next(iter(user))} of user 'u' "):
        find_access(str(written(tmp_path / "config", user=user)))


def test_a_token_file_that_holds_none_is_told(tmp_path: Path) -> None:
    for content in (DER, b"two\nlines", b""):
        (tmp_path / "token").write_bytes(content)
        access = find_access(str(written(tmp_path / "config", user={"tokenFile": "token"})))
        with pytest.raises(InputError, match="token: tokenFile holds no token"):
            asyncio.run(login.credential(access))


def test_a_proxy_of_the_environment_is_the_one_that_kubectl_would_use(tmp_path: Path) -> None:
    def proxy(server: str, **env: str) -> tuple[str | None, str]:
        file = str(written(tmp_path / "config", cluster={"server": server}))
        found = find_access(file, environment=env)
        return found.proxy, found.proxy_from

    own = "http://u:p@proxy:3128"
    assert proxy("https://k:6443", HTTPS_PROXY=own, HTTP_PROXY="socks5://x") == (own, "HTTPS_PROXY")
    assert proxy("http://k", http_proxy="proxy:3128") == ("http://proxy:3128", "http_proxy")
    assert proxy("https://127.0.0.1:6443", HTTPS_PROXY=own) == (None, "")
    for excepted in ("*", "k.example", ".example", "*.example", "a, k.example:6443"):
        assert proxy("https://k.example:6443", HTTPS_PROXY=own, NO_PROXY=excepted) == (None, "")
    for other in ("ample", "k.example:80", "a.k.example", ""):
        assert proxy("https://k.example:6443", HTTPS_PROXY=own, NO_PROXY=other) == (
            own,
            "HTTPS_PROXY",
        )
    assert proxy("https://10.1.2.3", HTTPS_PROXY=own, no_proxy="10.0.0.0/8") == (None, "")
    for wrong in ("socks5://u:hunter2@x:1", "http://u:hunter2@x:99999", "ftp://u:hunter2@x"):
        with pytest.raises(InputError, match=r"^HTTPS_PROXY: ") as told:
            proxy("https://k", HTTPS_PROXY=wrong)
        assert "hunter2" not in str(told.value)
    with pytest.raises(
        InputError, match="proxy-url of cluster 'c' is 'socks5://x:1', and SOCKS is not spoken"
    ):
        find_access(str(written(tmp_path / "config", cluster={"proxy-url": "socks5://x:1"})))


@pytest.mark.parametrize(
    "secret",
    [
        "token=hunter2secret",
        "Authorization: Bearer hunter2secret",
        "password=hunter2secret",
        "Bearer hunter2secret",
    ],
)
def test_what_a_failed_plugin_printed_is_told_without_its_secrets(
    secret: str, tmp_path: Path
) -> None:
    text = f"#!/bin/sh\necho 'it went wrong: {secret}' >&2; echo {'x' * 180} >&2; exit 3\n"
    with pytest.raises(OutsideError, match="exit code 3") as found:
        asyncio.run(login.credential(find_access(str(plugin(tmp_path, text=text)))))
    assert "secret" not in str(found.value)


def test_a_plugin_that_prints_what_is_no_token_is_told(tmp_path: Path) -> None:
    printed = json.dumps({"status": {"token": "a\nb"}})
    with pytest.raises(OutsideError, match="a token with a line break"):
        asyncio.run(
            login.credential(
                find_access(
                    str(
                        plugin(
                            tmp_path,
                            text=(
                                "#!/bin/sh\ncat "
                                f"<<'X'\n{printed.replace('{', '{{').replace('}', '}}')}\nX\n"
                            ),
                        )
                    )
                )
            )
        )
