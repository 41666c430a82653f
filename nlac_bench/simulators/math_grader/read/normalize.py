"""Normalises the spelling of an answer: Unicode look-alikes, LaTeX spacing, thousands separators.

Each step takes linear time; nothing is evaluated. The result is still LaTeX, the input of `tokens.tokenize`,
and two answers with the same result are the same answer.
"""

import re
import unicodedata
from functools import lru_cache

from nlac_bench.simulators.math_grader.read.presentation import undressed

MAX_ANSWER = 10_000
"""Maximal length of an answer that is parsed as mathematics; a longer one is only compared as a string."""

_SYMBOLS = {
    "°": r"^\circ ", "º": r"^\circ ", "∘": r"^\circ ", "√": r"\sqrt ", "∞": r"\infty ",
    "×": r"\times ", "⋅": r"\cdot ", "·": r"\cdot ", "∙": r"\cdot ", "•": r"\cdot ", "∗": "*",
    "÷": r"\div ",     "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "⁄": "/", "∕": "/",
    "±": r"\pm ", "∓": r"\mp ",
    "≤": r"\le ", "⩽": r"\le ", "≥": r"\ge ", "⩾": r"\ge ", "≠": r"\ne ", "≈": r"\approx ", "≡": r"\equiv ",
    "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "∉": r"\notin ", "∅": r"\emptyset ", "∖": r"\setminus ",
    "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}",
    "∠": r"\angle ", "△": r"\triangle ", "⊥": r"\perp ", "∥": r"\parallel ", "→": r"\to ",
    "⇒": r"\Rightarrow ",    "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "⌊": r"\lfloor ",
    "⌋": r"\rfloor ", "⌈": r"\lceil ",
    "⌉": r"\rceil ", "⟨": r"\langle ", "⟩": r"\rangle ", "′": "'", "’": "'", "‘": "'", "…": r"\ldots ",
    "、": ",", "。": ".", "€": r"\text{euro}", "£": r"\text{pound}",
    "¥": r"\text{yen}", "₹": r"\text{rupee}", "¢": r"\text{ cents}", "∣": "|", "∶": ":",
    "ø": r"\emptyset ", "Ø": r"\emptyset ", "ϕ": r"\phi ", "ϵ": r"\epsilon ", "ı": r"\imath ", "∼": r"\sim ",
    "✓": " ", "✔": " ", "✅": " ", "∎": " ",
}  # fmt: skip
_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho varsigma sigma"
    " tau upsilon phi chi psi omega"
)
for _index, _name in enumerate(_GREEK.split()):
    _SYMBOLS[chr(0x3B1 + _index)] = f"\\{_name} "
    _SYMBOLS[chr(0x391 + _index)] = f"\\{_name.capitalize()} "
_SYMBOLS["µ"] = r"\mu "
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₙ", "0123456789n")
_SUPERSCRIPT_RUN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+")
_SUBSCRIPT_RUN = re.compile("[₀₁₂₃₄₅₆₇₈₉ₙ]+")
_VULGAR_FRACTION = re.compile("[¼-¾⅐-⅞↉]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")

# In a string literal without doubled backslashes "\boxed" becomes "\x08oxed" and "\frac" "\x0crac".
_LOST_ESCAPES = {"\x07": "\\a", "\x08": "\\b", "\x0b": "\\v", "\x0c": "\\f"}
_LOST_ESCAPE = re.compile(r"[\x07\x08\x0b\x0c](?=[a-z])|\t(?=(?:ext|imes|frac|an|heta)\b)|\r(?=ight\b)")

