"""`websearch.toml` and the environment, read into one typed object.

Order of precedence: environment, then `websearch.toml` in the working folder, then the one in the user's config folder,
then the defaults below. Every value has an environment name made of its path:
`WEBSEARCH_PROVIDERS__BING__BASE_URL`, `WEBSEARCH_PUBLIC__SOFT_DEADLINE`, `WEBSEARCH_BROWSER__EXECUTABLE`.
Lists are comma separated there.
"""

from __future__ import annotations

import dataclasses
import math
import os
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from websearch.model import InvalidInput

PREFIX = "WEBSEARCH_"

#: A current desktop browser on both rungs: what the browser earns (cookies) is tied to the user agent it earned it
#: with.
USER_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"


class ConfigError(InvalidInput):
    """A value in the configuration cannot be used. The message names the value and where it was set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """What a user may set for one provider; None means the provider's own default."""

    enabled: bool = True
    base_url: str | None = None
    timeout: float | None = None  # seconds for one search, all rungs and pages included
    rate: float | None = None  # requests a second; 0 is without limit
    proxy: str | None = field(default=None, repr=False)  # may hold a password
    api_key_env: str | None = None  # name of the environment variable that holds the key
    token_file: str | None = None
    model: str | None = None
    models: tuple[str, ...] = ()
    family: str | None = None  # index family, where it differs from the built-in table


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicConfig:
    """The Public Web aggregate: which engines, how long to wait (seconds), how to merge."""

    engines: tuple[str, ...] = ("startpage", "google", "duckduckgo", "bing", "yahoo", "ecosia", "mojeek")
    exclude: tuple[str, ...] = ()
    soft_deadline: float = 5.0
    hard_deadline: float = 30.0
    mode: Literal["consensus", "rrf", "independent"] = "consensus"
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserConfig:
    """The browser rung. `executable` None: the first Chromium found; `recycle_after` is in pages; `timeout` in
    seconds."""

    enabled: bool = True
    executable: str | None = None
    headless: bool = True
    timeout: float = 20.0
    recycle_after: int = 100
    max_pages: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CooldownConfig:
    """Seconds a refused provider rests: `start`, doubled at each refusal after expiry, at most `maximum`. 0 is off."""

    start: float = 60.0
    maximum: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything a user may set. `source` names the file it came from, if any."""

    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    public: PublicConfig = field(default_factory=PublicConfig)
    browser: BrowserConfig = field(default_factory=BrowserConfig)
    cooldown: CooldownConfig = field(default_factory=CooldownConfig)
    proxy: str | None = field(default=None, repr=False)
    user_agent: str = USER_AGENT
    timeout: float = 30.0
    rate: float = 1.0
    state_dir: str = ""
    cache_dir: str = ""
    replay: str | None = None
    csv_safe: bool = True
    source: str | None = None

    def provider(self, name: str) -> ProviderConfig:
        """The section of one provider; the defaults when there is none."""
        # An environment name holds no hyphen: WEBSEARCH_PROVIDERS__AZURE_OPENAI__… is azure-openai.
        return self.providers.get(name) or self.providers.get(name.replace("-", "_")) or _DEFAULT_PROVIDER


_DEFAULT_PROVIDER = ProviderConfig()


def _xdg(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    base = environ.get(variable, "")
    # The XDG specification: a relative path in these variables is to be ignored.
    return (Path(base) if Path(base).is_absolute() else Path.home() / fallback) / "websearch"


def load(path: str | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """Read the configuration: `path`, or the file found by the order above; `environ` defaults to the process's.

    Raises ConfigError for a missing `path`, broken TOML, an unknown key or a value of the wrong kind.
    """
    env = os.environ if environ is None else environ
    named = path or env.get("WEBSEARCH_CONFIG")
    places = (
        [Path(named)] if named else [Path("websearch.toml"), _xdg(env, "XDG_CONFIG_HOME", ".config") / "websearch.toml"]
    )
    source = next((place for place in places if place.is_file()), None)
    if named and source is None:
        raise ConfigError(f"configuration file {named} does not exist")
    values: dict[str, Any] = {}
    if source is not None:
        try:
            values = tomllib.loads(source.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise ConfigError(f"{source} cannot be read: {error}") from None
    overlay: dict[str, Any] = {}
    for name, value in sorted(env.items()):
        if name.startswith(PREFIX) and name != "WEBSEARCH_CONFIG":
            _put(overlay, name.removeprefix(PREFIX).lower().split("__"), _FromEnv(value, name))
    _merge(values, overlay)
    values.setdefault("state_dir", str(_xdg(env, "XDG_STATE_HOME", ".local/state")))
    values.setdefault("cache_dir", str(_xdg(env, "XDG_CACHE_HOME", ".cache")))
    values["source"] = str(source) if source else None
    config: Config = _build(Config, values, str(source or "the environment"), ())
    return config


class _FromEnv(str):
    """A value from the environment: text that is still to be read as the field's type."""

    __slots__ = ("variable",)
    variable: str

    def __new__(cls, value: str, variable: str) -> Self:
        self = super().__new__(cls, value.strip())
        self.variable = variable
        return self


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        if not isinstance(tree.get(step), dict):
            tree[step] = {}
        tree = tree[step]
    tree[path[-1]] = value


