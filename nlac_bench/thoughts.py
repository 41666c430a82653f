"""Removes private reasoning from a model's text: what stands between ``<think>`` and ``</think>``."""

import re

_TAGS = r"(?i:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad)"
_BEGINS = re.compile(rf"\s*<{_TAGS}>")
_ENDS = re.compile(rf"</{_TAGS}>")
_ANSWER = re.compile(
    r"<(answer|response|reply|output|final|final_answer|message|action)>(.*)</\1>", re.DOTALL
)


def drop_reasoning(text: str) -> str:
    """Return ``text`` without private thoughts, without a tag around the whole answer, and stripped.

    Chat templates may open ``<think>`` in the prompt, so a closing tag alone is enough. Thoughts that do not
    end are all of the text.
    """
    ends = [match.end() for match in _ENDS.finditer(text)]
    if not ends and _BEGINS.match(text):
        return ""
    answer = text[ends[-1] :].strip() if ends else text.strip()
    tag = _ANSWER.fullmatch(answer)
    return answer if tag is None else tag[2].strip()
