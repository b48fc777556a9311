"""Settings of personal feeds: the store of readers and items, and every bound on them."""

from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

KIB = 1024


class PersonalSettings(BaseSettings):
    """Settings whose names begin with `personal_`."""

    model_config = SettingsConfigDict(defer_build=True)  # it is only ever a part of Settings

    personal_store: Literal["database", "redis"] = "database"
    personal_redis_url: SecretStr | None = None
    personal_days: float = Field(14.0, gt=0, le=3_650)
    personal_limit: int = Field(50, ge=1, le=10_000)
    personal_limit_max: int = Field(200, ge=1, le=10_000)
    personal_max_age_sec: int = Field(300, ge=0, le=86_400)
    personal_rate_per_minute: int = Field(60, ge=1)
    personal_guesses_per_minute: int = Field(30, ge=1)
    personal_categories: list[str] = Field(default_factory=list)
    personal_readers_max: int = Field(10_000, ge=1)
    personal_reader_categories_max: int = Field(500, ge=1, le=10_000)
    personal_reader_tokens_max: int = Field(20, ge=1, le=1_000)
    personal_grace_hours: float = Field(24.0, ge=0, le=8_760)
    personal_item_max_bytes: int = Field(256 * KIB, ge=KIB)
    personal_batch_max_bytes: int = Field(8 * KIB * KIB, ge=KIB)
    personal_batch_max_items: int = Field(1_000, ge=1, le=100_000)
    personal_pickup_sec: float = Field(20.0, ge=1, le=60)
    personal_cache_bytes: int = Field(64 * KIB * KIB, ge=KIB * KIB)

    @model_validator(mode="after")
    def _has_its_server(self) -> Self:
        if self.personal_store == "redis" and self.personal_redis_url is None:
            raise ValueError("personal_store = redis needs personal_redis_url")
        return self
