"""Reads an agent's message for a scripted user: a list of acts, found by sentence and list structure.

Each unit of a message (``structure``) performs one or more acts: it states, proposes, asks, offers a choice,
reports, refuses, transfers. The database is not used, and nothing here depends on the user's goals.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nlac_bench.envs.tau.users.scripted.structure import Unit, units
from nlac_bench.envs.tau.users.scripted.topics import any_of, topics


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed message of an agent.

    ``claims`` are the units that state or propose something (without open questions, conditions and
    consequences), ``questions`` those that ask for a value or offer a choice, ``reports`` those that say that
    something has been done, ``asks`` the topics of the questions. ``confirm``: the message asks for a yes;
    ``announced``: it says that the agent is about to act, without asking.
    """

    text: str
    claims: tuple[Unit, ...]
    proposed: tuple[Unit, ...]
    questions: tuple[Unit, ...]
    reports: tuple[Unit, ...]
    asks: frozenset[str]
    confirm: bool
    announced: bool
    choice: bool
    refused: bool
    not_found: bool
    transfer: bool
    transfer_offer: bool
    more: bool
    wait: bool


def read(message: str) -> Reading:
    """Parse ``message``."""
    parts = units(message)
    text = "\n".join(part.full for part in parts)
    claims: list[Unit] = []
    proposed: list[Unit] = []
    questions: list[Unit] = []
    reports: list[Unit] = []
    asks: set[str] = set()
    confirm = announced = choice = refused = not_found = more = wait = False
    asking = ""  # the heading of a list whose entries are asked for
    for place, part in enumerate(parts):
        said = part.text
        if MORE.search(said):
            more = True
            asks |= {"complete"} if COMPLETE.search(said) else set()
            if not (YES_NO.search(said) or PROCEED.search(said)):
                if OTHERS.search(said):
                    questions.append(part)
                continue
        if NOT_FOUND.search(said):
            not_found = True
        elif CAVEAT.search(said):
            pass
        elif REFUSED.search(said) or (REGRET.search(said) and not asks_for_value(said)):
            refused = True
        if asking and part.heading == asking:
            asks |= _topics(said) - {"request", "unclear"}
            questions.append(part)
            if not asking.endswith("?"):
                claims.append(part)  # what looks like a question may be a label: what it lists is compared
        elif OTHERS.search(said) and said.endswith("?"):
            asks |= {"complete"}
            questions.append(part)
        elif asks_for_value(said):
            asks |= _topics(said)
            questions.append(part)
            asking = said if _opens_list(parts, place) else ""
            if said.endswith("?") and not _WH_START.match(said):
                claims.append(part)
        elif asks_for_yes(said):
            confirm = True
            choice = choice or _is_choice(said)
            claims.append(part)
            proposed.append(part)
            asking = said if _opens_list(parts, place) and said.endswith("?") else ""
        elif said.endswith("?"):
            asks |= _topics(said)
            questions.append(part)
            choice = choice or _is_choice(said)
            asking = said if _opens_list(parts, place) else ""
            if not _WH.search(said):
                claims.append(part)
        elif WAIT.search(said):
            wait = True
            announced = announced or bool(_ANNOUNCES.search(said))
            if _ANNOUNCES.search(said):
                claims.append(part)
        else:
            asking = ""
            if said.endswith(":") and _wants_identity(said):
                asks |= topics(said) & IDENTITY or {"identity"}
                asking = said
                questions.append(part)
                continue
            if not REFUSED.search(said) or CAVEAT.search(said):
                claims.append(part)
            announced = announced or bool(_ANNOUNCES.search(said))
            if REPORT.search(said) and not REFUSED.search(said) and not FUTURE.search(said):
                reports.append(part)
            if ASSENT.search(said):
                confirm = True
                proposed.append(part)
    return Reading(
        text=text,
        claims=tuple(claims),
        proposed=tuple(proposed),
        questions=tuple(questions),
        reports=tuple(reports),
        asks=frozenset(asks),
        confirm=confirm,
        announced=announced,
        choice=choice,
        refused=refused,
        not_found=not_found,
        transfer=bool(TRANSFER.search(text)) and not TRANSFER_OFFER.search(text),
        transfer_offer=bool(TRANSFER.search(text) and TRANSFER_OFFER.search(text)),
        more=more,
        wait=wait,
    )


