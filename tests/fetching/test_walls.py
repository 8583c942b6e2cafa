from __future__ import annotations

import pytest

from websearch.fetching.walls import COMMON_WALLS, Wall, find_wall
from websearch.model import Outcome
from websearch.results.page import Page


@pytest.mark.parametrize(
    ("html", "name"),
    [
        ('<script id="anubis_challenge" type="application/json">{}</script>', "Anubis proof of work"),
        ('<form id="altcha-form"></form>', "ALTCHA proof of work"),
        ('<altcha-widget challenge="/x"></altcha-widget>', "ALTCHA proof of work"),
        ("<title>Just a moment...</title>", "Cloudflare challenge"),
        ("<script>window._cf_chl_opt={}</script>", "Cloudflare challenge"),
        ('<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>', "Cloudflare Turnstile"),
        ('<div class="h-captcha"></div>', "hCaptcha"),
        ('<div class="g-recaptcha" data-sitekey="x"></div>', "reCAPTCHA"),
        ('<script src="https://ct.captcha-delivery.com/c.js"></script>', "DataDome"),
        ('<div id="px-captcha"></div>', "PerimeterX"),
        ('<iframe src="/_Incapsula_Resource?x=1"></iframe>', "Imperva"),
        ("<title>Access Denied</title><p>Reference #18.2f</p>", "Akamai"),
        ('<form action="/captcha/verify"></form>', "captcha form"),
        ("<title>Security check</title>", "JavaScript check"),
        ("<p>Confirm you’re not a robot</p>", "JavaScript check"),
        (
            "<noscript><span id='challenge-error-text'>Aktivieren Sie JavaScript</span></noscript>",
            "Cloudflare challenge",
        ),
        ("<div class='anomaly-modal__title'>Bots</div>", "anomaly check"),
        ("<title>429 Too Many Requests</title>", "error 429"),
        ("<title>Error 403 (Forbidden)!!1</title>", "error 403"),
        ("<p>We have detected unusual traffic from your network</p>", "unusual traffic"),
        ("<p>Your IP address has been blocked</p>", "unusual traffic"),
    ],
)
def test_common_walls(html: str, name: str) -> None:
    wall = find_wall(Page.of(f"<html><body>{html}</body></html>"), COMMON_WALLS)
    assert wall is not None
    assert wall.name == name


@pytest.mark.parametrize(
    ("url", "outcome"),
    [
        ("https://consent.google.com/ml?continue=x", Outcome.CONSENT),
        ("https://consent.google.de/ml", Outcome.CONSENT),
        ("https://guce.yahoo.com/consent?brandType=eu", Outcome.CONSENT),
        ("https://consent.yahoo.com/v2/collectConsent?sessionId=3", Outcome.CONSENT),
        ("https://search.yahoo.com/search?p=consent+form+guce.yahoo.com", None),
        ("https://www.google.com/search?q=consent.google.com", None),
    ],
)
def test_consent_is_told_by_the_host(url: str, outcome: Outcome | None) -> None:
    wall = find_wall(Page.of("<p>x</p>", url=url), COMMON_WALLS)
    assert (wall.outcome if wall else None) is outcome


@pytest.mark.parametrize(
    "html",
    [
        "<p>An ordinary page</p>",
        "<script>if (x.url.indexOf('/sorry/') > -1) enablejs()</script><p>No results</p>",
        "<script>var s = 'are you a human, unusual traffic, verify you are human'</script>",
        "<a href='/captcha-history'>The history of the captcha</a>",
    ],
)
def test_what_is_no_wall(html: str) -> None:
    assert find_wall(Page.of(html), COMMON_WALLS) is None


def test_all_conditions_of_a_wall_must_hold() -> None:
    wall = Wall(Outcome.BLOCKED, "x", status=403, text="robot", css="h1")
    assert wall.stands(Page.of("<h1>robot</h1>", status=403))
    assert not wall.stands(Page.of("<h1>robot</h1>", status=200))
    assert not wall.stands(Page.of("<h2>robot</h2>", status=403))
    assert not wall.stands(Page.of("<h1>human</h1>", status=403))
