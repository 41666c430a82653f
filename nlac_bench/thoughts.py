"""Removes private reasoning from a model's text: what stands between ``<think>`` and ``</think>``."""

import re

TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad")
"""Names of the tags between which models think; all but the first two need a tag that opens them."""
_TAG = f"(?i:{'|'.join(TAGS)})"
_ENDS = re.compile(r"(?i:</think(?:ing)?>)")
_ELEMENT = re.compile(rf"^\s{{0,20}}<(?P<tag>{_TAG})>.*?(?:</(?P=tag)>|\Z)", re.DOTALL | re.MULTILINE)
ANY_TAG = re.compile(rf"</?{_TAG}>")
_ANSWER = re.compile(
    r"<(answer|response|reply|output|final|final_answer|message|action)>(.*?)(?:</\1>)?", re.DOTALL
)
_END_TOKEN = re.compile(r"<[|｜][\w▁-]{1,40}[|｜]>|</s>|<eos>|<end_of_turn>")


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
