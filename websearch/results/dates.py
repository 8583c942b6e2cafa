"""Dates as engines print them ("3 days ago", "5. März 2024", "2024年3月5日") to ISO 8601, without guessing.

ISO, numeric, English, Chinese, Japanese, Korean and Thai forms are read here. Other languages go to dateparser, which
takes 0.1 s to import, so it is only asked about a text that has the shape of a date and a word of a known language.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from importlib import import_module

from websearch.results.text import fold

_LONGEST = 64  # characters of the longest date text: weekday, date and time in words

# A page is not older than the web, nor dated in the next century: such a year is part of a sentence.
_FIRST_YEAR, _FIRST_PRINTED_YEAR, _LAST_YEAR = 1990, 1900, 2100


def parse_date(text: str, now: datetime, languages: Sequence[str] = ()) -> str | None:
    """Read a text that is wholly a date, as ISO 8601; None when it is anything else.

    Days and longer units give a date (`2024-03-05`), in UTC where it depends on `now`. A time in the text gives a date
    and time, with an offset when the text has one; hours and minutes ago give a time in UTC. Day, month and year must
    all be there. `now` is the moment the text was printed (naive means UTC). `languages` are BCP 47 tags of the
    page: they decide between day and month in 03/04/2024 (`en-US` month first, others day first; without a tag, or
    with a bare `en`, the answer is None) and between languages that share a word.
    """
    text = fold(text).lower()
    if not text or len(text) > _LONGEST:
        return None
    try:
        now = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
        return _printed(text, languages) or _elapsed(text, now) or _foreign(text, now, languages)
    except (ValueError, OverflowError):  # the 31st of February; 9999 years ago
        return None


# What engines put between date and snippet. Dots also trail off in a sentence, a dash also stands in a range of dates.
_SEPARATOR = re.compile(
    r"\s*(?:[\u2014\u00b7\u2022\u2027\u2219\u22c5]|(?P<dots>\u2026|\.{3}))\s*|\s+(?P<dash>[-\u2013|])\s+"
)


def split_date(snippet: str, now: datetime, languages: Sequence[str] = ()) -> tuple[str | None, str | None, str]:
    """Split a snippet that begins with a date: `3 days ago — text`, `Mar 5, 2024 · text`, `22 Ene 2020 ... text`.

    Gives the date as shown, the date as `parse_date` reads it, and the rest. Without a date before the first separator
    it is (None, None, snippet), the snippet unchanged.
    """
    separator = _SEPARATOR.search(snippet[: _LONGEST + 8])
    if separator is None:
        return None, None, snippet
    head, rest = snippet[: separator.start()], snippet[separator.end() :]
    if separator["dots"] or separator["dash"]:
        in_words = not re.search(r"\d", head)  # "Today ... we" is a sentence
        if in_words or (separator["dash"] and _starts_with_date(rest, languages)):
            return None, None, snippet
    published = parse_date(head, now, languages)
    if published is None:
        return None, None, snippet
    return fold(head), published, rest.strip()


def _starts_with_date(text: str, languages: Sequence[str]) -> bool:
    """Tell whether the first words are a date: `Mar 5, 2024 - Mar 9, 2024: fair` is a range, not a dated snippet."""
    first = fold(text[:_LONGEST]).lower().split()[:4]
    for count in range(1, len(first) + 1):
        try:
            if _printed(" ".join(first[:count]).rstrip(",:;.)"), languages):
                return True
        except ValueError:
            continue
    return False


# --- Dates in full ----------------------------------------------------------------------------------------------------

_THAI_MONTHS = (
    "มกราคม ม.ค.|กุมภาพันธ์ ก.พ.|มีนาคม มี.ค.|เมษายน เม.ย.|พฤษภาคม พ.ค.|มิถุนายน มิ.ย."
    "|กรกฎาคม ก.ค.|สิงหาคม ส.ค.|กันยายน ก.ย.|ตุลาคม ต.ค.|พฤศจิกายน พ.ย.|ธันวาคม ธ.ค."
)
_MONTHS = {name[:3].lower(): number for number, name in enumerate(calendar.month_name) if number}
_MONTHS |= {name: number for number, names in enumerate(_THAI_MONTHS.split("|"), 1) for name in names.split()}

_WEEKDAY = r"(?:(?:mon|tue(?:s)?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? )?"
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY, _YEAR = r"(?P<day>\d\d?)", r"(?P<year>\d{4})"
_TIME = (
    r"(?:(?:t|,? at |,? )(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d{1,9})?)?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?(?: ?(?P<zone>z|utc|gmt|[+-]\d\d(?::?\d\d)?))?)?"
)
_HAN_WEEKDAY = r"(?: ?(?:\(?[月火水木金土日월화수목금토일]\)?(?:曜日?|요일)?|(?:星期|周|週)[一二三四五六日天]))?"
_FORMS = [
    re.compile(form + _TIME)
    for form in (
        rf"{_YEAR}(?P<mark>[-/]|\. ?)(?P<month>\d\d?)(?P=mark){_DAY}\.?",
        rf"{_YEAR} ?[年년] ?(?P<month>\d\d?) ?[月월] ?{_DAY} ?[日號号일]{_HAN_WEEKDAY}",
        rf"{_WEEKDAY}{_MONTH} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}",
        rf"{_WEEKDAY}{_DAY}(?:st|nd|rd|th|\.)?(?: of)?[ -]{_MONTH},?[ -]{_YEAR}",
        rf"(?P<either>\d\d?)(?P<mark>[-/]|\. ?)(?P<other>\d\d?)(?P=mark){_YEAR}\.?(?: \u0433\.)?",
        rf"(?:วัน\S+ที่ )?{_DAY} (?P<name>{'|'.join(map(re.escape, _MONTHS))}) ?(?:พ\.ศ\. ?)?{_YEAR}",
    )
]


def _printed(text: str, languages: Sequence[str]) -> str | None:
    """Read a date in full; None when it has another form. Raises ValueError when it names no one day or no time."""
    match = next(filter(None, (form.fullmatch(text) for form in _FORMS)), None)
    if match is None:
        return None
    parts = match.groupdict()
    year, name = int(parts["year"]), parts.get("name")
    if parts.get("either"):
        day, month = _day_and_month(int(parts["either"]), int(parts["other"]), parts["mark"], languages)
    elif name:
        day, month = int(parts["day"]), _MONTHS.get(name) or _MONTHS[name[:3]]
        if not name.isascii() and year > _LAST_YEAR:
            year -= 543  # Thai pages count years from the Buddha
    else:
        day, month = int(parts["day"]), int(parts["month"])
    if not _FIRST_PRINTED_YEAR <= year <= _LAST_YEAR:
        raise ValueError(f"not the year of a page: {year}")
    printed = date(year, month, day)
    return printed.isoformat() if parts["hour"] is None else f"{printed}T{_time(parts).isoformat('seconds')}"


def _day_and_month(first: int, second: int, mark: str, languages: Sequence[str]) -> tuple[int, int]:
    """Order the numbers of `03/04/2024`. Dots are day first everywhere; else a number over 12 decides, or the page."""
    if mark.startswith(".") or first > 12 or first == second:
        return first, second
    if second > 12:
        return second, first
    tags = {tag.lower().replace("_", "-") for tag in languages}
    if tags == {"en-us"}:
        return second, first
    if not tags or tags & {"en", "en-us"}:
        raise ValueError("day and month cannot be told apart")
    return first, second


def _time(parts: Mapping[str, str | None]) -> time:
    hour, half = int(parts["hour"] or 0), parts["half"]
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(f"no such hour: {hour}")
        hour = hour % 12 + (12 if half == "p" else 0)
    return time(hour, int(parts["minute"] or 0), int(parts["second"] or 0), tzinfo=_zone(parts["zone"]))


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text in {"z", "utc", "gmt"}:
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[3:].lstrip(":") or 0))
    return timezone(-offset if text[0] == "-" else offset)


# --- Time that has passed ---------------------------------------------------------------------------------------------

# The unit codes are those of the English short forms: s m h d w mo y.
_EASTERN_UNITS = {
    unit: code
    for code, units in {
        "s": "秒 秒钟 秒鐘 초 วินาที",
        "m": "分 分钟 分鐘 분 นาที",
        "h": "小时 个小时 小時 個小時 時間 시간 ชั่วโมง ชม.",
        "d": "天 日 일 วัน",
        "w": "周 週 週間 星期 个星期 個星期 주 สัปดาห์",
        "mo": "个月 個月 か月 ヶ月 カ月 ヵ月 개월 달 เดือน",
        "y": "年 년 ปี",
    }.items()
    for unit in units.split()
}
_ENGLISH_AGO = re.compile(
    r"(?P<count>\d{1,4}|an?|one) ?(?P<unit>s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?"
    r"|w(?:(?:ee)?ks?)?|mo(?:n(?:th)?)?s?|y(?:(?:ea)?rs?)?)\.? ago"
)
_EASTERN_AGO = re.compile(
    rf"(?P<count>\d{{1,4}}) ?(?P<unit>{'|'.join(map(re.escape, _EASTERN_UNITS))}) ?"
    r"(?:之?前|以前|전|ที่แล้ว|ที่ผ่านมา|ก่อน(?:หน้านี้)?)"
)
_DAYS_AGO = {
    word: days
    for days, words in enumerate(
        ("today 今天 今日 오늘 วันนี้", "yesterday 昨天 昨日 어제 เมื่อวาน เมื่อวานนี้", "前天 一昨日 그저께")
    )
    for word in words.split()
}
_PERIODS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


def _elapsed(text: str, now: datetime) -> str | None:
    """Read "3 days ago" and the like. Raises ValueError or OverflowError when it leads out of the calendar."""
    if text in _DAYS_AGO:
        return _ago(now, _DAYS_AGO[text], "d")
    if text == "just now":
        return _ago(now, 0, "s")
    if match := _ENGLISH_AGO.fullmatch(text):
        count, unit = match["count"], match["unit"]
        code = "mo" if unit.startswith("mo") else unit[0]
        return _ago(now, int(count) if count.isdecimal() else 1, code)
    if match := _EASTERN_AGO.fullmatch(text):
        return _ago(now, int(match["count"]), _EASTERN_UNITS[match["unit"]])
    return None


def _ago(now: datetime, count: int, unit: str) -> str | None:
    if unit in _PERIODS:
        moment = now - count * _PERIODS[unit]
    else:
        year, month = divmod(now.year * 12 + now.month - 1 - count * (12 if unit == "y" else 1), 12)
        moment = now.replace(year=year, month=month + 1, day=1)
        moment = moment.replace(day=min(now.day, calendar.monthrange(year, month + 1)[1]))
    if moment.year < _FIRST_YEAR:
        return None
    return moment.isoformat(timespec="seconds") if unit in {"s", "m", "h"} else moment.date().isoformat()


# --- Other languages --------------------------------------------------------------------------------------------------

# For each language the words that say "ago", then "yesterday" and "today", then how the names of its months begin. The
# forms are those of CLDR, which engines print; rows of dates.tsv hold each. Hindi "कल" is both yesterday and tomorrow,
# and Persian pages count years of their own: neither is read.
_LANGUAGES = {
    "de": ("vor", "gestern; heute", "jan jän feb mär mrz apr mai jun jul aug sep okt nov dez"),
    "fr": ("il y a", "hier; aujourd hui", "jan fév mar avr mai jui aoû sep oct nov déc"),
    "es": ("hace", "ayer; hoy", "ene feb mar abr may jun jul ago sep oct nov dic"),
    "pt": ("há; atrás", "ontem; hoje", "jan fev mar abr mai jun jul ago set out nov dez"),
    "it": ("fa", "ieri; oggi", "gen feb mar apr mag giu lug ago set ott nov dic"),
    "nl": ("geleden", "gisteren; vandaag", "jan feb mrt maa apr mei jun jul aug sep okt nov dec"),
    "sv": ("sedan; för", "i går; igår; i dag; idag", "jan feb mar apr maj jun jul aug sep okt nov dec"),
    "da": ("siden", "i går; i dag", "jan feb mar apr maj jun jul aug sep okt nov dec"),
    "nb": ("siden", "i går; i dag", "jan feb mar apr mai jun jul aug sep okt nov des"),
    "fi": ("sitten", "eilen; tänään", "tam hel maa huh tou kes hei elo syy lok mar jou"),
    "pl": ("temu", "wczoraj; dzisiaj; dziś", "sty lut mar kwi maj cze lip sie wrz paź lis gru"),
    "cs": ("před", "včera; dnes", "led úno bře dub kvě čer čvn čvc srp zář říj lis pro"),
    "sk": ("pred", "včera; dnes", "jan feb mar apr máj jún júl aug sep okt nov dec"),
    "hu": (
        "ezelőtt; napja; órája; perce; hete; hónapja; éve",
        "tegnap",
        "jan feb már ápr máj jún júl aug sze okt nov dec",
    ),
    "ro": ("acum", "ieri; azi", "ian feb mar apr mai iun iul aug sep oct nov noi dec"),
    "tr": ("önce", "dün; bugün", "oca şub mar nis may haz tem ağu eyl eki kas ara"),
    "id": ("lalu", "kemarin; hari ini", "jan feb mar apr mei jun jul agu sep okt nov des"),
    "ms": ("lalu", "semalam; hari ini", "jan feb mac apr mei jun jul ogo sep okt nov dis"),
    "vi": ("trước", "hôm qua; hôm nay", "thg tháng"),
    "hr": ("prije", "jučer; danas", "sij velj ožu tra svi lip srp kol ruj lis stu pro"),
    "sr-Latn": ("pre", "juče; danas", "jan feb mar apr maj jun jul avg sep okt nov dec"),
    "sl": ("pred", "včeraj; danes", "jan feb mar apr maj jun jul avg sep okt nov dec"),
    "et": ("tagasi; eest", "eile; täna", "jaa vee mär apr mai juu aug sep okt nov det"),
    "ca": ("fa", "ahir; avui", "gen feb mar abr mai jun jul ag set oct nov des"),
    "ru": ("назад", "вчера; сегодня", "янв фев мар апр мая май июн июл авг сен окт ноя дек"),
    "uk": ("тому", "вчора; учора; сьогодні", "січ лют бер кві тра чер лип сер вер жов лис гру"),
    "bg": ("преди", "вчера; днес", "яну фев мар апр май юни юли авг сеп окт ное дек"),
    "sr": ("пре", "јуче; данас", "јан феб мар апр мај јун јул авг сеп окт нов дец"),
    "el": ("πριν", "χθες; σήμερα", "ιαν φεβ μαρ απρ μαΐ μαι ιουν ιουλ αυγ σεπ οκτ νοε δεκ"),
    "ar": ("قبل; منذ", "أمس; اليوم", "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر"),
    "fa": ("پیش; قبل", "دیروز; امروز", "ژانویه فوریه مارس آوریل مه ژوئن ژوئیه اوت سپتامبر اکتبر نوامبر دسامبر"),
    "he": (
        "לפני",
        "אתמול; היום",
        "בינואר בפברואר במרץ באפריל במאי ביוני ביולי באוגוסט בספטמבר באוקטובר בנובמבר בדצמבר",
    ),
    "hi": ("पहले", "आज", "जन फ़र फर मार्च अप्रै मई जून जुल अग सित अक्टूबर नव दिस"),
}
_AGO = {name: [f" {word} " for word in ago.split("; ")] for name, (ago, _, _) in _LANGUAGES.items()}
_NEAR_DAYS = {name: [f" {word} " for word in days.split("; ")] for name, (_, days, _) in _LANGUAGES.items()}
_MONTH_STARTS = {name: tuple(months.split()) for name, (_, _, months) in _LANGUAGES.items()}
# Languages that give one name to different months: "lip" is June in Zagreb and July in Warsaw.
_AT_ODDS = {"cs", "hr", "pl"}
_SAME = {"no": "nb", "nn": "nb", "in": "id", "iw": "he"}
_CLOCK = re.compile(r"\d\d?:\d\d(?::\d\d)?")


def _foreign(text: str, now: datetime, languages: Sequence[str]) -> str | None:
    """Ask dateparser, in the page's own language when the text can be that, else in those it can be."""
    candidates = _candidates(text)
    primary = {tag.lower().replace("_", "-").split("-")[0] for tag in languages}
    primary = {_SAME.get(tag, tag) for tag in primary}
    answers = set()
    for language in [name for name in candidates if name.split("-")[0] in primary] or candidates:
        if answer := _ask(text, language, now):
            answers.add(answer)
            if language not in _AT_ODDS:
                break
    return answers.pop() if len(answers) == 1 else None