def joined(parts: Sequence[Unit]) -> str:
    """Return units as text, one a line, each after its heading."""
    return "\n".join(part.full for part in parts)


def asks_for_value(sentence: str) -> bool:
    """Return whether a sentence asks for a value: an open question, or a request to tell something."""
    if _YES_ONLY.search(sentence) or _SOUNDS.search(sentence) or _PERMISSION.search(sentence):
        return False
    if (
        topics(sentence) & IDENTITY
        and _PLEASE.search(sentence)
        and not (_MAILED.search(sentence) or _IF_AGREED.search(sentence) or VALUE.search(sentence))
    ):
        return True
    slot = CONFIRM_SLOT.search(sentence)
    if slot and not VALUE.search(sentence):
        return True
    if _INFORM.search(sentence) and not _IF_AGREED.search(sentence):
        return not (
            CONFIRM.search(sentence)
            and (VALUE.search(sentence) or slot is None)
            and not _GIVE.search(sentence)
        )
    if sentence.endswith("?"):
        return bool(_WH_START.match(sentence)) or (bool(_WH.search(sentence)) and not _TAG.search(sentence))
    if _WH_START.match(sentence) and not sentence.endswith((":", ".", "!")):
        return len(sentence.split()) <= 3 or bool(_INVERTED.search(sentence))
    return bool(_NEEDS.search(sentence)) or bool(_PLEASE_NOUN.search(sentence) and topics(sentence))


def asks_for_yes(sentence: str) -> bool:
    """Return whether a sentence asks for a yes or no, and not for a value or a choice."""
    if _YES_ONLY.search(sentence) or _SOUNDS.search(sentence):
        return True
    if CONFIRM_SLOT.search(sentence) and not VALUE.search(sentence):
        return False
    if _is_choice(sentence) and not CONFIRM_WORD.search(sentence):
        return False
    if sentence.endswith("?"):
        if _WH_START.match(sentence) or (_WH.search(sentence) and not _TAG.search(sentence)):
            return False
        if _KNOWS.search(sentence):
            return False
        terse = len(sentence.split()) <= 4 and bool(topics(sentence)) and not _ACTS.match(sentence)
        plain = (
            not topics(sentence) & IDENTITY
            and bool(_ACTS.search(sentence) or VALUE.search(sentence))
            and not terse
        )
        return bool(_AUXILIARY.search(sentence) or _TAG.search(sentence) or _nudge(sentence) or plain)
    return bool(CONFIRM.search(sentence)) and not _WH_START.match(sentence)


def _nudge(sentence: str) -> bool:
    """Return whether a sentence is a question of a few words about nothing: "Proceed?", "Shall I?"."""
    return len(sentence.split()) <= 4 and not topics(sentence) and not _NO_NUDGE.search(sentence)


def _is_choice(sentence: str) -> bool:
    return bool(CHOICE.search(sentence)) and not YES_NO.search(sentence)


def _topics(sentence: str) -> set[str]:
    found = topics(sentence)
    if "passengers" in found and not found & {"email", "zip", "user_id"}:
        found -= {"name", "identity"}
    if "address" in found and not found & {"email", "name", "user_id"}:
        found.discard("zip")  # a part of the address, not of the identity
    if found & IDENTITY and not _wants_identity(sentence):
        found -= {"email"} if "receive" in sentence or "sent" in sentence else set()
    return found or {"unclear"}


def _wants_identity(sentence: str) -> bool:
    return bool(topics(sentence) & IDENTITY) or bool(_VERIFY.search(sentence))


def _opens_list(parts: Sequence[Unit], place: int) -> bool:
    return place + 1 < len(parts) and parts[place + 1].heading == parts[place].text


IDENTITY = frozenset({"email", "zip", "name", "user_id", "identity"})
"""Topics of questions about the user's identity."""

