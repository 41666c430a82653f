"""Decides what an error of a server means, by the meaning of its words instead of a list of phrases.

An error says that the context was too short if it speaks of what was sent (the prompt, the context, the
messages), of an excess (too long, exceeds, at most) and of a length (tokens, context, window), and of no
other limit: of a rate, a price, the answer alone, or the length of a name. Messages in Chinese are read too.
"""

import re
from dataclasses import replace
from typing import Literal, TypeAlias

from nlac_bench.rollout.engines.openai.complaint import Complaint

Meaning: TypeAlias = Literal[
    "quota", "rate_limit", "overflow", "cut", "filter", "setup", "call", "server", "refused"
]
"""``quota``: the account is empty. ``rate_limit``: too much at present. ``overflow``: prompt and answer do
not fit into the context. ``cut``: the answer reached its limit of tokens and is not sent. ``filter``: a
content filter rejected the prompt. ``setup``: a wrong key, address or model. ``call``: the model wrote a call
that the server cannot read. ``server``: the server failed. ``refused``: the request is refused for another
reason."""

_RATE = re.compile(
    r"\b(?:tokens?|requests?|quer\w+|inputs?)[ _](?:per|/)[ _]?(?:minute|day|second|hour|min\b|sec\b)"
    r"|\b[TR]P[MDS]\b|\brate[ _-]?limit|\bthrottl|too many (?:concurrent |parallel )?requests"
    r"|concurren\w+ (?:requests? )?(?:limit|quota)|限流|频率|并发"
    r"|\bwait before\b",
    re.IGNORECASE,
)
_OVERLOADED = re.compile(
    r"\boverloaded|\b(?:at|over|insufficient|no|exceeded) capacity|capacity (?:is )?exceeded"
    r"|resource ?_?exhausted"
    r"|queue (?:is full|full|length|size)"
    r"|(?:server|system|service|model|too)s? (?:is |are )?(?:currently |too )?busy|繁忙"
    r"|temporarily (?:unavailable|rate|limited)",
    re.IGNORECASE,
)
_EMPTY_ACCOUNT = re.compile(
    r"insufficient[ _](?:quota|balance|credits?|funds)|(?:credit|account) balance is too low"
    r"|billing[ _](?:hard|not)"
    r"|out of credits|requires? more credits|\bspending limit|\barrear|余额不足|欠费"
    r"|(?:used|exceeded|exhausted|spent|n[o']t have)\b[^.]{0,40}\bcredits\b",
    re.IGNORECASE,
)

