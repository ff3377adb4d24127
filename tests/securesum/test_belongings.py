"""Keys on disk, and addresses of relays: what is refused before anything leaves."""

import subprocess
from typing import Any

import pytest

from mdrr.errors import ProtocolError, SchemaError
from mdrr.securesum.belongings import load_or_make
from mdrr.securesum.transport.remote import RemotePost
from mdrr.source import SeededSource


def test_keys_are_made_once_and_for_their_owner_only(tmp_path: Any) -> None:
    path = tmp_path / "deep" / "keys.json"
    made = load_or_make(path, SeededSource(1))
    assert load_or_make(path, SeededSource(2)) == made
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert repr(made).count("secret") == 0
    path.write_text('{"signing": "AAAA"}')
    with pytest.raises(ProtocolError, match="32 bytes"):
        load_or_make(path, SeededSource(1))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_keys_that_others_could_use_are_refused_until_the_advice_is_followed(
    tmp_path: Any, mode: int
) -> None:
    path = tmp_path / "my keys.json"
    made = load_or_make(path, SeededSource(1))
    path.chmod(mode)
    with pytest.raises(ProtocolError, match=f"mode {mode:03o}") as refused:
        load_or_make(path, SeededSource(1))
    advice = str(refused.value).partition("run: ")[2].partition(". Otherwise")[0]
    subprocess.run(advice, shell=True, check=True)
    assert load_or_make(path, SeededSource(1)) == made


def test_a_folder_is_no_key_file(tmp_path: Any) -> None:
    with pytest.raises(SchemaError, match=r"is a folder\. Name a file for the keys"):
        load_or_make(tmp_path, SeededSource(1))


@pytest.mark.parametrize("url", ["localhost:8765", "127.0.0.1:9", "ftp://relay", "http://", ""])
def test_an_address_no_waiting_makes_right_is_refused_at_once(url: str) -> None:
    with pytest.raises(ProtocolError, match="not the address of a relay"):
        RemotePost(url)


@pytest.mark.parametrize("url", ["http://relay.example.org", "http://192.0.2.7:8765"])
def test_another_machine_without_tls_is_refused_unless_it_is_asked_for(url: str) -> None:
    with pytest.raises(ProtocolError, match="https:// address, or say --plain-http"):
        RemotePost(url)
    RemotePost(url, plain=True).close()


@pytest.mark.parametrize(
    "url",
    ["http://localhost:1", "http://127.0.0.1:1", "http://127.3.2.1", "http://[::1]:1",
     "https://relay.example.org"],
)  # fmt: skip
def test_this_machine_and_tls_need_no_asking(url: str) -> None:
    client = RemotePost(url)
    assert client.sent == 0
    client.close()