_POLITE = r"(?:please |kindly |also |first |just |briefly |quickly |maybe |perhaps |possibly |now |you |me )*"
_GIVES = (
    r"(?:provide|share|tell|give|let me know|let us know|specify|clarify|send me|supply|state|have (?:your|the|a|an|some|both|one)|"
    r"get (?:your|the|a|an|some|both|one)|ask (?:for|you for|who|what|which|your|how)|ask\b|know|spell|enter|type in|remind me|"
    r"describe|explain|elaborate|rephrase|repeat|indicate|list|advise|start with|begin with|verify (?:your|who|the)|"
    r"point me|choose|select|pick|help me (?:with|locate|find|verify)|double-check|check the|look up|identify)"
)
_GIVE = re.compile(rf"\b{_GIVES}\b")
_INFORM = re.compile(
    rf"\b(?:could|can|would|will|may|might) (?:you|i|we) {_POLITE}{_GIVES}\b|"
    rf"\b(?:please|pls|plz|kindly) (?:also |first |just |either )*{_GIVES}\b|"
    rf"^(?:and |then |so |first,? |ok(?:ay)?,? |next,? |just )*(?:tell|give|send) (?:me|us)\b|^(?:kindly )?(?:provide|share|enter|spell|state|specify)\b|"
    r"\blet (?:me|us) know (?:your|the|which|what|who|when|where|how|whether it)\b|\b(?:mind|you mind) (?:sharing|telling|giving|providing|confirming your)\b|"
    r"\bif you (?:could|can|would) (?:please )?(?:provide|share|tell|give|send|let)\b|"
    r"\bwondering (?:which|what|who|when|where|how|whether)\b|\b(?:would|'d) like to know\b"
)
_NEEDS = re.compile(
    r"\b(?:i|we)(?:'ll|'d| will| would| do)? (?:just |also |first |still )?(?:need|require)(?: to (?:know|verify|confirm|authenticate|identify|locate|have|get|ask|see)\b"
    r"(?! that)| your| the| a (?:bit|few|little|couple)| some| one of| either| you to (?:provide|verify|confirm your|share|tell)|: )|"
    r"\b(?:i|we) (?:must|have to|need to|'ll need to|should)(?: first| also)? (?:verify|authenticate|identify|confirm (?:who|your identity))|"
    r"\b(?:email|e-mail|zip|user id|name|identity)\b.*\b(?:is|are) (?:required|needed)\b|\bgoing to need\b|\bneed (?:your|a bit)\b|\blet me know your\b"
)
_PLEASE_NOUN = re.compile(
    r"^[^.?!]{0,160}\b(?:please|pls|plz)[.!]?$|^(?:your |and your )?(?:email|e-mail|name|full name|first name|zip|user id)\b[^.]{0,60}:?$"
)
_PLEASE = re.compile(r"\b(?:please|kindly|pls|plz|let's|just|first)\b")
_MAILED = re.compile(
    r"\b(?:receive|sent|send you|get an|check|e-?mailed|(?:by|via|an|the|confirmation) e-?mail|inbox|e-?mail (?:with|will|shortly|once|from))\b|"
    r"\bconfirm\b(?! your| who| the)|\bthank"
)
_SOUNDS = re.compile(
    r"\bhow (?:does|do|would) (?:that|this|it|these|they|everything)(?: all)? (?:sound|look|work|seem)|\bwhat do you (?:say|think)\b"
)
_INVERTED = re.compile(r"\b(?:do|does|did|would|should|can|could|is|are|was|will|may|shall)\b")
_PERMISSION = re.compile(
    r"\byour (?:explicit |final |clear )*(?:approval|permission|consent|go-ahead|ok|okay|confirmation|green light|yes)\b(?! (?:number|code|id))"
)
_VERIFY = re.compile(r"\b(?:verif|authenticat|identif)\w*|\blook you up\b|\bfind you\b|\bpull up your\b")
_KNOWS = re.compile(
    r"\b(?:do|would|did) you (?:happen to )?(?:have|know|remember|recall)\b(?! any (?:other|further|more))(?!\w* (?:want|like))"
)
_WH_START = re.compile(
    r"(?:(?:and|so|then|now|also|ok|okay|great|sure|thanks?|thank you|finally|but|first|next|to|for|from|on|in|with|by|"
    r"at|perfect|alright|got it|of course|certainly|absolutely|\w+ you),? |\(?\d[.)] )*"
    r"(?:which|what|what's|who|who's|whom|whose|when|where|why|how)\b(?! (?:i\b|i'|we\b|we'|you're\b|you'll\b|you (?:confirm|say)|ready|happens))"
)
_WH = re.compile(
    rf"^{_WH_START.pattern}|(?:[,:;(-] ?|\b(?:and|so|then|but|also|or|know|hear|ask|see|tell me|first) )(?:which|what|what's|who|whom|whose|where|why|how|when do|when would|when is)\b(?! (?:is|are) (?:\w+ ){{0,3}}(?:delivered|listed|shown))"
)
_TAG = re.compile(
    r"(?:\b(?:correct|right|ok|okay|k|agreed|alright|all right|good|fine|yes|y/n|yes/no|sound good|deal|cool|confirm|"
    r"go|proceed|yeah))\W*\?$|, (?:is|isn't) (?:that|it|this)(?: (?:right|correct|so|ok|okay))?\?$"
)
_AUXILIARY = re.compile(
    r"(?:^|[,:;.!-] ?|\b(?:and|so|then|but|now|if so|also|before i \w+|please) )(?:shall|should|may|might|can|could|would|will|do|does|did|is|are|am|"
    r"was|were|have|has|isn't|aren't|don't|wouldn't|ready|happy|okay|ok|good|fine|all (?:good|set|right|correct|clear)|"
    r"sounds?|looks?|want|wanna|any objections?|anything|everything|proceed|go ahead|continue|mind|care|does|am)\b"
)
_ACTS = re.compile(
    r"\b(?:cancel|return|exchang|modif|chang|updat|swap|switch|book|add|refund|replac|upgrad|downgrad|mov|ship|send|pay|"
    r"issu|want|lik)(?:e|y|s|es|ed|ing|ling|led)?\b|\b(?:will|using|to)\b"
)
_NO_NUDGE = re.compile(
    r"^(?:could|can|would|will) you|choice|preference|pick|thoughts|option|prefer|^(?:hello|hi|hey)\b|else"
)
_IF_AGREED = re.compile(
    r"\blet (?:me|us) know (?:if|whether|when|that|once) (?:you(?:'d| would|'re| are| want| agree| approve| wish| confirm)|i (?:should|may|can)|it's ok|"
    r"it is|that|this|these|everything|all|to)\b|\b(?:give|share|have|get|provide|send) (?:me |us )?(?:your|the|a|an) (?:explicit |final |clear )*"
    r"(?:approval|permission|consent|go-ahead|ok|okay|confirmation|authori[sz]ation|green light|thumbs)|\btell me to (?:go|proceed)|\blet me know to proceed"
)
_YES_ONLY = re.compile(
    r"\byes ?/ ?no\b|\byes or no\b|\(y(?:es)?\b|\by/n\b|\"yes\"|'yes'|\b(?:reply|say|type|answer|respond|write|send)(?: back)?(?: to me)?(?: with)?(?: an?)?(?: simple| clear)? \W?yes\b|"
    r"\byes to (?:continue|proceed|confirm|accept|go)"
)
_ANNOUNCES = re.compile(
    r"\b(?:i'll|i will|i'm going to|i am going to|let me|i'm about to|i am about to|i'll now|i shall)(?: now| just| then| go ahead and)* "
    r"(?:cancel|return|exchange|modify|change|update|swap|switch|book|add|process|submit|issue|send|replace|move|set|upgrade)\b|"
    r"\bcancell?ing (?:it|your|the|order|reservation)\b.*\bnow\b"
)

