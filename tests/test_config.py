from __future__ import annotations

from pathlib import Path

import pytest

from websearch.config import ConfigError, load


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "websearch.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = load(environ={"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path)})
    assert config.source is None
    assert config.public.engines == ("startpage", "google", "duckduckgo", "bing", "yahoo", "ecosia", "mojeek")
    assert (config.public.soft_deadline, config.public.hard_deadline) == (5.0, 30.0)
    assert config.state_dir == str(tmp_path / "state" / "websearch")
    assert config.provider("bing").enabled


def test_file_and_environment_together(tmp_path: Path) -> None:
    path = write(
        tmp_path, '[providers.bing]\nrate = 2\nbase_url = "https://a.example"\n[public]\nweights = { bing = 0.5 }\n'
    )
    env = {
        "WEBSEARCH_PROVIDERS__BING__BASE_URL": " http://127.0.0.1:8080/x ",
        "WEBSEARCH_PROVIDERS__AZURE_OPENAI__ENABLED": "no",
        "WEBSEARCH_PUBLIC__EXCLUDE": "google, yahoo",
        "WEBSEARCH_BROWSER__HEADLESS": "0",
    }
    config = load(path, env)
    assert config.provider("bing").base_url == "http://127.0.0.1:8080/x"
    assert config.provider("bing").rate == 2.0
    assert not config.provider("azure-openai").enabled
    assert config.public.exclude == ("google", "yahoo")
    assert config.public.weights == {"bing": 0.5}
    assert not config.browser.headless


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[providers.bing]\nbase_ur = 'x'", "providers.bing.base_ur"),
        ("[providers.bing]\nbase_url = 'example.com'", "http://host:port"),
        ("[providers.bing]\nbase_url = 'ftp://example.com'", "http://host:port"),
        ("[public]\nmode = 'best'", "consensus, rrf, independent"),
        ("[public]\nsoft_deadline = 'soon'", "must be a number"),
        ("timeout = -1", "0 or more"),
        ("[browser]\nenabled = 'maybe'", "true or false"),
        ("public = 3", "must be a table"),
        ("x = = 1", "cannot be read"),
    ],
)
def test_a_bad_value_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        load(write(tmp_path, text), {})


def test_a_bad_variable_is_named() -> None:
    with pytest.raises(ConfigError, match="WEBSEARCH_PROVIDERS__BING__TIMEOUT"):
        load(environ={"WEBSEARCH_PROVIDERS__BING__TIMEOUT": "long"})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml"):
        load(str(tmp_path / "none.toml"), {})


def test_a_proxy_password_is_never_shown() -> None:
    config = load(environ={"WEBSEARCH_PROXY": "http://user:hunter2@127.0.0.1:1"})
    assert config.proxy
    assert "hunter2" not in repr(config)
    with pytest.raises(ConfigError) as caught:
        load(environ={"WEBSEARCH_PROXY": "gopher://user:hunter2@host"})
    assert "hunter2" not in str(caught.value)
