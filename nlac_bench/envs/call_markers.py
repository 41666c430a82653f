"""Markers of native tool calls, as the chat templates of known model families write them.

A server or a chat template that cannot read the calls of its model leaves them in the text. Such a text is an
attempt to call a tool; it was not meant for the person in the conversation. Ordinary speech has no markers:
it can quote data in JSON and speak of function calls. It can also mention a tool, but does not write its name
as calls do.
"""

import functools
import re
from collections.abc import Iterable

_SPACE = r"\s{0,20}"  # bounded, so that the search takes linear time
_MARKER = re.compile(
    # A tag or a special token that is named after calls of tools or functions.
    r"(?i:<[/|｜]{0,2}(?:[\w.｜-]{1,30}[:_｜▁-])?(?:tool|function)s?[_▁-]?(?:call|prefix)[\w▁-]{0,40}[|｜]?>?)"
    r"|\[/?TOOL_?CALLS?\]|```tool_c(?:ode|all)|</?tool_code>"
    r"|\bto=[\w.-]{1,64} ?(?:json|code)? ?\{"
    # Words of a format, with what follows them only in a call.
    r"|\bfunction call ?<\||\bfunctools\[|\bfunctions\.[\w-]{1,64}:\d{1,4}\s?[{<]|\bto=functions\.\w+"
    r"|\bto=[\w.-]{1,64}(?: \w{1,20})? ?<\|"
    # A line that begins with a call in JSON: a name, then parameters or arguments.
    rf'|^[ \t]{{0,20}}(?:\[{_SPACE})?\{{{_SPACE}(?:"type"{_SPACE}:{_SPACE}"function"{_SPACE},{_SPACE})?'
    rf'(?:"function"{_SPACE}:{_SPACE}\{{{_SPACE})?"(?:tool_)?name"{_SPACE}:{_SPACE}"[^"\n]{{1,200}}"'
    rf'{_SPACE},{_SPACE}"(?:parameters|arguments)"{_SPACE}:{_SPACE}"?\{{'
    rf'|^[ \t]{{0,20}}\{{{_SPACE}"arguments"{_SPACE}:{_SPACE}\{{[^\n]{{0,400}}\}}{_SPACE}'
    rf',{_SPACE}"name"{_SPACE}:'
    # A line that begins with calls in Python, as Llama 3.2 and 4 write them: a bracket, a name, parameters.
    r"|^[ \t]{0,20}\[[A-Za-z_][\w.-]{0,63}\((?:[A-Za-z_]\w{0,63}=|\)[,\]](?!\())"
    # A tool's name on the first line and JSON on the second, as GLM-4 and Functionary write calls; Python
    # between tags, as SmolLM3.
    rf"|\A{_SPACE}(?:[a-z]|(?=\w{{0,63}}_)\w)[\w.-]{{0,63}}\n[ \t]{{0,20}}\{{{_SPACE}[\"}}]"
    rf"|^>>>[A-Za-z_][\w.-]{{0,63}}\n{_SPACE}\{{"
    rf"|<code>{_SPACE}[A-Za-z_][\w.]{{0,63}}\("
    # Further tags and special tokens.
    r"|<function=[\w.-]+[>{]|<\|python_(?:tag|start)\|>|<｜DSML｜\w+|<(?:\w{1,20}:)?invoke name=|<arg_key>"
    r"|<\|recipient\|>(?!all\b)"
    r"|<\|START_ACTION\|>|<\|action_start\|>",
    re.MULTILINE,
)


def call_marker(text: str) -> str | None:
    """Return the first marker of a native tool call in ``text``, or None."""
    match = _MARKER.search(text)
    return None if match is None else match[0].strip()


def named_call(text: str, tools: Iterable[str]) -> str | None:
    """Return the first tool's name in ``text`` that stands where only calls have one, or None.

    Examples are ``get_order(id="7")``, ``{"tool": "get_order"``, ``Tool: get_order``, ``<get_order>``, and
    ``get_order`` on a line above ``Action Input: …``. A name that is an ordinary word, such as ``think``,
    counts only if it is a value in JSON, all of the text, or followed by arguments.

    Args:
        tools: names of the tools.
    """
    match = _named(frozenset(tools)).search(text)
    return None if match is None or match.lastgroup is None else match[match.lastgroup]


@functools.lru_cache(maxsize=32)
def _named(tools: frozenset[str]) -> re.Pattern[str]:
    longest_first = sorted(tools, key=len, reverse=True)
    names, words = (
        "|".join(re.escape(name) for name in longest_first if ("_" in name) == special) or r"(?!)"
        for special in (True, False)
    )
    label = r"(?i:(?:tool|function|action|call)(?:[ _]?(?:name|call))?|name)"
    code = r"(?:(?:await|return)[ \t]|print\(|\w{1,30}[ \t]?=[ \t]?)?(?:\w{1,20}\.|function)?"
    begin = rf"^[ \t*_`\"'<>(]{{0,12}}{code}"
    return re.compile(
        rf"\b(?P<called>{names})(?:[(\[]|\s?\{{)"
        rf"|[\"']{label}[\"']\s{{0,5}}:\s{{0,5}}[\"'](?P<value>{names}|{words})[\"']"
        rf"|</?(?:\w{{1,20}}[ (=:])?(?:name=)?[\"']?(?P<tag>{names})\b"
        rf"|>\s{{0,3}}(?P<inside>{names})\s{{0,3}}<"
        rf"|\b{label}[ \t]?[:=]\s{{0,3}}[*`\"']{{0,3}}(?:(?P<labelled>{names})\b"
        rf"|(?P<labelled_word>{words})(?=[*`\"']{{0,3}}[ \t]{{0,3}}(?:[\n:(\[{{]|\Z)))"
        rf"|{begin}(?:(?P<line>{names})[*_`\"'>)]{{0,3}}[ \t]{{0,3}}"
        r"(?:$|[:{<=,|]|\w{1,30}[=:]|(?i:with|input|arguments)\b)"
        rf"|(?P<word>{words})(?:\((?=[\"'{{)\d]|\w{{1,30}}\s?=)|[*_`\"']{{0,3}}(?:\["
        r"|\s{0,3}(?i:(?:action[ _]?)?input|arguments)\s{0,3}[:=]|\s{0,3}:?\s{0,5}\{)))"
        rf"|\A\W{{0,4}}(?P<only>{words})\W{{0,4}}\Z",
        re.MULTILINE,
    )