OTHERS = re.compile(
    r"\b(?:any|some) (?:other|more|further|additional) (?:items?|products?|things?)\b|\b(?:any|some)thing else (?:to|in|from|about|you(?:'d| would) like to) "
    r"(?:return|exchange|modify|change|this|that|the|cancel)"
)
"""Asks whether the request has further parts."""
PROCEED = re.compile(r"\b(?:proceed|go ahead|confirm)\b")
CONFIRM_WORD = re.compile(r"\bconfirm\b|\bproceed\b|\bgo ahead\b")

CONFIRM = any_of(
    r"(?<!for )(?<!for your )(?<!to )\bconfirm(?!ed|ation|ing)", r"\bto confirm[:,]", r"\bconfrim", r"\bcomfirm", r"\bcnofirm",
    r"\b(like|want|wish|happy|ready|okay|ok|me|yes\"?) to (proceed|continue|go ahead)\b",
    r"\bif (i|we) (should|may|can) (go|proceed|continue|make|submit|process|do|take)",
    r"\b(want|like|wish|okay for|ok for|happy for|fine if|okay if|ok if|alright if|when you want) (me|us|we)\b",
    r"\bif (this|that|it|everything|all)( of this)?( above)? (looks?|sounds?|is|seems|works?|reads?)\b",
    r"\bif you('re| are) (happy|okay|ok|fine|good|satisfied|ready|comfortable)\b",
    r"\b(i('ll| will)|before i) (wait|await|proceed|go ahead)\b.*\b(confirm|approval|go-ahead|yes|ok)",
    r"\bunless you object", r"\bsay the word\b", r"\bawait\w*\b.*\b(confirm|approv|go-ahead|repl)", r"\bwith your (ok|okay|approval|permission|go-ahead|consent)\b",
    r"\byour (approval|permission|consent|go-ahead|explicit confirmation|ok|okay|confirmation(?! (code|number|id|e-?mail|is|will))|authori[sz]ation|green light)\b",
    r"\b(do|would|if) you (agree|approve|authori[sz]e|consent|accept)",
    r"\bplease (approve|authori[sz]e|agree|review and|verify (that|these|the (above|details)))\b",
    r"\b(just )?(let me know|tell me) (if|whether|when|once|to) (you('d| would| want| wish| agree)|i should|i may|i can|go|proceed|that|this|it|everything|these|all)\b",
)  # fmt: skip
"""Asks for confirmation without a question mark."""

