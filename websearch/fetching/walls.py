"""Recognise a page that stands between us and the results. Pure: a page in, a verdict out.

Walls are looked for only on a page that gave no results: a result may talk about captchas, and a real page may carry the
scripts of a wall it does not show (Google's no-results page holds both `/sorry/` and `enablejs`). So a wall is
described by
what it *is* (an element, where the redirect ended), by its words only where nothing else tells it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from websearch.model import Outcome
from websearch.results.page import Page


@dataclass(frozen=True, slots=True)
class Wall:
    """One kind of wall. All conditions that are given must hold; at least one must be given.

    `css`: an element is there. `text`: the visible text matches (case-insensitive regular expression). `title`: so does
    `<title>`. `url`: so does the final URL. `html`: the source holds this string, for what only a script shows.
    `status`: the
    HTTP status. `name` is the evidence shown to the user.
    """

    outcome: Outcome
    name: str
    css: str | None = None
    text: str | None = None
    title: str | None = None
    url: str | None = None
    html: str | None = None
    status: int | None = None

    def stands(self, page: Page) -> bool:
        """True when the page is this wall. The cheap conditions are tried first."""
        return (
            (self.status is None or page.status == self.status)
            and (self.url is None or re.search(self.url, page.url, re.IGNORECASE) is not None)
            and (self.html is None or self.html in page.html)
            and (self.title is None or re.search(self.title, page.title, re.IGNORECASE) is not None)
            and (self.css is None or bool(page.css(self.css)))
            and (self.text is None or page.shows(self.text))
        )


def find_wall(page: Page, walls: Iterable[Wall]) -> Wall | None:
    """The first wall of the list that stands on this page."""
    return next((wall for wall in walls if wall.stands(page)), None)


#: Walls any site may put up (facts §7, field-notes §3). An engine's own walls are tried before these.
COMMON_WALLS: tuple[Wall, ...] = (
    Wall(Outcome.CONSENT, "Google consent", url=r"^https?://consent\.google\.[a-z.]+/"),
    Wall(Outcome.CONSENT, "Yahoo consent", url=r"^https?://(?:consent|guce)\.yahoo\.[a-z.]+/"),
    Wall(Outcome.CHALLENGE, "Anubis proof of work", css="script#anubis_challenge, #anubis_challenge"),
    Wall(Outcome.CHALLENGE, "ALTCHA proof of work", css="altcha-widget, form#altcha-form"),
    Wall(
        Outcome.CHALLENGE,
        "Cloudflare challenge",
        css="#challenge-form[action*='__cf_chl'], script[src*='/cdn-cgi/challenge-platform/']",
    ),
    Wall(Outcome.CHALLENGE, "Cloudflare challenge", html="_cf_chl_opt"),
    Wall(
        Outcome.CHALLENGE,
        "Cloudflare Turnstile",
        css="input[name='cf-turnstile-response'], .cf-turnstile, script[src*='challenges.cloudflare.com']",
    ),
    Wall(Outcome.CHALLENGE, "Cloudflare challenge", title=r"^just a moment"),
    Wall(
        Outcome.CHALLENGE,
        "Cloudflare challenge",
        css="#challenge-error-text, #challenge-error-title, #challenge-running, #challenge-stage, #cf-challenge-running",
    ),
    Wall(Outcome.CHALLENGE, "anomaly check", css="form[action*='anomaly.js'], [class*='anomaly-modal']"),
    Wall(Outcome.BLOCKED, "Cloudflare block", css="#cf-error-details, .cf-error-details"),
    Wall(Outcome.CHALLENGE, "hCaptcha", css=".h-captcha, script[src*='hcaptcha.com'], iframe[src*='hcaptcha.com']"),
    Wall(Outcome.CHALLENGE, "reCAPTCHA", css=".g-recaptcha, #recaptcha, form#captcha-form, iframe[src*='/recaptcha/']"),
    Wall(Outcome.CHALLENGE, "DataDome", css="script[src*='captcha-delivery.com'], iframe[src*='captcha-delivery.com']"),
    Wall(Outcome.CHALLENGE, "PerimeterX", css="#px-captcha, .px-captcha"),
    Wall(Outcome.CHALLENGE, "Imperva", css="iframe[src*='_Incapsula_Resource'], script[src*='_Incapsula_Resource']"),
    Wall(Outcome.BLOCKED, "Akamai", title=r"^access denied", text=r"Reference\s*#"),
    Wall(Outcome.CHALLENGE, "captcha form", css="form[action*='captcha'], input[name*='captcha'], img[src*='captcha']"),
    Wall(Outcome.CHALLENGE, "captcha page", title=r"\bcaptcha\b|安全验证"),
    # Error pages that were stored without their status.
    Wall(Outcome.RATE_LIMITED, "error 429", title=r"^(?:error )?429\b|^too many requests", status=200),
    Wall(Outcome.BLOCKED, "error 403", title=r"^(?:error )?403\b", status=200),
    Wall(
        Outcome.CHALLENGE,
        "JavaScript check",
        title=r"verifying (?:your|you)|checking your browser|(?:security|bot|human) (?:check|verification)|are you (?:a )?human",
    ),
    Wall(
        Outcome.CHALLENGE,
        "JavaScript check",
        text=r"verifying your (?:request|browser)|checking your browser|verify (?:that )?you are (?:a )?human|"
        r"confirm you.{1,3}re not a robot|please (?:enable|turn on) javascript (?:and cookies )?to continue",
    ),
    Wall(
        Outcome.BLOCKED,
        "unusual traffic",
        text=r"(?:unusual|automated) (?:traffic|queries|requests)|ip (?:address )?(?:has been |is )?blocked",
    ),
)