_DOUBLED_BACKSLASH = re.compile(r"\\\\(?=[a-zA-Z])")
_CURRENCY = re.compile(r"\\(?:text)?(euro|yen|pound|rupee)s?(?![a-zA-Z])|\\textsterling(?![a-zA-Z])")
_LONE_DOLLAR = re.compile(r"\$(?=[\d.][^$]*\Z)")  # $5, and not $5$
_MODULO = re.compile(r"\(?\\(?:text|mbox|mathrm)\s*\{\s*\(?\s*mod\s*\}\s*(\w+)\s*\)?")
_PERCENT = re.compile(
    r"\\?\s*\\(?:text|mbox|mathrm|textrm)\s*\{\s*(?:per\s?cent|percentage|pct|\\?%)(?:\s+points?)?[.\s]*\}"
    r"|\\%|(?<![A-Za-z])(?:per\s?cent|percentage|pct)(?:\s+points?)?(?![A-Za-z])"
)
_PERCENT_OF = re.compile(r"\\text\s*\{\s*(?:per\s?cent|\\?%)\s+(?=[a-z])")  # \text{ percent of the pupils}
DEGREES = re.compile(
    r"\\(?:text|mbox|mathrm|textrm|operatorname)\s*\{\s*deg(?:ree)?s?[.\s]*\}|(?<![A-Za-z\\])deg(?:ree)?s?(?![A-Za-z])"
    r"|\\degree(?![A-Za-z])|\^\s*\{?\s*\\text(?:normal|rm)?\s*\{\s*o\s*\}\s*\}?"
)
# Explicit grouping (\, {,} ,\! and thin spaces) always joins digits; a plain space joins them only in an
# isolated run of groups of three.
_GROUP_COMMA = re.compile(
    r"(?<=\d)(?:\s*\{\s*,\s*\}\s*|\s*,\s*\\!\s*|\s*\{\s*,\s*\\!\s*\}\s*)(?=\d{3}(?!\d))"
)
_GROUP_THIN = re.compile(r"(?<=\d)\s*(?:(?<!\\)\\[,;:! ]|~)\s*(?=\d{3}(?!\d))")
# `2,\\ 349` can be a list or one number: the ~ in the result distinguishes it from `2, 349`, a list.
_GROUP_OR_LIST = re.compile(r"(?<=\d),(?<!\\,)\\ (?=\d{3}(?!\d))")
_GROUP_SPACE = re.compile(
    r"(?<![\w.,^_}/)\]\\] )(?<![\w.,^_}/)\]\\])\d{1,3}(?: \d{3})+(?![\w^_]| \d|\s*/|\s*\\frac)"
)
# {,} that does not group by threes is the decimal comma; 1.234,56 is unambiguous.
_DECIMAL_COMMA = re.compile(r"(?<=\d)\s*\{\s*,\s*\}\s*(?=\d)")
_EUROPEAN = re.compile(r"([-+]?\d{1,3}(?:\.\d{3})+),(\d+)", re.ASCII)
_SPACING = re.compile(r"(?:(?<!\\)|(?<=\\\\))\\[,;:> ]|~")
_RATE = re.compile(
    r"(?<=[\d}]) ?((?:km|m|cm|mm|ft|mi|in|g|kg|mg|L|miles|feet|meters|metres|gallons|liters|dollars)\s?/\s?"
    r"(?:s|h|hr|min|sec|second|hour|minute|day|L|mL|cm\^\{?3\}?|m\^\{?3\}?)(?:\^\{?2\}?)?)[.\s]*$"
)
_NUMBER_OF = re.compile(r"\bno\.\s*(?=of\b)", re.IGNORECASE)
_UNIT_FRACTION = re.compile(
    r"\\[dt]?frac\s*\{\s*\\(?:text|mathrm)\s*\{\s*([a-z]+)\s*\}\s*\}\s*"
    r"\{\s*\\(?:text|mathrm)\s*\{\s*([a-z]+)\s*\}\s*(\^\s*\{?\d\}?)?\s*\}"
)
_ROWS = re.compile(  # a row does not pass another \begin of its kind, so that no text is searched twice
    r"\\begin\s*\{((?:aligned|align|split|gathered|gather|eqnarray|multline)\*?)\}(?:\[\w\])?"
    r"((?:(?!\\begin\s*\{\1\}).)*?)\\end\s*\{\1\}"
    r"|\\begin\s*\{array\}\s*\{[rcl]+\}"
    r"((?:[^\\&]|&(?!\s*=))*&\s*=(?:(?!\\begin\s*\{array\}).)*?)\\end\s*\{array\}",
    re.DOTALL,
)
_CONTINUED = re.compile(r"\\\\\s*&?\s*(?==|\\approx|\\le|\\ge|<|>)")
_SUFFIX = r"-?(?:st|nd|rd|th)"
_ORDINAL_INDEX = re.compile(  # 14^{\text{th}}, 14\text{-th}, {14}^{\mathrm{th}}
    rf"(?<=[\d}}])\s*(?:\^\s*\{{?\s*(?:\\(?:text\w*|mathrm|mbox|rm|operatorname)\b\s*\{{?\s*)?{_SUFFIX}\s*\}}{{0,2}}"
    rf"|\\(?:text\w*|mathrm|mbox)\s*\{{\s*{_SUFFIX}\s*(?:(?=\s\w)|\}}))"
)
_ORDINAL_WORD = re.compile(rf"(\A|\{{)(\s*)(?:the\s+)?(\d+){_SUFFIX}(?![a-z])")  # 14th, \text{the 14th}
_INCHES = re.compile(r"(?<=[\d}]) ?(?:\"|'')")
_FEET = re.compile(r"(?<=\d) ?'(?!')")
_QUOTES = re.compile(r"[`\"“”]")
_SPACES = re.compile(r"\s+")
_FRACTIONS = re.compile(r"\\(?:d|t|c|s|x|nice)frac(?![a-z])|\\sfrac(?![a-z])")
_BINOMIALS = re.compile(r"\\[dt]binom(?![a-z])")
_CHOOSE = re.compile(  # {}_8 C_3, ^nC_k
    r"(?:\{\s*\}\s*)?(?<![\w)}\]])[_^]\s*(?:\{(\w{1,9})\}|(\w))\s*(?:\\(?:text|mathrm)\s*\{C\}|C)\s*"
    r"_\s*(?:\{(\w{1,9})\}|(\w))"
)
_REPEATING = re.compile(
    r"(?<![\d.])(\d{0,30})\.(\d{0,30})\\(?:overline|bar|dot)\s*(?:\{\s*(\d{1,30})\s*\}|(\d))"
)