ASSENT = any_of(
    r"\b(if|once|when|as soon as|after) you (confirm|agree|approve|say (yes|so)|give|ok\b|okay)",
    r"\b(if|once|when|after|upon) (your )?(confirmed|confirmation|approval)\b",
)  # fmt: skip
"""States that the agent acts only after confirmation."""

CONFIRM_SLOT = any_of(
    r"\b(confirm|verify) (for me |with me )?(me )?(your|the|which|what|why|whose|how|when|where|"
    r"who)\b( [a-z'/-]+){0,4} ?(reason|e-?mail|name|zip|identity|number|id|items?|method|"
    r"address|dates?|cabin|account|order|reservation|refund|option|options|variant|passengers?)\b",
)  # fmt: skip
""""Please confirm your order number": asks for a value."""

VALUE = any_of(
    r"#?w\d{5,}", r"_\d{4,}", r"\b\d{9,}\b", r"\b\d{5}\b", r"\bno longer needed", r"\bmistake",
    r"\b[a-z]{2,3}\d{3}\b", r"\d{4}-\d\d-\d\d", r"\$ ?\d", r"\b(?=[a-z]*\d)[a-z0-9]{6}\b",
    r"\b(paypal|gift card|visa|mastercard)\b", r"@", r"\bdetails (above|below|are|as)|\b(above|these) details",
)  # fmt: skip
"""A concrete value, so that "confirm the order #W1234567" is not read as a question for one."""

CHOICE = any_of(
    r"\bor\b(?! (not|no\b|any|if|more|would|do|should|is|are|else|shall|can|need|want|have|there|something|make|to (change|"
    r"make|cancel)|let me|adjust|just|wait|changes|change (any|some)|abort|stop|so\b|later|other|\d{5}))",
)  # fmt: skip
"""A choice between two options."""

YES_NO = any_of(
    r"yes ?/ ?no", r"yes or no", r"\(y(es)?\b", r"\bconfirm\b", r'\"yes\"', r"'yes'", r"\by/n\b",
)  # fmt: skip
"""A yes-no question, whatever else it contains."""

MORE = any_of(
    r"\b(anything|something|what|any(thing)?) else\b(?! (to|in|from|about) (return|exchange|"
    r"modify|change|this order|that order|the order))",
    r"\bany (other|further|more) (questions?|requests?|issues?|concerns?|help|assistance|thing|matters?)\b",
    r"\b(can|may|could) i (help|assist|be of)( \w+){0,3} (else|further|more|other)\b",
    r"\bfurther (help|assistance)\b", r"\bis that all\b(?! (?:right|ok))", r"\bwill that be all\b", r"\bthat be everything\b",
    r"\ball set\?", r"\bmore i can\b", r"\banythng else\b", r"\bother way i can\b", r"\bwhat's next\b",
)  # fmt: skip
"""Asks whether there is anything else."""

