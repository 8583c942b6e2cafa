"""Which providers there are, by name; and `parse`, which reads a stored page without network."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse

from websearch.model import InvalidInput, SearchQuery, SearchResponse
from websearch.providers.base import Provider
from websearch.providers.serp import SerpProvider, read

if TYPE_CHECKING:
    from types import ModuleType

#: Where spiders live: one module each, named like its provider (`azure_openai` for azure-openai).
PACKAGES = ("websearch.spiders.engines", "websearch.spiders.apis", "websearch.spiders")


def _modules() -> Iterator[str]:
    for package in PACKAGES:
        for info in iter_modules(import_module(package).__path__):
            if not info.ispkg:
                yield f"{package}.{info.name}"


@functools.cache
def names() -> tuple[str, ...]:
    """The names of all providers, engines first. Nothing but their module names is loaded."""
    return tuple(module.rpartition(".")[2].replace("_", "-") for module in _modules())


@functools.cache
def provider_class(name: str) -> type[Provider]:
    """The spider class of a provider; only its own module is imported.

    Raises InvalidInput for an unknown name, with the known ones.
    """
    stem = name.strip().lower().replace("-", "_")
    for module in _modules():
        if module.rpartition(".")[2] == stem:
            return _class_in(import_module(module), name)
    raise InvalidInput(f"there is no provider {name!r}; there are {', '.join(names())}")


def _class_in(module: ModuleType, name: str) -> type[Provider]:
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Provider) and value.__module__ == module.__name__:
            return value
    raise InvalidInput(f"{module.__name__} holds no provider {name!r}")


@functools.cache
def engine(name: str) -> SerpProvider:
    """One instance of an engine, for its pure methods (parse, request). Raises InvalidInput when it is no engine."""
    found = provider_class(name)
    if not issubclass(found, SerpProvider):
        raise InvalidInput(f"{name} is no engine with result pages; engines are {', '.join(engine_names())}")
    return found()


@functools.cache
def engine_names() -> tuple[str, ...]:
    """The names of the engines."""
    package = "websearch.spiders.engines"
    return tuple(
        module.rpartition(".")[2].replace("_", "-") for module in _modules() if module.startswith(f"{package}.")
    )


class GenericPage(SerpProvider):
    """A page of no known engine: walls that any site may put up, else the structural fallback."""

    name, label, index_family = "generic", "Generic page", "generic"
    own_hosts = ()


@functools.cache
def _generic() -> SerpProvider:
    return GenericPage()


def recognise(response: HtmlResponse) -> SerpProvider:
    """The engine a stored page is of, told by its own marks; the generic reader when it is of none."""
    page = read(response)
    for name in engine_names():
        candidate = engine(name)
        if candidate.signature and page.css(candidate.signature):
            return candidate
    return _generic()


def parse(
    engine_name: str, body: bytes | str, *, url: str | None = None, query: str = "", status: int = 200
) -> SearchResponse:
    """Read a stored result page: pure, no network, any bytes.

    `engine_name` is an engine, or `auto` to recognise it by the page. `url` resolves relative links (default: the
    engine's
    search page), `query` is what was asked, if known: only then is the answer checked against it.
    Raises InvalidInput for an unknown engine or a query that is none.
    """
    data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    asked = SearchQuery(text=query) if query.strip() else SearchQuery.unchecked("")
    # Text that was a str is UTF-8 now, whatever its <meta> says.
    headers = {"Content-Type": "text/html; charset=utf-8"} if isinstance(body, str) else {}
    response = HtmlResponse(url or "http://localhost/", status=status, headers=headers, body=data)
    match engine_name:
        case "auto":
            reader = recognise(response)
        case GenericPage.name:
            reader = _generic()
        case _:
            reader = engine(engine_name)
    if url is None:
        response = response.replace(url=f"{reader.base_url or 'http://localhost'}/search")
    found = reader.parse(response, asked)
    found.rung = "replay"
    return found
