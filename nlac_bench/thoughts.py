"""Removes private reasoning from a model's text, whichever marks the model's family puts around it."""

import re

TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad")
"""Names of the tags between which models think."""
SPECIAL_THOUGHTS = {
    "[THINK]": "[/THINK]",  # Magistral
    "<|START_THINKING|>": "<|END_THINKING|>",  # Cohere
    "<|channel>thought": "<channel|>",  # Gemma 4
    "<seed:think>": "</seed:think>",  # Seed-OSS
    "◁think▷": "◁/think▷",  # Kimi-VL
}
"""The other marks with which families begin and end thoughts; some are special tokens."""
THOUGHTS = (*((f"<{tag}>", f"</{tag}>") for tag in TAGS), *SPECIAL_THOUGHTS.items())

_TAG = f"(?i:(?:\\w{{1,12}}[:_])?(?:{'|'.join(TAGS)}))"
_OPENED = rf"<(?P<tag>{_TAG})(?:\s[^<>\n]{{0,60}})?>.*?(?:</(?P=tag)>|\Z)"
_SPECIAL = "|".join(
    rf"{re.escape(begin)}.*?(?:{re.escape(end)}|\Z)" for begin, end in SPECIAL_THOUGHTS.items()
)
_ELEMENT = re.compile(rf"^\s{{0,20}}(?:{_OPENED}|{_SPECIAL})", re.DOTALL | re.MULTILINE)
_ENDS = re.compile(
    rf"(?i:</think(?:ing)?>)|{'|'.join(re.escape(end) for end in SPECIAL_THOUGHTS.values() if '/' in end)}"
)
"""Marks that end thoughts which the prompt began."""
ANY_MARK = re.compile(rf"</?{_TAG}(?:\s[^<>\n]{{0,60}})?>|{'|'.join(map(re.escape, SPECIAL_THOUGHTS))}")
_ANSWER = re.compile(
    r"<(answer|response|reply|output|final|final_answer|message|action)>((?:(?!</\1>).)*)(?:</\1>)?",
    re.DOTALL,
)
CONTROL_TOKEN = re.compile(r"<[|｜][\w▁-]{1,40}[|｜]>")
"""A special token that structures chats, in the notation that most families share."""
_END_TOKEN = re.compile(rf"{CONTROL_TOKEN.pattern}|</s>|<eos>|<end_of_turn>")


def drop_reasoning(text: str) -> str:
    """Return ``text`` without private thoughts, end tokens, a tag around the whole answer, and white space
    around it.

    Chat templates may open ``<think>`` in the prompt, so a closing tag alone is enough. Thoughts that begin a
    line and do not end are the rest of the text.
    """
    ends = [match.end() for match in _ENDS.finditer(text)]
    answer = without_end_tokens(_ELEMENT.sub("", text[ends[-1] :] if ends else text)).strip()
    tag = _ANSWER.fullmatch(answer)
    return answer if tag is None else tag[2].strip()


def without_end_tokens(text: str) -> str:
    """Return ``text`` without special tokens and white space at its end."""
    end = len(text)
    while True:
        while end and text[end - 1].isspace():
            end -= 1
        begin = text.rfind("<", max(0, end - 44), end)
        if begin < 0 or not _END_TOKEN.fullmatch(text, begin, end):
            return text[:end]
        end = begin