COMPLETE = any_of(
    r"\b(item|return|exchange|modify|change)\w*\b",
)  # fmt: skip
"""Text with which "anything else" refers to items of the same request."""

REFUSED = any_of(
    r"\bcan ?not\b", r"\bcan't\b", r"\bcant\b", r"\bcannt\b", r"\bcould ?n[o']t\b", r"\bunable\b",
    r"\bnot able\b", r"\bnot possible\b", r"\bisn't possible\b", r"\bimpossible\b",
    r"\bnot (allowed|permitted|eligible|available|supported)\b", r"\bineligible\b",
    r"\bisn't (allowed|permitted|eligible)\b", r"\bwon't be able\b", r"\bwill not be able\b",
    r"\bagainst (our|the|my|company) ?(\w+ )?(policy|policies|rules)",
    r"\bpolicy (does not|doesn't|forbids|prohibits)",
    r"\b(does not|doesn't|do not|don't) (allow|permit|qualify|meet|offer|cover)",
    r"\bmust (decline|refuse|deny)", r"\bhave to (decline|refuse|deny)",
    r"\bno longer (be|possible|available)\b",
    r"\bonly (pending|delivered) orders?\b",
    r"\bonly be (cancelled|canceled|returned|modified|changed|exchanged|refunded)\b(?! once)",
    r"\b(can|could|may|must) only (go|be (?!(done|called|used|made|requested|changed|modified|exchanged|returned|performed|submitted) once)|use|pay|receive|accept)\b",
    r"\bnot (enough|sufficient)\b",
    r"\binsufficient\b", r"\bnot entitled\b", r"\bdeclined\b", r"\brefuse\b", r"\bneither\b",
    r"\bno can do\b", r"\bnot something i\b",
)  # fmt: skip
"""A refusal."""

REGRET = any_of(
    r"\bi'm afraid\b", r"\bi am afraid\b", r"\bunfortunately\b", r"\bregret\b",
)  # fmt: skip
"""A refusal, unless a question follows."""

CAVEAT = any_of(
    r"\b(without|until|unless) (your|you|an?|first|i|we|having|confirm\w*|verif\w*|know\w*)\b", r"\bundone\b",
    r"\breversed?\b", r"\birreversible\b",
    r"\bonce (this|it|the|an?|that|your|submitted|completed|done|processed|i)\b(?! (has|have|is|was|been|already|\w+ (has|have|is) been)? ?"
    r"(been )?(delivered|shipped|processed|paid))", r"\bafter (this|that|the|it|you|an?|i)\b",
    r"\bafterwards?\b", r"\b(be|only) (called |done |used |requested |made |performed |changed |modified |exchanged |returned |submitted )?(only )?once\b", r"\bonly once\b",
    r"\bbefore (i|we) can\b", r"\b(5|five)( ?- ?| to )(7|seven)\b", r"\bagain later\b", r"\b(business|working) days\b",
    r"\bno further changes\b", r"\bcannot be (changed|modified) (later|again)\b", r"\b(can't|cannot|won't be able to) (be )?(change|modif|cancel|return|exchange)\w*( \w+){0,4} (again|later|further|once|after)",
)  # fmt: skip
"""Conditions and consequences, which are not refusals."""

NOT_FOUND = any_of(
    r"\b(could ?n[o']t|can ?not|can't|unable to|did ?n[o']t|not able to) (find|locate|match|"
    r"identify|verify|see)\b",
    r"\bnot found\b", r"\bno (account|user|order|match|record|profile|reservation|customer)s?\b(?! (change|is|has))",
    r"\bdoes ?n[o']t (match|exist|seem to be)\b", r"\binvalid (order|e-?mail|id)",
)  # fmt: skip
"""Somebody or something was not found."""

TRANSFER = any_of(
    r"\b(transfer(r?ed|r?ing)?|hand(ed|ing)?|connect(ed|ing)?|escalat(e|ed|ing)|pass(ed|ing)?|"
    r"forward(ed|ing)?)\b[^.?!\n]{0,60}\b(human|agent|specialist|representative|colleague|"
    r"supervisor|person|team)\b",
)  # fmt: skip
"""Transfers the user to a person."""

