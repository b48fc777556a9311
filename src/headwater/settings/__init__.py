"""Settings: read once from environment and file, frozen, every limit with a safe default."""

import os
import tomllib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AliasChoices,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from headwater import __version__
from headwater.core.errors import BadSettings
from headwater.core.values.url import redacted
from headwater.settings.parsing import (
    check_admin_token,
    is_contact,
    parse_list,
    read_secret_file,
    unknown_names,
    within_reason,
)
from headwater.settings.personal import PersonalSettings
from headwater.settings.releases import ReleaseSettings
from headwater.settings.sinks import SinkSetting as SinkSetting

MIB = 1024 * 1024
YEAR = 366 * 86_400


def _plain(name: str, default: Any, **rules: Any) -> Any:
    """Make a setting that works with and without `HEADWATER_` in front of its name."""
    return Field(
        default, validation_alias=AliasChoices(f"HEADWATER_{name}", name, name.lower()), **rules
    )


class Settings(PersonalSettings, ReleaseSettings, BaseSettings):
    """All settings. Names are lower case here and in the file, upper case in the environment."""

    model_config = SettingsConfigDict(
        env_prefix="HEADWATER_",
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        # `_parse_lists` below reads lists: JSON, or values with commas between them.
        enable_decoding=False,
        env_ignore_empty=True,
    )

    # Folders and databases
    data_dir: Path = Path("data")
    database_url: str | None = _plain("DATABASE_URL", None)
    database_pool_size: int = Field(5, ge=1, le=100)
    blob_url: str | None = None
    secret_key: SecretStr | None = None
    secret_key_file: Path | None = None

    # API and gRPC
    host: str = "127.0.0.1"
    port: int = Field(8470, ge=0, le=65_535)
    public_base_url: str | None = None
    hub_url: str | None = None
    admin_token: SecretStr | None = None
    admin_token_file: Path | None = None
    api_max_body_bytes: int = Field(MIB, ge=1024)
    api_max_page: int = Field(500, ge=1)
    api_rate_per_minute: int = Field(600, ge=1)
    streams_max: int = Field(1_100, ge=1, le=100_000)
    stream_slow_seconds: float = Field(30.0, ge=1, le=3_600)
    opml_max_bytes: int = Field(5 * MIB, ge=1024)
    idempotency_hours: int = Field(24, ge=1)
    grpc_host: str = "127.0.0.1"
    grpc_port: int | None = Field(None, ge=0, le=65_535)
    grpc_tls_certificate: Path | None = None
    grpc_tls_key: Path | None = None
    grpc_max_message_bytes: int = Field(4 * MIB, ge=65_536, le=512 * MIB)
    grpc_calls_max: int = Field(256, ge=1, le=10_000)
    grpc_streams_max: int = Field(100, ge=1, le=10_000)
    grpc_deadline_seconds: float = Field(30.0, gt=0, le=600)
    grpc_stream_seconds: float = Field(3_600.0, gt=0)

    # Fetching. Names made with `_plain` work without the prefix too.
    user_agent_contact: str | None = None
    fetch_timeout_ms: int = _plain("FETCH_TIMEOUT_MS", 30_000, ge=100)
    connect_timeout_ms: int = Field(5_000, ge=100)
    tls_timeout_ms: int = Field(10_000, ge=100)
    first_byte_timeout_ms: int = Field(15_000, ge=100)
    idle_timeout_ms: int = Field(10_000, ge=1_000)
    max_redirects: int = _plain("MAX_REDIRECTS", 5, ge=0, le=20)
    max_body_bytes: int = _plain("MAX_BODY_BYTES", 10 * MIB, ge=1024)
    max_header_bytes: int = Field(65_536, ge=1024)
    max_header_line_bytes: int = Field(8_192, ge=256)
    max_header_fields: int = Field(128, ge=8)
    max_informational_responses: int = Field(8, ge=0)
    allowed_content_types: list[str] = _plain("ALLOWED_CONTENT_TYPES", [])
    allow_addresses: list[str] = Field(default_factory=list)
    allowed_ports: list[Annotated[int, Field(ge=1, le=65_535)]] = Field(
        default_factory=lambda: [80, 443, 8080, 8443]
    )
    egress_allow_hosts: list[str] = Field(default_factory=list)
    egress_deny_hosts: list[str] = Field(default_factory=list)
    host_max_concurrency: int = _plain("HOST_MAX_CONCURRENCY", 2, ge=1)
    host_rps: float = _plain("HOST_RPS", 1.0, gt=0)
    address_rps: float = Field(5.0, gt=0)
    whole_fetch_days: float = Field(28.0, gt=0)
    refetch_min_seconds: float = Field(60.0, ge=0)

    # Parsing
    parser_processes: int = Field(2, ge=1, le=64)
    parser_cpu_seconds: int = Field(5, ge=1)
    parser_memory_bytes: int = Field(512 * MIB, ge=64 * MIB)
    max_xml_depth: int = _plain("MAX_XML_DEPTH", 100, ge=10, le=250)
    max_items: int = Field(5_000, ge=1)
    max_title_chars: int = Field(1_024, ge=16)
    max_guid_bytes: int = Field(4_096, ge=64)
    max_content_bytes: int = Field(MIB, ge=1024)
    max_new_entries_per_day: int = Field(5_000, ge=1)
    author_emails: Literal["keep", "redact", "hash"] = "keep"

    # Scheduling: the fields of `SchedulePolicy`. Errors name the settings as they stand here.
    sched_initial_interval_sec: float = _plain("SCHED_INITIAL_INTERVAL_SEC", 900.0, ge=1, le=YEAR)
    sched_min_interval_sec: float = _plain("SCHED_MIN_INTERVAL_SEC", 300.0, ge=1, le=YEAR)
    sched_max_interval_sec: float = _plain("SCHED_MAX_INTERVAL_SEC", 86_400.0, ge=1, le=YEAR)
    sched_up_factor: float = _plain("SCHED_UP_FACTOR", 1.25, ge=1, le=100)
    sched_down_factor: float = _plain("SCHED_DOWN_FACTOR", 0.75, ge=0.01, le=1)
    sched_ewma_alpha: float = _plain("SCHED_EWMA_ALPHA", 0.3, ge=0.001, le=1)
    sched_blend_lambda: float = _plain("SCHED_BLEND_LAMBDA", 0.5, ge=0, le=1)
    sched_jitter_ratio: float = _plain("SCHED_JITTER_RATIO", 0.15, ge=0, le=0.9)
    sched_backoff_base: float = _plain("SCHED_BACKOFF_BASE", 2.0, ge=1, le=100)
    sched_backoff_cap_sec: float = _plain("SCHED_BACKOFF_CAP_SEC", 3_600.0, ge=1, le=YEAR)
    sched_error_budget: int = _plain("SCHED_ERROR_BUDGET", 10, ge=1, le=1_000_000)
    retry_after_cap_sec: float = Field(86_400.0, ge=1, le=YEAR)
    moved_after_count: int = Field(3, ge=1)
    moved_after_hours: float = Field(24.0, ge=0)
    failing_after: int = Field(3, ge=1)

    # Asking fetchers
    broadcast_timeout_sec: float = Field(60.0, gt=0, le=600)
    fetcher_answer_timeout_sec: float = Field(5.0, gt=0, le=600)
    max_fetchers: int = Field(100, ge=1, le=10_000)
    fetchers_at_once: int = Field(32, ge=1, le=1_000)
    fetcher_claims_max: int = Field(100, ge=1, le=1_000)
    fetcher_lease_max_seconds: float = Field(900.0, ge=5, le=86_400)
    fetcher_report_max_bytes: int = Field(20 * MIB, ge=1024)
    news_streams_max: int = Field(100, ge=1, le=10_000)
    news_timeout_ms: int = Field(10_000, ge=100, le=60_000)
    news_pause_cap_sec: float = Field(3_600.0, ge=1)
    fetchers_start_disabled: bool = False

    # Finding the best fetcher
    suggestion_min_visits: int = Field(20, ge=1)
    suggestion_days: int = Field(30, ge=1, le=3_650)
    auto_resolve: bool = False

    # The worker
    visits_at_once: int = Field(256, ge=1, le=10_000)
    claim_batch: int = Field(500, ge=1, le=10_000)
    lease_seconds: float = Field(120.0, ge=5)
    stop_seconds: float = Field(10.0, ge=0)

    # Retention and statistics
    raw_keep_unchanged: int = Field(20, ge=1)
    raw_keep_days: int | None = Field(None, ge=1)
    visits_keep: int = Field(1_000, ge=10)
    statistics_days: int = Field(90, ge=1, le=3_650)
    housekeeping_minutes: float = Field(60.0, gt=0)
    export_hold_back_sec: float = Field(900.0, ge=0)

    # Sinks, logs, traces, metrics
    sinks: list[SinkSetting] = Field(default_factory=list)
    sinks_max: int = Field(100, ge=1, le=10_000)
    sinks_at_once: int = Field(16, ge=2, le=1_000)
    sink_pause_cap_sec: float = Field(3_600.0, ge=1)
    sink_refused_attempts: int = Field(3, ge=1, le=1_000)
    sink_give_up_days: float = Field(5.0, gt=0)
    sink_lease_seconds: float = Field(15.0, ge=1, le=3_600)
    out_dir: Path | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "json", "text"] = "auto"
    otlp_endpoint: str | None = None
    otlp_headers: SecretStr | None = None
    otlp_service_name: str = Field("headwater", min_length=1, max_length=200)
    trace_sample_ratio: float = Field(1.0, ge=0, le=1)
    metrics_top_feeds: int = Field(20, ge=0, le=1_000)
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = Field(None, ge=0, le=65_535)
    slo_p99_ms: float = Field(5_000.0, gt=0, le=30_000)
    slo_failed_share: float = Field(0.02, gt=0, le=1)
    slo_fresh_share: float = Field(0.95, ge=0, le=1)

    @field_validator(
        "allowed_content_types",
        "allow_addresses",
        "allowed_ports",
        "egress_allow_hosts",
        "egress_deny_hosts",
        "sinks",
        "personal_categories",
        "media_include",
        "media_exclude",
        mode="before",
    )
    @classmethod
    def _parse_lists(cls, value: Any) -> Any:
        return parse_list(value) if isinstance(value, str) else value

    _within_reason = field_validator("*")(within_reason)

    @field_validator("sinks")
    @classmethod
    def _names_are_unique(cls, value: list[SinkSetting]) -> list[SinkSetting]:
        if len({sink.name for sink in value}) != len(value):
            raise ValueError("must not name one sink twice")
        return value

    @field_validator("user_agent_contact")
    @classmethod
    def _fits_a_header(cls, value: str | None) -> str | None:
        if value is not None and not is_contact(value):
            raise ValueError("must be a URL or an e-mail address in plain ASCII")
        return value

    @field_validator("public_base_url", "hub_url", "otlp_endpoint", "media_client_url")
    @classmethod
    def _absolute(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        if value is not None and not is_contact(value):
            raise ValueError("must be plain ASCII without spaces or brackets")
        return value

    @field_validator("public_base_url")
    @classmethod
    def _paths_may_follow(cls, value: str | None) -> str | None:
        if value is not None and ("?" in value or "#" in value):
            raise ValueError("must end with a host or a path: addresses are put behind it")
        return value

    @model_validator(mode="after")
    def _leaves_room(self) -> Self:
        least, most = self.sched_min_interval_sec, self.sched_max_interval_sec
        if least > most:
            raise ValueError(
                f"sched_min_interval_sec ({least:.15g}) is above sched_max_interval_sec"
                f" ({most:.15g})"
            )
        return self

    @cached_property
    def is_embedded(self) -> bool:
        """True when the database is a file of our own, which we may migrate by ourselves."""
        return self.where_database.startswith("sqlite")

    @property
    def where_database(self) -> str:
        file = str(self.data_dir.absolute() / "headwater.db")
        as_part_of_url = file.replace("%", "%25").replace("?", "%3F")
        return self.database_url or f"sqlite:///{as_part_of_url}"

    @property
    def user_agent(self) -> str:
        """One honest name for every request: product, real version, and a contact."""
        contact = self.user_agent_contact or self.public_base_url
        if contact is None:
            return f"Headwater/{__version__} (self-hosted feed engine; contact not set)"
        return f"Headwater/{__version__} (+{contact})"

    @property
    def where_blobs(self) -> str:
        return self.blob_url or str(self.data_dir.absolute() / "blobs")

    @property
    def where_out(self) -> Path:
        """The folder that the files of sinks stay in."""
        return (self.out_dir or self.data_dir / "out").absolute()

    @cached_property
    def admin_secret(self) -> str | None:
        """The admin token itself, from the setting or from its file."""
        if self.admin_token is not None:
            return check_admin_token(self.admin_token.get_secret_value())
        if self.admin_token_file is None:
            return None
        return check_admin_token(read_secret_file(self.admin_token_file, "admin token file"))

    @property
    def where_secret_key(self) -> Path:
        """The file of the key that we make, when no key is set."""
        return self.data_dir.absolute() / "secret.key"

    @cached_property
    def secret_keys(self) -> str | None:
        """The keys that seal secrets, as they were set. None means the file in the data folder."""
        if self.secret_key is not None:
            return self.secret_key.get_secret_value()
        if self.secret_key_file is None:
            return None
        return read_secret_file(self.secret_key_file, "secret key file")

    @cached_property
    def media_password(self) -> str:
        """The download client's password, from the setting or from its file."""
        if self.media_client_password is not None:
            return self.media_client_password.get_secret_value()
        if self.media_client_password_file is None:
            return ""
        return read_secret_file(self.media_client_password_file, "media client password file")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings


def load_settings(**overrides: Any) -> Settings:
    """Load overrides, then the environment, then the TOML file that `HEADWATER_CONFIG` names."""
    set_overrides = {name: value for name, value in overrides.items() if value is not None}
    if unknown := unknown_names(os.environ, Settings.model_fields):
        raise BadSettings(f"The environment has unknown settings: {', '.join(unknown)}")
    try:
        return Settings(**(_from_file() | set_overrides))
    except ValidationError as trouble:
        complaints = [_complaint(error["loc"], error["msg"]) for error in trouble.errors()]
        raise BadSettings("Settings that do not work: " + "; ".join(complaints)) from trouble


def hidden_secrets(settings: Settings) -> dict[str, Any]:
    """Return every setting as a plain value, with tokens and passwords redacted."""
    shown = settings.model_dump(mode="json")
    for name in (
        "database_url",
        "blob_url",
        "public_base_url",
        "otlp_endpoint",
        "media_client_url",
    ):
        if shown[name] is not None:
            shown[name] = redacted(shown[name])
    if settings.personal_redis_url is not None:
        shown["personal_redis_url"] = redacted(settings.personal_redis_url.get_secret_value())
    for sink in shown["sinks"]:
        sink["options"] = {
            name: redacted(value) if isinstance(value, str) else value
            for name, value in sink["options"].items()
        }
        sink["from"] = sink.pop("start")
    return shown


def _from_file() -> dict[str, Any]:
    name = os.environ.get("HEADWATER_CONFIG")
    if not name:
        return {}
    try:
        table = tomllib.loads(Path(name).read_text("utf-8"))
    except (OSError, ValueError) as trouble:
        raise BadSettings(f"The settings file {name} cannot be read: {trouble}") from trouble
    unknown = sorted(set(table) - set(Settings.model_fields))
    if unknown:
        raise BadSettings(f"The settings file {name} has unknown settings: {', '.join(unknown)}")
    return {key: value for key, value in table.items() if not _in_environment(key)}


def _in_environment(key: str) -> bool:
    names = {f"HEADWATER_{key.upper()}"}
    alias = Settings.model_fields[key].validation_alias
    if isinstance(alias, AliasChoices):
        names |= {str(choice) for choice in alias.choices}
    return any(os.environ.get(name) for name in names)


def _complaint(place: Sequence[int | str], message: str) -> str:
    """Add the name in the environment. A complaint about several settings names them itself."""
    text = message.removeprefix("Value error, ")
    if not place:
        return text
    name = ".".join(str(part) for part in place)
    if str(place[0]) not in Settings.model_fields:
        return f"{name}: {text}"
    return f"{name} (HEADWATER_{str(place[0]).upper()}): {text}"