def _one_character(match: re.Match[str]) -> str:
    character = match.group()
    if character in _SYMBOLS:
        return _SYMBOLS[character]
    if unicodedata.category(character) == "Cf":  # zero-width characters are invisible
        return ""
    plain = unicodedata.normalize("NFKC", character)
    digits = [str(unicodedata.digit(c)) if unicodedata.category(c) == "Nd" else c for c in plain]
    return "".join(_SYMBOLS.get(c, c) for c in digits)


def to_ascii(text: str) -> str:
    """Replace mathematical Unicode by LaTeX, and full-width and non-Latin digits by 0-9; letters are kept."""
    if text.isascii():
        return text
    text = _SUPERSCRIPT_RUN.sub(lambda m: "^{" + m.group().translate(_SUPERSCRIPTS) + "}", text)
    text = _SUBSCRIPT_RUN.sub(lambda m: "_{" + m.group().translate(_SUBSCRIPTS) + "}", text)
    text = _VULGAR_FRACTION.sub(
        lambda m: "\\frac{{{}}}{{{}}}".format(*unicodedata.normalize("NFKC", m.group()).split("⁄")), text
    )
    return _NOT_ASCII.sub(_one_character, text)


def repair_escapes(text: str) -> str:
    """Restore backslashes that a string literal has removed; replace other control characters by spaces."""
    text = _LOST_ESCAPE.sub(
        lambda m: {"\t": "\\t", "\r": "\\r"}.get(m.group()) or _LOST_ESCAPES[m.group()], text
    )
    return (
        "".join(" " if c < " " and c not in "\n\t" else c for c in text) if not text.isprintable() else text
    )


def _repeating_decimal(match: re.Match[str]) -> str:
    whole, fixed, cycle = match.group(1) or "0", match.group(2), match.group(3) or match.group(4)
    denominator = 10 ** len(fixed) * (10 ** len(cycle) - 1)
    numerator = int(whole + fixed + cycle) - int(whole + fixed)
    command = "cfrac" if len(cycle) > 1 else "frac"  # \cfrac marks the fraction of a longer repeating decimal
    return rf"(\{command}{{{numerator}}}{{{denominator}}})"


def _relations_of_rows(match: re.Match[str]) -> str:
    """Return `x = 2` for `\\begin{aligned} x &= 2 \\end{aligned}`, and several rows as a chain or a list."""
    rows = match[2] or match[3] or ""
    if "\\begin" in rows:  # a matrix, which keeps its rows
        return re.sub(r"&\s*(?==)", "", rows)
    return " " + _CONTINUED.sub(" ", rows).replace("&", " ").strip(" \\").replace("\\\\", ",") + " "


def _without_ordinal(match: re.Match[str]) -> str:
    """Return what remains of an ordinal's suffix: `\\text{` of `14\\text{th term}`."""
    return "" if match.group().rstrip().endswith("}") or "^" in match.group() else "\\text{"