TRANSFER_OFFER = any_of(
    r"\b(would|do|shall|should|can|could|may|want|like|if)\b[^.!\n]{0,80}\b(transfer|connect|"
    r"escalate|hand|pass|forward)\b[^.!\n]{0,80}\?",
)  # fmt: skip
"""Asks whether to transfer the user."""

WAIT = any_of(
    r"\b(one|a|just a|give me a) (moment|second|minute|sec|min)\b", r"\bhold on\b",
    r"\bplease (wait|hold|stand by|bear with)", r"\bbear with me",
    r"\blet me (just |quickly |first |now )?(check|look|see|pull|find|get|search|retrieve|"
    r"review|do|process|take)\b",
    r"\bi('ll| will) (now |just )?(check|look|pull|search|retrieve|get back)\b", r"\bchecking\b",
    r"\blooking (it|that|this|into)\b",
)  # fmt: skip
"""Asks the user to wait."""

REPORT = any_of(
    r"\b(has|have) (now |just |already |both |all |also )*(been (now |just |successfully |fully |"
    r"already )*)?(cancell?|return|exchang|modif|updat|chang|switch|swap|set\b|book|upgrad|"
    r"downgrad|add|sen[dt]|issu|process|submit|complet|initiat|request|moved|replac|refund|done|"
    r"made|credit|appl|schedul|arrang|correct|received|saved|gone through|accepted)",
    r"\b(i've|i have|we've|we have|i) (now |just |also |successfully |already |gone ahead and |went ahead and )*(cancell?ed|"
    r"returned|exchanged|modified|updated|changed|switched|swapped|set|booked|rebooked|upgraded|saved|started|opened|created|registered|arranged|scheduled|"
    r"downgraded|added|sent|issued|processed|submitted|completed|initiated|requested|placed|"
    r"made|moved|replaced|done|refunded|filed|put|corrected)\b",
    r"\bi went ahead and\b",
    r"\b(cancell?ation|return|exchange|change|update|booking|upgrade)s? (is |are |was |has been )?(now |all )?"
    r"(completed?|done|confirmed|successful|set|in place|live|active)\b",
    r"^\W*(\w+ ){1,3}(cancell?ed|updated|changed|exchanged|returned|booked|added|upgraded|saved)\W*$",
    r"^(\W*(your )?(order|reservation|booking) \S+ |\W*)(cancell?ed|updated|exchanged|returned)\b",
    r"\bsuccess(ful(ly)?)?\b", r"\btaken care of\b",
    r"\b(is|are|was|were|got) (now |all |already )?(cancell?ed|returned|exchanged|modified|updated|changed|"
    r"switched|swapped|booked|upgraded|downgraded|added|sent|issued|processed|submitted|saved|"
    r"completed?|requested|set|confirmed|moved|done|sorted|finali[sz]ed|in place)\b",
    r"\b(is|are) now\b", r"\b(went|gone) through\b", r"\ball (set|done|sorted)\b", r"^you're (all )?set\b",
    r"^(ok(ay)?,? |great,? |perfect,? |alright,? |thank(s| you),? |and |consider )?(it's |that's |it is |"
    r"that is |all |it )?(done|completed?|finished|sorted|cancell?ed|booked|updated|changed|"
    r"returned|exchanged)\b",
    r"\b(you've|you have|you're|you are) (now )?(been )?(all )?(upgraded|downgraded|booked|rebooked|moved|switched|set|refunded|good to go|now in)\b",
    r"\b(request|return|exchange|cancellation|order|booking|change) is (now )?(in|on its way|live|through|underway)\b",
    r"\bwill now (be|go|ship|have|show|use)\b", r"\bhas gone through\b", r"\bwill now be (shipped|sent|delivered) to\b",
)  # fmt: skip
"""States that something has been done."""

FUTURE = any_of(
    r"\b(currently|right now|at the moment|at present|so far)\b",
    r"\b(will be|would be|to be|can be|could be|going to|not yet|if you|once you|about to|"
    r"haven't|has not|hasn't|have not)\b(?! (e-?mail|refund|credit|sent|notif|process|receiv|"
    r"ship))",
)  # fmt: skip
"""States what is currently so, or has not been done yet."""
