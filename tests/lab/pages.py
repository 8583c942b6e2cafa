"""The lab's own pages: homes, walls that a browser passes, and walls that nobody does. Texts and tokens are invented."""

from __future__ import annotations

import hashlib
import html

#: The cookie that opens the wall, and where the proof of work of the ALTCHA form goes.
PASS = "lab_pass"
VERIFY = "/captcha/verify"

_SALT, _DIFFICULTY = "lab-salt", 3  # hex zeros a hash must begin with: about 4,000 tries

_PROVE = f"""
async function prove() {{
  for (let n = 0; ; n++) {{
    const data = new TextEncoder().encode("{_SALT}" + n);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
    const hex = Array.from(hash, b => b.toString(16).padStart(2, "0")).join("");
    if (hex.startsWith("{"0" * _DIFFICULTY}")) return n;
  }}
}}"""


def proven(answer: str) -> bool:
    """True when the number solves the proof of work."""
    digest = hashlib.sha256(f"{_SALT}{answer}".encode()).hexdigest()
    return answer.isdigit() and digest.startswith("0" * _DIFFICULTY)


def _document(title: str, body: str) -> str:
    return f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>{body}</body></html>'


def home(name: str, form: str) -> str:
    """An engine's home page."""
    return _document(f"{name} search", f"<h1>{name}</h1>{form}")


def startpage_form(token: str) -> str:
    """The search form with the token that a search must carry."""
    fields = {"sc": token, "cat": "web", "language": "english", "t": "device"}
    hidden = "".join(f'<input type="hidden" name="{k}" value="{v}">' for k, v in fields.items())
    return f'<form id="search" action="/sp/search" method="post">{hidden}<input name="query"></form>'


def cookie_wall(token: str) -> str:
    """A page that lets in whoever runs its script: proof of work, cookie, reload."""
    body = f"""<h1>Checking your browser</h1><div class="cf-turnstile"></div>
<script>window._cf_chl_opt = {{}};{_PROVE}
prove().then(() => {{ document.cookie = "{PASS}={token}; path=/"; location.reload(); }});</script>"""
    return _document("Just a moment...", body)


def altcha_wall(back: str) -> str:
    """A box to click; the widget's script proves work and submits the form."""
    body = f"""<h1>Verification required</h1>
<form id="altcha-form" method="post" action="{VERIFY}"><input type="hidden" name="back" value="{html.escape(back)}">
<input type="hidden" name="altcha"><altcha-widget challenge="/captcha/challenge"><label><input type="checkbox"> I am a person</label>
</altcha-widget></form>
<script>{_PROVE}
document.querySelector("altcha-widget input").addEventListener("change", async () => {{
  document.querySelector("input[name=altcha]").value = await prove();
  document.querySelector("#altcha-form").submit();
}});</script>"""
    return _document("Captcha", body)


def consent_wall(token: str) -> str:
    """A consent dialog; rejecting it lets in."""
    script = f'document.cookie = "{PASS}={token}; path=/"; location.reload();'
    body = f"""<h1>Before you continue</h1><form action="https://consent.google.com/save" method="post">
<button type="button" id="W0wltc" aria-label="Reject all" name="reject" onclick="{html.escape(script)}">Reject all</button>
<button type="button" id="L2AGLb">Accept all</button></form>"""
    return _document("Before you continue", body)


def captcha_wall() -> str:
    """A captcha nobody solves here."""
    return _document("Captcha", '<h1>One more step</h1><form id="captcha-form"><div class="g-recaptcha"></div></form>')


def block() -> str:
    """A plain refusal."""
    return _document(
        "403 - Forbidden", "<h1>403 - Forbidden</h1><p>Sorry, your network appears to be sending automated queries.</p>"
    )
