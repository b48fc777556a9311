"""Settings: read once, from what is given, the environment, and a file, in that order."""

from pathlib import Path

import pytest

from headwater import __version__
from headwater.core.errors import BadSettings
from headwater.settings import Settings, hidden_secrets, load_settings
from headwater.wiring.policies import fetch_policy, reading_policy, schedule_policy


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"HEADWATER_{name.upper()}", raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.delenv("HEADWATER_CONFIG", raising=False)


def test_any_folder_may_hold_the_data(tmp_path: Path) -> None:
    folder = tmp_path / "50% of it?"
    where = load_settings(data_dir=folder).where_database
    assert where == f"sqlite:///{tmp_path}/50%25 of it%3F/headwater.db"


def test_the_defaults_need_nothing() -> None:
    settings = load_settings()
    assert settings.host == "127.0.0.1"
    assert settings.port == 8470
    assert settings.is_embedded
    assert settings.where_database == f"sqlite:///{Path('data').absolute()}/headwater.db"


@pytest.mark.parametrize("name", ["MAX_BODY_BYTES", "HEADWATER_MAX_BODY_BYTES"])
def test_the_seeds_names_work_with_and_without_the_prefix(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "2048")
    assert load_settings().max_body_bytes == 2048


def test_content_types_may_be_written_as_headers_have_them() -> None:
    written = load_settings(allowed_content_types="Application/RSS+XML, text/xml; charset=utf-8")
    assert fetch_policy(written).accepted_types == ("application/rss+xml", "text/xml")


def test_the_longest_guid_is_also_the_longest_link() -> None:
    limits = reading_policy(load_settings(max_guid_bytes=64)).limits
    assert (limits.guid_bytes, limits.link_bytes) == (64, 64)