@lru_cache(maxsize=32)  # a case normalises its answers once for the spelling and once for the meaning
def normalize(text: str) -> str:
    """Normalise an answer: `\\dfrac12\\,` → `\\frac12`, `1,\\!234` → `1234`, `½` → `\\frac{1}{2}`."""
    text = _SPACES.sub(" ", to_ascii(repair_escapes(text)))
    if "\\\\begin" in text.replace("\\\\\\begin", ""):
        text = text.replace("\\\\", "\\")
    elif "\\begin" not in text:
        text = _DOUBLED_BACKSLASH.sub(r"\\", text)
    if ("'" in text or '"' in text) and "circ" not in text:
        text = _FEET.sub(r"\\text{ ft}", _INCHES.sub(r"\\text{ in}", text))
    text = _QUOTES.sub("", text)
    text = _CURRENCY.sub(lambda m: f"\\text{{{m[1] or 'pound'}}}", text)
    if text.count("$") == 1 and text.lstrip(" -").startswith("$"):
        text = _LONE_DOLLAR.sub(r"\\$", text)
    text = _UNIT_FRACTION.sub(r" \\text{\1/\2\3}", _NUMBER_OF.sub("number ", undressed(text)))
    if "\\begin" in text:
        text = _ROWS.sub(_relations_of_rows, text)
    text = _ORDINAL_WORD.sub(r"\1\2\3", _ORDINAL_INDEX.sub(_without_ordinal, text))
    text = _PERCENT.sub("%", _PERCENT_OF.sub(r"%\\text{", text))
    text = DEGREES.sub(r"^\\circ ", text)
    text = _FRACTIONS.sub(r"\\frac", text)
    text = _BINOMIALS.sub(r"\\binom", text)
    text = _DECIMAL_COMMA.sub(".", _GROUP_COMMA.sub("", text))
    text = _GROUP_THIN.sub("", text).replace("\\!", "")
    text = text.replace("\\$", "\\dollar ").replace("$", " ").replace("\\#", "\\text{number}")
    text = _MODULO.sub(r"\\pmod{\1}", text.replace("@", "\\star "))
    text = _SPACES.sub(" ", _SPACING.sub(" ", _GROUP_OR_LIST.sub(",\x00", text))).strip()
    text = text.replace("\x00", "~")
    text = _GROUP_SPACE.sub(lambda m: m.group().replace(" ", ""), text)
    text = _RATE.sub(r" \\text{\1}", text)
    text = _CHOOSE.sub(lambda m: f"\\binom{{{m[1] or m[2]}}}{{{m[3] or m[4]}}}", text)
    text = _REPEATING.sub(_repeating_decimal, text)
    text = text.rstrip(" .,;:\\").lstrip(" ,;:")
    if european := _EUROPEAN.fullmatch(text):
        return european.group(1).replace(".", "") + "." + european.group(2)
    return text


WRAPPER = re.compile(r"\\(?:text|mbox|mathrm|textbf|textit|textrm|mathbf|emph|operatorname)\b\s*")
_ARTICLE = re.compile(r"^(?:the|an?) (?=\S)")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")  # June 20th
_WORD_NOISE = re.compile(r"[{}()\[\].!?*\\\"'“”]")
_COUNTING = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty"
)
NUMBER_WORDS = {word: value for value, word in enumerate(_COUNTING.split())}
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
    " fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
ORDINAL_WORDS = {word: value for value, word in enumerate(_ORDINALS.split(), start=1)}


_PREFIX = re.compile(r"\b(non|anti|un)(?:-|(?<=non) )(?=[a-z]{3})", re.IGNORECASE)


def join_prefixes(text: str) -> str:
    """Return `nonreal roots` for `non-real roots`, so that `real` is not one of the words."""
    return _PREFIX.sub(r"\1", text)


@lru_cache(maxsize=64)
def words(text: str) -> str:
    """Return a text answer in lower case, without wrappers, punctuation and articles, for comparison."""
    plain = join_prefixes(_WORD_NOISE.sub("", WRAPPER.sub(" ", text))).replace("-", " ").replace("~", " ")
    plain = _ORDINAL.sub("", _SPACES.sub(" ", plain)).strip(" ,;:").casefold()
    return _ARTICLE.sub("", plain)
