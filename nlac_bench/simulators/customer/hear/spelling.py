"""Writes a message in one spelling: lower case, plain marks, dates as in the databases, no emphasis."""

import re
import unicodedata

MAX_READ_CHARS = 6_000
"""Of a longer message only the beginning and the end are read."""


def normalise(text: str) -> str:
    """Convert to lower case, plain quotes and dashes, and remove emphasis marks; line breaks are kept."""
    if len(text) > MAX_READ_CHARS:
        text = text[: MAX_READ_CHARS // 2] + "\n" + text[-MAX_READ_CHARS // 2 :]
    text = _STARS.sub("- ", unicodedata.normalize("NFKC", text).lower()).translate(_PLAIN)
    text = _ASKED.sub("?", _BLANK.sub("?", text))
    if len(_ANSWERED.findall(text)) > 1:
        text = _ANSWERED.sub(r"\1:", text)
    text = _THUMBS.sub("yes or no", text)
    text = _CORRECTS.sub(lambda match: f"anything{match['else'] or ''} to correct", text)
    text = _COLLOQUIAL.sub(lambda match: _WRITTEN_OUT[match[1]], _PICTURE.sub(". ", text))
    text = _PLURAL.sub("s", text)
    text = _UNMARKED.sub(r"\g<0>?", text)
    text = _STRUCK.sub(r"from \1 ->", text)
    text = _ARROW.sub(" -> ", _TITLE.sub("", text.replace("<br>", ", ").replace("__", "")))
    text = _MONTH_FIRST.sub(lambda match: _iso(match[2], match[1], match[3]), text)
    text = _DAY_FIRST.sub(lambda match: _iso(match[1], match[2], match[3]), text)
    british = any(int(match[1]) > 12 for match in _SLASHED.finditer(text))
    text = _SLASHED.sub(lambda match: _numbers(match[1], match[2], match[3], day_first=british), text)
    text = _DOTTED.sub(lambda match: _numbers(match[1], match[2], match[3], day_first=True), text)
    text = _YEAR_FIRST.sub(r"\1-\2-\3", text)
    return re.sub(r"[ \t]+", " ", text)


def _iso(day: str, month: str, year: str | None) -> str:
    """Return a date in the databases' format; without a year, it is in the year of the flights."""
    return f"{year or 2024}-{_MONTHS.index(month[:3]) + 1:02d}-{int(day):02d}"


def _numbers(first: str, second: str, year: str, day_first: bool) -> str:
    """Return a date of numbers in the databases' format; one with a month above 12 is read the other way."""
    day, month = (first, second) if day_first else (second, first)
    if int(month) > 12:
        day, month = month, day
    return f"{year}-{int(month):02d}-{int(day):02d}"


_PLAIN = str.maketrans({
    "‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "−": "-", "*": None, "`": None,
    "\u00a0": " ", "\r": "\n", "\u2028": "\n", "\u2029": "\n",
    "•": "-", "●": "-", "▪": "-", "◦": "-", "…": "...",
})  # fmt: skip
_WRITTEN_OUT = {
    "u": "you", "ur": "your", "urs": "yours", "pls": "please", "plz": "please", "whats": "what's",
    "thats": "that's",
    "whos": "who's", "bc": "because", "cuz": "because", "acct": "account", "addr": "address", "w/": "with",
    "w": "with",
    "w/o": "without", "diff": "difference", "dont": "don't", "wont": "won't", "isnt": "isn't",
    "doesnt": "doesn't",
    "im": "i'm", "ive": "i've", "lmk": "let me know", "wanna": "want to", "gonna": "going to",
    "gimme": "give me",
    "lemme": "let me", "res": "reservation", "thx": "thanks", "pmt": "payment",
    "cxl": "cancel", "cxld": "cancelled", "cfm": "confirm", "pax": "passengers", "flt": "flight",
    "flts": "flights", "resv": "reservation", "rsvn": "reservation", "chg": "change",
}  # fmt: skip
_LONGEST_FIRST = "|".join(sorted(map(re.escape, _WRITTEN_OUT), key=len, reverse=True))
_COLLOQUIAL = re.compile(rf"(?<![\w'/-])(?<!\d )({_LONGEST_FIRST})(?=[ ,?!.:\n]|$)")
_PICTURE = re.compile(
    r"(?<=[\w)]) ?[\U0001f300-\U0001faff\u2600-\u27bf]\ufe0f? +(?=(?:which|what|how|where|who|shall|"
    r"should|do|does|would|"
    r"can|could|may|is|are|i|we|let|please|just|if|any\w*|need)\b)"
)
"""An emoji that separates two sentences in place of a full stop."""
_THUMBS = re.compile(
    r"👍\W{0,3}(?:or|/)\W{0,3}👎|\byay or nay\b|\byea or nay\b|\bgo or no[- ]go\b|\bdeal or no deal\b|"
    r"\by or n\b|(?:\[[ x_]?\]|[☐□○]) ?yes\W+(?:\[[ x_]?\]|[☐□○])? ?no\b"
)
_CORRECTS = re.compile(
    r"\b(?:any|some)thing(?P<else> else)?(?: that)? (?:you(?:'d| would)?|we|i)(?: (?:like|want|wish|need"
    r"|should|"
    r"must|have))?"
    r"(?: me)?(?: to)? (?:chang|correct|adjust|amend|modif|edit|fix)\w*"
)
"""Names no action: "is there anything you'd like to change, or may I go ahead?"."""
_BLANK = re.compile(
    r"(?<=[\w)]):? ?(?:_{2,}|\[[ _.]*\]|\.{4,}|<(?!br)[^<>\n]{1,40}>|"
    r"\((?:please )?(?:fill|enter|type|write|insert|complete|provide|to be|your|missing|"
    r"required)\b(?!:)[^():\n]*\))"
    r"(?=[ |)]*$)",
    re.MULTILINE,
)
"""A field that is to be filled in, as in a form: "email: ____", "user id: (please fill in)"."""
_ASKED = re.compile(r"(?<=[\w)]): ?\?|(?<=\S)[?!]*\?[?!]+|!+\?")
"""More than a question mark: "Shall I?!", "items: ?"."""
_UNMARKED = re.compile(
    r"(?:(?:^ ?|(?<=[,;.!?-] ))(?:(?:and|so|then|ok|okay|now|also) )*(?:(?:shall|should|may|can|could|"
    r"would|will|do|"
    r"does|did|is|are|was|were|have) (?:i|we|you|that|this|it|these|they|everything|all|the)\b(?:[^.?!:,;|"
    r"\n]|\.(?=\d))*|"
    r"you (?:ok|okay|fine|good|happy|ready|sure)\b[^.?!:,;|\n]*|which(?: one| of \w+)?|"
    r"what's your [^.?!:,;|\n]*|(?:which|"
    r"what|who|where|how) (?:is it|do you|would you|should i|shall i)\b[^.?!:,;|\n]*)|"
    r"(?<=[\w)])(?<!looks)(?<!sounds)(?<!all)(?<!is)(?<!'s)(?<!are)(?<!be),? (?:ok|okay|right|correct|yes|y|"
    r"yes or no))(?<=[\w)\"'])(?=\s*(?:\n\s*\n|\Z))",
    re.MULTILINE,
)
"""The end of a question without its mark: "… can I do it now", "… okay"."""
_ANSWERED = re.compile(
    r"(?:^|(?<=[.\n] )|(?<=\n))([a-z ]{0,20}\b(?:type|origin|destination|cabin|class|passengers?|"
    r"travell?ers?|payment|"
    r"method|bags?|baggage|luggage|insurance|flights?|dates?|reason|order|address|items?|total"
    r"|reservation|refund|"
    r"route|name))\?(?= (?:[^?.\n]|\.(?=\d))+(?:[.\n]|$))"
)
"""The label in a form that asks and answers: "Bags? 3. Insurance? No."."""
_ARROW = re.compile(r" ?(?:→|⇒|➜|➔|➡\ufe0f?|-+>|=+>) ?")
_STARS = re.compile(r"^[ \t]*\* +(?=\S)", re.MULTILINE)
_TITLE = re.compile(r"^ *(?:#{1,6} |> ?|[*_=-]{3,} *$)", re.MULTILINE)
_PLURAL = re.compile(r"(?<=[a-z])\(e?s\)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_MONTH_FIRST = re.compile(rf"\b{_MONTH}[ -](?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?[ -](\d{{4}})\b)?")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?[ -](?:of )?{_MONTH}(?:,?[ -](\d{{4}})\b)?")
_SLASHED = re.compile(r"\b(\d{1,2})/(\d{1,2})/((?:19|20)\d\d)\b")
"""Month/day/year, unless one of a message's dates can only be day/month/year."""
_DOTTED = re.compile(r"\b(\d{1,2})[.-] ?(\d{1,2})[.-] ?((?:19|20)\d\d)\b")
_YEAR_FIRST = re.compile(r"\b((?:19|20)\d\d)[/.](\d\d)[/.](\d\d)\b")
_STRUCK = re.compile(r"~~([^~\n]+)~~ ?(?:->)?")