def test_a_name_without_prefix_is_only_for_those_that_have_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PORT", "1")
    assert load_settings().port == 8470


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.5:8080,127.0.0.0/8",
        " 10.0.0.5:8080 , 127.0.0.0/8, ",
        '["10.0.0.5:8080", "127.0.0.0/8"]',
    ],
)
def test_a_list_in_the_environment_has_commas_or_is_json(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("HEADWATER_ALLOW_ADDRESSES", text)
    assert load_settings().allow_addresses == ["10.0.0.5:8080", "127.0.0.0/8"]


def test_a_list_of_numbers_is_read_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_ALLOWED_PORTS", "80, 443")
    assert load_settings().allowed_ports == [80, 443]


def test_an_empty_list_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_CONTENT_TYPES", "")
    assert load_settings().allowed_content_types == []


def test_a_list_that_is_neither_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_ALLOWED_PORTS", "[80,")
    with pytest.raises(BadSettings, match=r"allowed_ports.*looks like JSON"):
        load_settings()


def test_a_number_out_of_range_is_told_by_name() -> None:
    with pytest.raises(BadSettings, match="visits_at_once"):
        load_settings(visits_at_once=0)


@pytest.mark.parametrize(
    ("name", "value", "most"),
    [
        ("raw_keep_days", "36601", "36600 (100 years)"),
        ("idempotency_hours", "99999999", "878400 (100 years)"),
        ("stop_seconds", "inf", "3162240000 (100 years)"),
        ("housekeeping_minutes", "1e300", "52704000 (100 years)"),
        ("export_hold_back_sec", "inf", "3162240000 (100 years)"),
        ("visits_keep", "99999999999999999999", "1125899906842624"),
        ("host_rps", "inf", "1125899906842624"),
    ],
)
def test_for_ever_is_written_as_a_number_that_can_be_reckoned_with(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, most: str
) -> None:
    """It would be no moment any more when housekeeping, a visit or a stop comes to use it."""
    monkeypatch.setenv(f"HEADWATER_{name.upper()}", value)
    with pytest.raises(BadSettings) as refused:
        load_settings()
    assert f"HEADWATER_{name.upper()}" in refused.value.message
    assert f"must be at most {most}" in refused.value.message
    assert "; " not in refused.value.message


def test_a_hundred_years_are_kept() -> None:
    assert load_settings(raw_keep_days=36_600).raw_keep_days == 36_600


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_no_number_is_without_an_end(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if Settings.model_fields[name].annotation not in (int, float, int | None):
        return
    for value in ("inf", "nan", "99999999999999999999"):
        monkeypatch.setenv(f"HEADWATER_{name.upper()}", value)
        with pytest.raises(BadSettings, match=f"HEADWATER_{name.upper()}"):
            load_settings()


@pytest.mark.parametrize(
    ("name", "outside"),
    [
        ("sched_initial_interval_sec", ("0.5", "31622401")),
        ("sched_min_interval_sec", ("0.5", "31622401")),
        ("sched_max_interval_sec", ("0.5", "31622401")),
        ("sched_up_factor", ("0.5", "101")),
        ("sched_down_factor", ("0.001", "2")),
        ("sched_ewma_alpha", ("0.0001", "2")),
        ("sched_blend_lambda", ("-1", "2")),
        ("sched_jitter_ratio", ("-1", "0.95")),
        ("sched_backoff_base", ("0.5", "101")),
        ("sched_backoff_cap_sec", ("0.5", "31622401")),
        ("sched_error_budget", ("0", "1000001")),
        ("retry_after_cap_sec", ("0.5", "31622401")),
    ],
)
def test_what_no_schedule_could_keep_is_told_by_the_name_of_the_setting(
    monkeypatch: pytest.MonkeyPatch, name: str, outside: tuple[str, str]
) -> None:
    """The schedule has names of its own for these numbers, which no operator knows."""
    for value in outside:
        monkeypatch.setenv(f"HEADWATER_{name.upper()}", value)
        with pytest.raises(BadSettings, match=f"HEADWATER_{name.upper()}"):
            schedule_policy(load_settings())


def test_trouble_is_told_by_the_name_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_PORT", "eighty")
    with pytest.raises(BadSettings) as refused:
        load_settings()
    assert refused.value.message.startswith(
        "Settings that do not work: port (HEADWATER_PORT): Input should be a valid integer"
    )


def test_trouble_between_two_settings_is_told_in_their_own_words() -> None:
    with pytest.raises(BadSettings) as refused:
        load_settings(media_client="aria2")
    assert refused.value.message == (
        "Settings that do not work: media_client = aria2 needs media_client_url"
    )


def test_a_shortest_interval_above_the_longest_is_told_by_both_names() -> None:
    with pytest.raises(BadSettings) as refused:
        load_settings(sched_min_interval_sec=100_000)
    assert refused.value.message == (
        "Settings that do not work: sched_min_interval_sec (100000) is above"
        " sched_max_interval_sec (86400)"
    )


@pytest.mark.parametrize("ports", ["80, 99999", "0"])
def test_a_port_that_is_none_is_told_by_the_name_of_the_setting(
    monkeypatch: pytest.MonkeyPatch, ports: str
) -> None:
    monkeypatch.setenv("HEADWATER_ALLOWED_PORTS", ports)
    with pytest.raises(BadSettings, match="HEADWATER_ALLOWED_PORTS"):
        load_settings()


@pytest.mark.parametrize("url", ["https://x.example/?a=1", "https://x.example/#top"])
def test_nothing_could_follow_such_a_public_address(url: str) -> None:
    with pytest.raises(BadSettings, match="HEADWATER_PUBLIC_BASE_URL"):
        load_settings(public_base_url=url)
    assert load_settings(public_base_url="https://x.example/feeds/").public_base_url


def test_the_file_gives_way_to_the_environment_and_both_to_what_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "headwater.toml"
    file.write_text('port = 1\nhost = "127.0.0.2"\nmax_redirects = 1\nallowed_ports = [81]\n')
    monkeypatch.setenv("HEADWATER_CONFIG", str(file))
    monkeypatch.setenv("HEADWATER_HOST", "127.0.0.3")
    monkeypatch.setenv("MAX_REDIRECTS", "2")
    settings = load_settings(port=3)
    assert (settings.port, settings.host, settings.max_redirects) == (3, "127.0.0.3", 2)
    assert settings.allowed_ports == [81]


def test_an_empty_variable_does_not_hide_what_the_file_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "headwater.toml"
    file.write_text('port = 81\ndatabase_url = "postgresql://db.example/feeds"\n')
    monkeypatch.setenv("HEADWATER_CONFIG", str(file))
    monkeypatch.setenv("HEADWATER_PORT", "")
    monkeypatch.setenv("DATABASE_URL", "")
    settings = load_settings()
    assert (settings.port, settings.database_url) == (81, "postgresql://db.example/feeds")


def test_a_file_with_an_unknown_name_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "headwater.toml"
    file.write_text("colour = 1\n")
    monkeypatch.setenv("HEADWATER_CONFIG", str(file))
    with pytest.raises(BadSettings, match="unknown settings: colour"):
        load_settings()


def test_an_unknown_name_in_the_environment_is_refused_with_the_one_it_may_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADWATER_ALOW_ADDRESSES", "127.0.0.0/8")
    with pytest.raises(
        BadSettings, match=r"HEADWATER_ALOW_ADDRESSES \(HEADWATER_ALLOW_ADDRESSES\?\)"
    ):
        load_settings()


@pytest.mark.parametrize(
    "name",
    [
        "HEADWATER_URL",
        "HEADWATER_TOKEN",
        "HEADWATER_GRPC",
        "HEADWATER_TEST_SEED",
        "HEADWATER_SERVICE_HOST",
        "HEADWATER_PORT_8470_TCP_ADDR",
        "HEADWATERS",
    ],
)
def test_names_for_others_are_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The command line's and the clients' own; the tests'; what Kubernetes says of a service."""
    monkeypatch.setenv(name, "x")
    assert load_settings().port == 8470


def test_a_file_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADWATER_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(BadSettings, match="cannot be read"):
        load_settings()


def test_the_user_agent_says_when_nobody_can_be_reached() -> None:
    assert load_settings().user_agent == (
        f"Headwater/{__version__} (self-hosted feed engine; contact not set)"
    )


def test_the_user_agent_names_the_contact_and_else_the_public_address() -> None:
    public = load_settings(public_base_url="https://feeds.example.org")
    assert public.user_agent == f"Headwater/{__version__} (+https://feeds.example.org)"
    both = load_settings(
        public_base_url="https://feeds.example.org", user_agent_contact="me@example.org"
    )
    assert both.user_agent == f"Headwater/{__version__} (+me@example.org)"


@pytest.mark.parametrize(
    "contact", ["me", "a@b\r\nX: y", "https://example.org/) evil (", "https://exämple.org", ""]
)
def test_a_contact_that_would_break_a_header_is_refused(contact: str) -> None:
    with pytest.raises(BadSettings, match="user_agent_contact"):
        load_settings(user_agent_contact=contact)


def test_an_empty_variable_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As files for containers leave them; the data folder would be the folder one stands in."""
    for name in ("HEADWATER_DATA_DIR", "HEADWATER_ADMIN_TOKEN", "HEADWATER_HOST", "DATABASE_URL"):
        monkeypatch.setenv(name, "")
    settings = load_settings()
    assert (settings.data_dir, settings.host) == (Path("data"), "127.0.0.1")
    assert (settings.admin_secret, settings.database_url) == (None, None)


def test_the_admin_token_may_be_in_a_file_of_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("very-secret\n")
    file.chmod(0o600)
    assert load_settings(admin_token_file=file).admin_secret == "very-secret"


def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("very-secret\n")
    file.chmod(0o644)
    with pytest.raises(BadSettings, match="chmod 600"):
        _ = load_settings(admin_token_file=file).admin_secret


@pytest.mark.parametrize("token", ["", " ", "two words", " around ", "schlüssel", "x" * 513])
def test_an_admin_token_that_nobody_could_show_is_refused(token: str) -> None:
    with pytest.raises(BadSettings, match="HEADWATER_ADMIN_TOKEN"):
        _ = load_settings(admin_token=token).admin_secret
    assert load_settings(admin_token="x" * 512).admin_secret == "x" * 512


def test_a_token_file_with_several_words_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one\ntwo\n")
    file.chmod(0o600)
    with pytest.raises(BadSettings, match="without spaces"):
        _ = load_settings(admin_token_file=file).admin_secret


def test_a_token_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"\xff\xfe\x00")
    file.chmod(0o600)
    with pytest.raises(BadSettings, match="does not hold text"):
        _ = load_settings(admin_token_file=file).admin_secret


def test_the_secret_key_may_be_in_a_file_of_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("bmV3,b2xk\n")
    file.chmod(0o600)
    assert load_settings(secret_key_file=file).secret_keys == "bmV3,b2xk"
    assert load_settings(secret_key="x", secret_key_file=file).secret_keys == "x"
    assert load_settings().secret_keys is None
    file.chmod(0o640)
    with pytest.raises(BadSettings, match="chmod 600"):
        _ = load_settings(secret_key_file=file).secret_keys


def test_shown_settings_hold_no_secret() -> None:
    shown = hidden_secrets(
        load_settings(
            database_url="postgresql://me:geheim@db.example.org/headwater",
            admin_token="geheim",
            secret_key="geheim",
            public_base_url="https://me:geheim@x.example.org/",
        )
    )
    assert "geheim" not in str(shown)
    assert shown["port"] == 8470
    assert set(shown) == set(Settings.model_fields)