def _candidates(text: str) -> list[str]:
    """Name the languages that have the words of this text, if it has the shape of a date."""
    words = [word for word in re.split(r"[\s.,()'\u2019]+", text) if word]
    sizes = [len(number) for number in re.findall(r"\d+", _CLOCK.sub("", text))]
    if sizes.count(4) == 1 and len(sizes) in {2, 3} and len(words) <= 10:
        return [name for name, months in _MONTH_STARTS.items() if any(word.startswith(months) for word in words)]
    phrase = f" {' '.join(words)} "
    if len(sizes) <= 1 and max(sizes, default=0) <= 3 and 2 <= len(words) <= 6:
        found = [name for name, markers in _AGO.items() if any(marker in phrase for marker in markers)]
        if found or sizes:
            return found
    if not sizes and len(words) <= 5:
        return [name for name, markers in _NEAR_DAYS.items() if any(marker in phrase for marker in markers)]
    return []


def _ask(text: str, language: str, now: datetime) -> str | None:
    settings = {
        "RELATIVE_BASE": now.replace(tzinfo=None),
        "TIMEZONE": "UTC",
        "REQUIRE_PARTS": ["day", "month", "year"],
        "RETURN_TIME_AS_PERIOD": True,
        "PARSERS": ["relative-time", "absolute-time"],
    }
    parser = import_module("dateparser.date").DateDataParser  # 0.1 s, and most pages never need it
    found = parser(languages=[language], settings=settings).get_date_data(text)
    moment: datetime | None = found.date_obj
    if moment is None:
        return None
    numbers = {int(number) for number in re.findall(r"\d+", text)}
    clock = _CLOCK.search(text)
    if clock and found.period != "time":
        return None
    if max(numbers, default=0) > 999:
        # dateparser is lenient: the day and the year have to be those that were printed.
        if not {moment.year, moment.day} <= numbers or not _FIRST_PRINTED_YEAR <= moment.year <= _LAST_YEAR:
            return None
    else:
        in_utc = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        if in_utc > now or moment.year < _FIRST_YEAR:
            return None
        moment = moment if clock else in_utc
    # Romanian "acum" is both "ago" and "now": the period alone does not tell hours from days.
    exact = found.period == "time" and (clock or moment.time() != now.time())
    return moment.isoformat(timespec="seconds") if exact else moment.date().isoformat()