_QUOTA_CODES = {"insufficient quota", "exceeded current quota error"}
_ALLOWANCE = re.compile(
    r"\b(?:hourly|daily|weekly|monthly|yearly|annual)\b[^.]{0,40}\b(?:tokens?|limit|budget|usage|requests?"
    r"|quota)|\b(?:tokens?|usage|spend\w*|credits?) (?:budget|quota|allowance)"
    r"|\bbudget (?:has been |is |was )?exceeded",
    re.IGNORECASE,
)
"""What an account may use in a period, which is no length of a request."""
# "context deadline exceeded" is about a request's time: Go calls the scope of a request its context.
_TIME_OR_MEMORY = re.compile(
    r"\bdeadline|\btime[d -]?out|\bcontext cancel|\bout of memory|\bOOM\b|\bto allocate"
    r"|(?:than|of|after|within|exceed\w*) \d[\d.,]* ?(?:ms|milliseconds?|s|secs?|seconds?|min|minutes?"
    r"|[MG]i?B)\b",
    re.IGNORECASE,
)
_SENT = (
    r"prompts?|inputs?|context|contexts|messages?|conversation|sessions?|chat history|sequences?"
    r"|request(?:ed)?|body|payload"
    r"|n_ctx|max_?model_?len|(?:total|number of|input) tokens|tokens|token (?:count|limit|length)|text"
)
_EXCESS = (
    r"too (?:long|large|many|big)|exceed\w*|overflow\w*|surpass\w*|over (?:the )?(?:limit|maximum)|overlength"
    r"|(?:longer|greater|larger|bigger|more|higher) than|beyond|out of (?:context|room)|does ?n[o']t fit"
    r"|no room"
    r"|(?:reduce|shorten|decrease|truncate|trim)\w* (?:the |your )?"
    r"(?:prompt|input|messages?|length|number|context|size)"
    r"|must (?:be|have) (?:<=?|less|fewer|shorter|smaller|at most|no more|under|within)"
    r"|cannot (?:be|have) (?:longer|more)"
    r"|should be (?:within )?\[ ?\d|is (?:only )?\d+ tokens|(?:is|of) \d[\d,]* (?:tokens )?but|>=? ?\d"
    r"|only supports?"
    r"|limit(?:ed)? (?:is|of|to|:)|larger|max(?:imum)?\b[^.]{0,40}\bis\b|reached|over \d"
)
_LENGTH = (
    r"tokens?|context[ _-]?(?:length|window|size|limit)?|\blengths?|window|\blong|n_ctx|max_?model_?len"
    r"|\bsize|\bcharacters"  # llama.cpp: "too big compared to KV size"
)
_WORD = r"(?<![a-z])(?:{})(?![a-z])"
# Chinese is written without spaces.
_SPEAKS = [
    re.compile(f"{_WORD.format(words)}|{chinese}", re.I)
    for words, chinese in [
        (_SENT, "上下文|输入|提示词|对话|消息"),
        (_EXCESS, "超出|超过|超长|过长|超限|大于"),
        (_LENGTH, "长度|上下文|超长|过长|字符"),
    ]
]
_EXCESS_OF_CONTEXT = re.compile(
    r"context[ _-]?(?:length|window|size|limit)?\b.{0,60}(?:exceed|overflow|too (?:long|large)|full\b)"
    r"|(?:exceed|overflow|longer than|larger than|greater than|too long for|too big|out of).{0,60}"
    r"\b(?:context|n_ctx|max_?model_?len|kv size)"
    r"|max(?:imum)? (?:context|prompt|input|sequence|model) (?:length|size|len)|prompt is too long",
    re.I | re.S,
)
_OUTPUT = (
    r"max(?:imum)?[ _]?(?:new_?|completion_?|output_?)?tokens\w*|answer"
    r"|(?:completion|output) (?:tokens|length)|(?:generation|response) length"
)
_ONLY_OUTPUT = re.compile(_OUTPUT, re.I)
_OF_INPUT = re.compile(
    _WORD.format(r"prompts?|inputs?|context|messages?|conversation|sequences?|input tokens|n_ctx"
                 r"|max_?model_?len|上下文|输入|提示词|对话"), re.I,
)  # fmt: skip
# "max_tokens must be less than or equal to 512", but not "inputs tokens + max_new_tokens must be <= 4096".
_BOUND_OF_OUTPUT = re.compile(
    rf"(?<!\+)(?<!\+ )(?<!plus )(?<!and )\b(?:{_OUTPUT})\W{{1,3}}(?:value )?(?:must|should|has to|can) "
    r"(?:be|not)\b.{0,30}?(?:<|\b(?:less|at most|more|exceed|greater|between|in|within)\b)",
    re.I,
)
_CUT = re.compile(r"\b(?:max_tokens|output limit)\b[^.]{0,40}\bwas reached", re.I)
# Requests ask for at least one token, so a server that read less had no room left beside the prompt.
_NO_ROOM = re.compile(
    r"max(?:_new|_completion|_output)?_tokens\W* must be (?:at least [01]\b|greater than 0|positive"
    r"|strictly positive)"
    r"|max(?:_new|_completion|_output)?_tokens\W.{0,60}(?:>= 1|minimum value).{0,20} got (?:0|-\d)",
    re.I,
)
_OTHER_LENGTH = re.compile(
    r"\b(?:image(?! and text)|audio|file|video|picture|pixel|schema|metadata|function name|tool name"
    r"|tool_?call_?id|stop sequences?"
    r"|array too (?:long|large)"
    r"|'?(?:name|description|id|user|key|url)'?:? (?:is |must |string )?too long"
    r"|(?:access|session|auth\w*|bearer|refresh|security|api|id)[ _-]token"
    r"|headers?\b.{0,40}\btoo (?:long|large)|grammar"
    r"|too small|number of (?:tools|functions|images)|logit_?bias|top_?logprobs|vocab\w*|embedding)\b"
    r"|tools?\[?\d*\]?\.|\.name\b",
    re.I,
)
_PATH_OF_CONVERSATION = re.compile(
    r"(?:messages?|contents?|texts?|inputs?|prompts?|parts?|contexts?|conversation|request|body|__root__|none|null"
    r"|n(?:um)?_ctx|(?:max|context|input|prompt)_(?:\w+_)?(?:len|length|window|size)|(?:max_)?(?:(?:input|prompt|context|total|num)_)?tokens"
    r"|max_(?:new|completion|output)_tokens|(?:input|prompt)_(?:token_)?ids)$",
    re.I,
)
"""The end of a path in a request that leads to the conversation, to a length that includes it, or nowhere."""
# "Invalid 'user': string too long", "thinking.budget_tokens: Input should be at least 1024". Exceptions have
# paths too, in capital letters.
_PATH = re.compile(
    r"\bInvalid ['\"`]([\w.\[\]]{1,80})['\"`]: |(?<![\w.-])([a-z_]{1,40}(?:\.[a-z0-9_]{1,40}|\[\d{1,6}\])+): "
)
# A number of tokens that is a setting, and the word with which pydantic calls any value.
_SETTING = re.compile(
    r"\b(?!(?:max|maximum|input|prompt|messages?|text|total|number|num|n|context|completion|output)_)[a-z]+(?:_[a-z]+)*_tokens\b"
    r"|\binput should be\b",
    re.I,
)
_OVERFLOW_CODE = re.compile(
    r"\b(?:context|prompt|input|sequence|request|tokens?|string)\b.*\b(?:exceed\w*|too (?:long|large)"
    r"|overflow\w*|above max length"
    r"|limit reached|max(?:imum)? length|limit exceed\w*)|\bexceed\w* context|\bmodel max prompt tokens"
)
_FILTERED = re.compile(
    r"content[_ ](?:filter|policy|management policy|moderation)|responsible ?ai|data_?inspection_?failed"
    r"|content exists risk|safety (?:system|check|filter|settings)|\bguardrails?\b|\bmoderation"
    r"|usage (?:guidelines|polic)|considered high risk|(?<!case[- ])\bsensitive|new_sensitive|敏感|违规"
    r"|不安全"
    r"|\b(?:input|prompt|content|messages?|text|output)\b[^.]{0,40}\bblocked\b"  # firewalls block requests
    r"|\b(?:input|prompt|content|messages?|request|text|output)\b[^.]{0,40}"
    r"\b(?:flagged|inappropriate|unsafe|prohibited|violat\w+)\b"
    r"|\b(?:inappropriate|unsafe|prohibited|harmful)\b[^.]{0,20}\b(?:content|input|prompt|text)\b",
    re.IGNORECASE,
)
_FILTER_CODES = {"content filter", "content policy violation"}
# Accounts, keys, addresses and countries are flagged too; that is not about the prompt.
_ACCOUNT = re.compile(
    r"\b(?:account|organi[sz]ation|key|subscription|ip|address|project|region|country) (?:\w+ ){0,3}"
    r"(?:flagged|blocked)",
    re.I,
)
# Groq, Gemini, Ollama, llama.cpp and Bedrock, of a call that the model wrote.
MALFORMED_CALL = re.compile(
    r"\btool use failed|\bmalformed[_ ](?:function|tool)[_ ]call"
    r"|\bfailed to (?:call a function|generate (?:a )?(?:tool|function)[_ ]calls?)"
    r"|\boutput parse failed|\bfailed to parse input at pos|\binvalid sequence as part of tool ?use"
    r"|\b(?:error|fail\w*|unable|could not)\b.{0,20}\bpars\w+ (?:the |a )?(?:tool|function)[_ ]calls?\b",
    re.I,
)
# Gateways and LM Studio say so with status 200.
_NO_RIGHT = re.compile(
    r"\bnot authenticated|\bunauthori[sz]ed|\bauthentication (?:failed|error|required)|\bunexpected endpoint"
    r"|\b(?:invalid|incorrect|missing|no) (?:api|access)[ _-]?(?:key|token)\b",
    re.I,
)
_OF_PROMPT = re.compile(r"\b(?:context|prompt|input)\b")
_COUNT = re.compile(r"\d[\d,]{1,11}")

