"""The Scrapy settings, by concern. `scrapy crawl` reads this module; the Python API and the command line call
`settings_for`.

What a user sets (`websearch.toml`, `WEBSEARCH_…`) is in `websearch.config`; this is how it becomes Scrapy's.
"""

from __future__ import annotations

import os
from typing import Any

from websearch.config import Config, load
from websearch.fetching.redaction import install as install_redaction

# Scrapy's cookie middleware would fetch the public-suffix list from the network at the first cookie. The list that
# comes
# with the library does; the variable is read when the middleware is imported.
os.environ.setdefault("TLDEXTRACT_PUBLIC_SUFFIX_LIST_URLS", "")

#: Providers run their requests in a download slot of their own name; what is not listed gets these.
_PRELUDE, _BROWSER = " prelude", "browser"


def settings_for(config: Config) -> dict[str, Any]:
    """All settings for one configuration, ready for a crawler."""
    # Imported here: only a process that crawls needs it.
    from websearch.fetching.browser import playwright_settings  # noqa: PLC0415

    return {
        "WEBSEARCH": config,
        "BOT_NAME": "websearch",
        "SPIDER_MODULES": ["websearch.spiders"],
        "NEWSPIDER_MODULE": "websearch.spiders.engines",
        "USER_AGENT": config.user_agent,
        # Result pages are off limits for robots; who runs this decides, with the README's words on the engines' terms.
        "ROBOTSTXT_OBEY": False,
        "COOKIES_ENABLED": True,
        # --- security
        "DOWNLOAD_VERIFY_CERTIFICATES": True,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "DOWNLOAD_MAXSIZE": 16 * 1024 * 1024,
        "DOWNLOAD_WARNSIZE": 8 * 1024 * 1024,
        # --- pace: one request a second for each provider, slower where the provider is slow
        "DOWNLOAD_DELAY": 1 / config.rate if config.rate else 0,
        "DOWNLOAD_DELAY_JITTER": 0.3,
        "DOWNLOAD_SLOTS": _slots(config),
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": 1 / config.rate if config.rate else 0,
        "AUTOTHROTTLE_TARGET_CONCURRENCY": 1.0,
        "CONCURRENT_REQUESTS": 32,
        # Scrapy starts this many tasks for every response: 100, the default, costs half of the throughput.
        "CONCURRENT_ITEMS": 4,
        "DOWNLOAD_TIMEOUT": 10,
        # --- retries: a refusal (202, 403, 429, 503) is answered by a cooldown, not by insisting; who was silent for the
        # whole of the time limit gets no second one. What became of it stands in the response, not in the log.
        "RETRY_TIMES": 1,
        "RETRY_HTTP_CODES": [408, 500, 502, 504, 522, 524],
        "RETRY_EXCEPTIONS": [
            "scrapy.exceptions.CannotResolveHostError",
            "scrapy.exceptions.DownloadConnectionRefusedError",
            "scrapy.exceptions.DownloadFailedError",
            "scrapy.exceptions.ResponseDataLossError",
            "scrapy.core.downloader.handlers.http11.TunnelError",
        ],
        "RETRY_GIVE_UP_LOG_LEVEL": "DEBUG",
        "REDIRECT_MAX_TIMES": 10,
        # --- components: what is not needed is not even imported (a cold start is 0.3 s shorter)
        "DOWNLOADER_MIDDLEWARES_BASE": _DOWNLOADER_MIDDLEWARES,
        "DOWNLOADER_MIDDLEWARES": {
            "websearch.fetching.replay.ReplayMiddleware": 90,
            "websearch.fetching.challenge.ChallengeMiddleware": 560,
        },
        "SPIDER_MIDDLEWARES_BASE": {
            "scrapy.spidermiddlewares.start.StartSpiderMiddleware": 25,
            "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": 50,
            "scrapy.spidermiddlewares.referer.RefererMiddleware": 700,
        },
        "EXTENSIONS_BASE": _EXTENSIONS,
        "DOWNLOAD_HANDLERS_BASE": {
            "http": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler",
            "https": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler",
        },
        "ITEM_PIPELINES": {"websearch.results.pipelines.ConsensusPipeline": 500},
        # --- output
        "FEED_EXPORTERS": {
            "json": "websearch.results.exporters.ResponseJsonExporter",
            "jsonl": "websearch.results.exporters.ResponseJsonLinesExporter",
            "jsonlines": "websearch.results.exporters.ResponseJsonLinesExporter",
            "jl": "websearch.results.exporters.ResponseJsonLinesExporter",
            "csv": "websearch.results.exporters.ResultCsvExporter",
            "txt": "websearch.results.exporters.TextExporter",
        },
        "FEED_EXPORT_ENCODING": "utf-8",
        "LOG_LEVEL": "INFO",
        "LOG_FORMATTER": "websearch.fetching.redaction.QuietLogFormatter",
        "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "HTTPCACHE_ENABLED": False,
        **playwright_settings(config),
    }


_DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": 300,
    "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware": 350,
    "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware": 400,
    "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": 500,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": 550,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": 580,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": 590,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": 600,
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": 700,
    "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware": 750,
    "scrapy.downloadermiddlewares.stats.DownloaderStats": 850,
    "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware": 900,
}

_EXTENSIONS = {
    "scrapy.extensions.corestats.CoreStats": 0,
    "scrapy.extensions.logcount.LogCount": 0,
    "scrapy.extensions.feedexport.FeedExporter": 0,
    "scrapy.extensions.logstats.LogStats": 0,
    "scrapy.extensions.closespider.CloseSpider": 0,
    "scrapy.extensions.throttle.AutoThrottle": 0,
}


def _slots(config: Config) -> dict[str, dict[str, Any]]:
    """Download slots with a pace of their own: providers whose rate is set, and the steps that belong to a paced
    search."""
    slots: dict[str, dict[str, Any]] = {_BROWSER: {"concurrency": config.browser.max_pages, "delay": 0}}
    for name in config.public.engines:
        slots[name + _PRELUDE] = {"delay": 0}
    for name, provider in config.providers.items():
        slots[name + _PRELUDE] = {"delay": 0}
        if provider.rate is not None:
            slots[name] = {"delay": 1 / provider.rate if provider.rate else 0}
    return slots


install_redaction()
globals().update(settings_for(load()))