def _merge(into: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _build(cls: type, values: object, source: str, path: tuple[str, ...]) -> Any:
    if not isinstance(values, Mapping):
        raise ConfigError(f"{'.'.join(path)} in {source} must be a table")
    hints = typing.get_type_hints(cls)
    names = {f.name for f in dataclasses.fields(cls)}
    built: dict[str, Any] = {}
    for key, value in values.items():
        where = (*path, str(key))
        if key not in names:
            origin = value.variable if isinstance(value, _FromEnv) else source
            known = ", ".join(sorted(names - {"source"}))
            raise ConfigError(f"{'.'.join(where)} in {origin} is not a setting; known here: {known}")
        built[key] = _value(hints[key], value, source, where)
    return cls(**built)


def _value(hint: Any, value: object, source: str, path: tuple[str, ...]) -> Any:  # noqa: C901, PLR0912 - a branch a type
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None or (isinstance(value, _FromEnv) and not value):
            return None
        return _value(next(a for a in args if a is not type(None)), value, source, path)
    if dataclasses.is_dataclass(hint):
        return _build(typing.cast("type", hint), value, source, path)
    here = f"{'.'.join(path)} in {value.variable if isinstance(value, _FromEnv) else source}"
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise ConfigError(f"{here} must be a table")
        return {str(k): _value(args[1], v, source, (*path, str(k))) for k, v in value.items()}
    if origin is tuple:
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, list):
            raise ConfigError(f"{here} must be a list")
        return tuple(str(item).strip() for item in items if str(item).strip())
    if origin is Literal:
        if value not in args:
            raise ConfigError(f"{here} must be one of {', '.join(map(str, args))}, not {value!r}")
        return str(value)
    if hint is bool:
        word = str(value).lower()
        if word in ("1", "true", "yes", "on"):
            return True
        if word in ("0", "false", "no", "off", ""):
            return False
        raise ConfigError(f"{here} must be true or false, not {value!r}")
    if hint in (int, float):
        try:
            number = hint(str(value))
        except ValueError:
            raise ConfigError(f"{here} must be a number, not {value!r}") from None
        if number < 0 or not math.isfinite(number):
            raise ConfigError(f"{here} must be 0 or more, not {value!r}")
        return number
    text = str(value).strip()
    if path[-1] in ("base_url", "proxy"):
        _check_url(text, here)
    return text


def _check_url(text: str, here: str) -> None:
    # Never quote the value: a proxy address may hold a password.
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid or any(c.isspace() for c in text):
        raise ConfigError(f"{here} must be a URL such as http://host:port")