_SETUP_STATUS = (401, 403, 404, 405, 407)
_TIME_STATUS = (408, 504)
_REFUSAL_STATUS = (400, 406, 410, 411, 413, 414, 415, 417, 422, 431, 451)
_PAUSE_STATUS = (420, 429, 430, 498, 503, 529)
_FILTER_STATUS = (0, 400, 403, 422, 451)
_OWN_MEANING = (402, *_SETUP_STATUS, *_PAUSE_STATUS)
"""Statuses that no words of the model explain."""


def meaning_of(complaint: Complaint) -> Meaning:
    """Return what ``complaint`` means.

    What follows the words that a call cannot be read is the model's text, and says nothing about the request.
    """
    status = complaint.status
    malformed = None if status in _OWN_MEANING else MALFORMED_CALL.search(complaint.text)
    if malformed:
        codes = len(complaint.text) - len(complaint.message)
        complaint = replace(complaint, message=complaint.text[codes : malformed.end()])
    if status == 402 or _EMPTY_ACCOUNT.search(complaint.text) or _QUOTA_CODES & {*complaint.codes}:
        return "quota"
    if says_rate_limit(complaint):
        return "rate_limit"
    if _CUT.search(complaint.message):
        return "cut"
    if status in _FILTER_STATUS and _FILTER_CODES & {*complaint.codes}:
        return "filter"
    if says_overflow(complaint):
        return "overflow"
    if _says_allowance(complaint):
        return "quota"
    if says_filtered(complaint):
        return "filter"
    if status in _SETUP_STATUS or (status == 0 and _NO_RIGHT.search(complaint.text)):
        return "setup"
    if malformed:
        return "call"
    return "refused" if status in _REFUSAL_STATUS else "server"


