"""Settings of releases: the download client, the library, and every bound on both."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 1024 * 1024
DownloadClientName = Literal["none", "qbittorrent", "transmission", "aria2"]


class ReleaseSettings(BaseSettings):
    """Settings whose names begin with `media_`. Without a client nothing is downloaded: releases
    are decided and wait."""

    model_config = SettingsConfigDict(defer_build=True)  # it is only ever a part of Settings

    media_client: DownloadClientName = "none"
    media_client_url: str | None = None
    media_client_username: str = ""
    media_client_password: SecretStr | None = None
    media_client_password_file: Path | None = None
    media_client_category: str = Field("headwater", min_length=1, max_length=100)
    media_client_tag: str = Field("headwater", min_length=1, max_length=100, pattern=r"^[^,]+$")
    media_client_timeout_sec: float = Field(20.0, ge=1, le=300)
    media_library: Path | None = None
    media_downloads: Path | None = None
    media_client_downloads: str | None = None
    media_link: Literal["hardlink", "copy", "move"] = "hardlink"
    media_verify: Literal["pieces", "sizes"] = "pieces"
    media_recycle: Path | None = None
    media_recycle_days: float = Field(30.0, ge=0)
    media_delete: bool = False
    media_keep_seeding: bool = False
    media_nfo: bool = False
    media_episode_template: str | None = None
    media_film_template: str | None = None
    media_include: list[str] = Field(default_factory=list)
    media_exclude: list[str] = Field(default_factory=list)
    media_torrent_max_bytes: int = Field(10 * MIB, ge=1024, le=100 * MIB)
    media_torrent_max_files: int = Field(10_000, ge=1, le=1_000_000)
    media_free_bytes: int = Field(1024 * MIB, ge=0)
    media_look_sec: float = Field(10.0, ge=0.1, le=3_600)
    media_pause_cap_sec: float = Field(3_600.0, ge=1)
    media_attempts: int = Field(20, ge=1)
    media_stalled_hours: float = Field(72.0, gt=0)
    media_replacements_per_day: int = Field(50, ge=0)
    media_at_once: int = Field(4, ge=1, le=64)
    media_tracked_interval_sec: float = Field(1_800.0, ge=60, le=366 * 86_400)
    media_gap_hours: float = Field(24.0, gt=0)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.media_client == "none":
            return self
        for name in ("media_client_url", "media_library", "media_downloads"):
            if getattr(self, name) is None:
                raise ValueError(f"media_client = {self.media_client} needs {name}")
        return self
