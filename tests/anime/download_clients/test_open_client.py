"""The kinds of download clients there are, and where each is found."""

from typing import get_args

import pytest

from headwater.anime.download_clients.aria2 import Aria2
from headwater.anime.download_clients.connection import DownloadClientConfig
from headwater.anime.download_clients.open_client import CLIENTS, open_download_client
from headwater.anime.download_clients.qbittorrent import QBittorrent
from headwater.anime.download_clients.transmission import Transmission
from headwater.core.errors import BadSettings
from headwater.settings.releases import DownloadClientName
from headwater.web.limits import WebLimits
from tests.support.webhook_receiver import Receiver, answer


def test_the_settings_name_every_client_and_no_other() -> None:
    assert get_args(DownloadClientName) == ("none", *CLIENTS)


@pytest.mark.parametrize(
    ("kind", "client"),
    [("qbittorrent", QBittorrent), ("transmission", Transmission), ("aria2", Aria2)],
)
async def test_a_name_opens_its_client(kind: str, client: type) -> None:
    config = DownloadClientConfig(kind, "http://127.0.0.1:9")
    opened = open_download_client(config, WebLimits(), "Headwater/test")
    assert type(opened) is client
    await opened.close()


def test_an_unknown_name_is_refused() -> None:
    config = DownloadClientConfig("deluge", "http://127.0.0.1:9")
    with pytest.raises(BadSettings, match="no download client 'deluge'"):
        open_download_client(config, WebLimits(), "Headwater/test")


@pytest.mark.parametrize(
    ("kind", "address", "asked"),
    [
        ("transmission", "", "/transmission/rpc"),
        ("transmission", "/", "/transmission/rpc"),
        ("transmission", "/behind/a/proxy/", "/behind/a/proxy"),
        ("aria2", "", "/jsonrpc"),
        ("aria2", "/rpc", "/rpc"),
    ],
)
async def test_without_a_path_a_client_is_at_its_usual_one(
    kind: str, address: str, asked: str
) -> None:
    async with Receiver() as place:
        listed = b'{"result": "success", "arguments": {"version": "4.0"}}'
        place.answers = [answer(200, listed)]
        config = DownloadClientConfig(kind, f"http://127.0.0.1:{place.port}{address}")
        opened = open_download_client(config, WebLimits(), "Headwater/test")
        await opened.version()
        await opened.close()
    assert [message.line.split()[1] for message in place.messages] == [asked]
