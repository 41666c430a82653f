"""Puts a model's private reasoning between ``<think>`` tags, whichever marks its family has."""

import re

from nlac_bench.thoughts import SPECIAL_THOUGHTS, THOUGHTS

OPENS_OBJECT = re.compile(r"\s*(?:\[\s*)?\{")
"""The beginning of JSON, which may quote marks of thoughts."""
_ALOUD = ("commentary", "final")
"""The channels of gpt-oss whose text is meant for the user."""
_BARE_CHANNELS = re.compile(
    r"analysis(?P<thought>.*)(?:assistantfinal|assistantcommentary (?=to=))(?P<said>.*)"
    r"|analysis(?=[A-Z\"'])(?P<cut>.*)",
    re.DOTALL,
)
"""gpt-oss's channels if a server has removed its special tokens."""
_CHANNEL = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>(?P<name>\w{1,20})\b(?![^<]{0,80}\bto=)[^<]{0,40}"
    r"(?:<\|constrain\|>[^<]{0,20})?<\|message\|>(?P<said>.*?)(?:<\|end\|>|<\|return\|>|(?=<\|start\|>|<\|channel\|>)|\Z)",
    re.DOTALL,
)
_RECIPIENT = re.compile(r"\bto=(?:functions|browser|python|container)\b[\w.-]{0,64}\s?$")
_THOUGHTS_BEGIN = re.compile(r"\s*<think>")
_THOUGHTS_END = re.compile("</think>")


def with_think_tags(text: str) -> str:
    """Return ``text`` with its private reasoning between ``<think>`` tags and without gpt-oss's channels."""
    for begin, end in THOUGHTS[1:] if not OPENS_OBJECT.match(text) else ():
        said, ended, rest = text.rpartition(end)  # it may think several times
        if not ended:
            said, rest = text, ""
        begun = ended and begin not in said and begin in SPECIAL_THOUGHTS  # by the prompt
        if said.lstrip().startswith(begin) or begun:
            return thought(said.lstrip().removeprefix(begin), rest.lstrip())
    if bare := _BARE_CHANNELS.match(text):
        return thought(bare["thought"] or bare["cut"], bare["said"] or "")
    thoughts = [
        each["said"].strip()
        for each in _CHANNEL.finditer(text)
        if each["name"] not in _ALOUD and not _calls(each)
    ]
    rest = _CHANNEL.sub(_said_aloud, text)
    return thought("\n".join(thoughts), rest) if thoughts else rest


def _said_aloud(channel: re.Match[str]) -> str:
    """Return what a channel of gpt-oss says; a call stays as it is."""
    if _calls(channel):
        return channel[0]
    return channel["said"] if channel["name"] in _ALOUD else ""


def _calls(channel: re.Match[str]) -> bool:
    """Return whether a channel is a call whose recipient stands before the channel."""
    return _RECIPIENT.search(channel.string[: channel.start()][-80:]) is not None


def thought(said: str, rest: str) -> str:
    """Return the reasoning ``said`` between tags, followed by ``rest``."""
    return f"<think>\n{said.strip()}\n</think>\n\n{rest}"


def split_thoughts(text: str) -> tuple[str, str]:
    """Return the private reasoning with which ``text`` begins, and the rest."""
    if OPENS_OBJECT.match(text):  # a call may quote the tag in an argument
        return "", text
    ends = [match.end() for match in _THOUGHTS_END.finditer(text)]
    end = ends[-1] if ends else len(text) if _THOUGHTS_BEGIN.match(text) else 0
    return text[:end], text[end:]