def says_rate_limit(complaint: Complaint) -> bool:
    """Return whether an error means that the account sends too much at present, or the server is overloaded.

    Groq answers 413 with code ``rate_limit_exceeded`` where one request is larger than the tokens that the
    account may use in a minute, which says nothing about the model's context.
    """
    if complaint.status in _PAUSE_STATUS or _RATE.search(complaint.text[:1500]):
        return True
    return (complaint.status == 0 or complaint.status >= 500) and bool(
        _OVERLOADED.search(complaint.text[:1500])
    )


def says_overflow(complaint: Complaint) -> bool:
    """Return whether an error means that the context was too short; the wording varies by server.

    A server's own failure (status 500 and above) may mention contexts too, so there the message must state
    the lengths, or say that the context is exceeded. Excesses of time, of memory and of what the account may
    use are no overflow, and where the status says that the account lacks a right, only a code counts.
    """
    no_right = complaint.status in _SETUP_STATUS
    codes = [code for code in complaint.codes if _OVERFLOW_CODE.search(code) and "quota" not in code]
    if any("context" in code for code in codes):
        return True
    if any(_OF_PROMPT.search(code) or not no_right for code in codes) and not _of_other_field(complaint):
        return True
    if no_right or complaint.status in _TIME_STATUS or _says_allowance(complaint):
        return False
    if complaint.status == 413:
        return True
    message = _SETTING.sub("", re.sub(r"[`'\"*]", "", complaint.message))
    if _NO_ROOM.search(message):
        return True
    numbers = set(_COUNT.findall(message))
    if _TIME_OR_MEMORY.search(message):
        return False
    if _BOUND_OF_OUTPUT.search(message) and len(numbers) <= 2:  # the bound and what was asked for
        return False
    if _of_other_field(complaint) or not all(words.search(message) for words in _SPEAKS):
        return False
    rest = re.sub(_OUTPUT, "", message, flags=re.I)
    output_only = _ONLY_OUTPUT.search(message) and not _OF_INPUT.search(rest)  # the answer's own limit
    if complaint.status >= 500:
        return len(numbers) >= 2 or bool(not output_only and _EXCESS_OF_CONTEXT.search(message))
    if output_only:
        return False
    return not (
        re.search(r"\btoo small\b|\bminimum\b", message, re.I) and not _EXCESS_OF_CONTEXT.search(message)
    )


def says_filtered(complaint: Complaint) -> bool:
    """Return whether an error means that a content filter rejected the prompt.

    Azure answers 400 with code ``content_filter``, OpenRouter 403 with "your input was flagged", DeepSeek 400
    with "Content Exists Risk", Alibaba 400 with ``data_inspection_failed``.
    """
    if complaint.status not in _FILTER_STATUS:
        return False
    text = complaint.text[:1500]
    return _FILTERED.search(text) is not None and not _ACCOUNT.search(text)


def _says_allowance(complaint: Complaint) -> bool:
    """Return whether an error means that the account has used what it may use in a period."""
    return bool(_ALLOWANCE.search(complaint.message) and _SPEAKS[1].search(complaint.message))


def _of_other_field(complaint: Complaint) -> bool:
    """Return whether an error is about the length of something else than the conversation."""
    paths = [*complaint.params, *(path for pair in _PATH.findall(complaint.message) for path in pair if path)]
    for path in paths:
        parts = [part.strip("'\" ]") for part in re.split(r"[.\[]", path)]
        ends = [part for part in parts if re.match(r"[a-z_]", part)]  # neither numbers nor pydantic's classes
        if ends and not _PATH_OF_CONVERSATION.match(ends[-1]):
            return True
    return _OTHER_LENGTH.search(complaint.message) is not None
