"""What a scripted user understands of an agent's message: which acts it performs and what it asks for.

Understanding is by sentence and keyword, so that it holds for free wording: questions, lists, summaries, typing
errors. It never sees the database. Patterns have no nested repetition, and long messages are cut, so reading
takes linear time.
"""

import re
import unicodedata
from dataclasses import dataclass

MAX_READ_CHARS = 6_000
"""Of a longer message only the beginning and the end are read: nobody reads more in a chat."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An agent's message as understood.

    ``text`` is normalised, ``claims`` are those sentences that state or propose something (no open questions,
    no caveats, nothing about what stays as it is), ``reports`` those that say something has been done, and
    ``asks`` the topics of open questions.
    """

    text: str
    claims: str
    reports: str
    asks: frozenset[str]
    confirm: bool
    refused: bool
    not_found: bool
    transfer: bool
    more: bool
    wait: bool


def normalise(text: str) -> str:
    """Lower case, plain quotes and dashes, no emphasis marks; line breaks are kept."""
    if len(text) > MAX_READ_CHARS:
        text = text[: MAX_READ_CHARS // 2] + "\n" + text[-MAX_READ_CHARS // 2 :]
    text = unicodedata.normalize("NFKC", text).lower().translate(_PLAIN)
    return re.sub(r"[ \t]+", " ", text)


def read(message: str) -> Reading:
    """Understand ``message``."""
    text = normalise(message)
    asks: set[str] = set()
    claims, reports = [], []
    confirm = refused = not_found = more = False
    listing = False  # the lines of a list belong to the question or the claim that introduces it
    for sentence in _sentences(text):
        if _MORE.search(sentence):
            more = True
            asks |= {"complete"} if _COMPLETE.search(sentence) else set()
            if not _YES_NO.search(sentence):
                continue
        bullet = bool(_BULLET.match(sentence))
        if _NOT_FOUND.search(sentence):
            not_found = True
        elif _REFUSED.search(sentence) and not _CAVEAT.search(sentence):
            refused = True
        if _CONFIRM.search(sentence) and not _open(sentence):
            confirm = True
            claims.append(sentence)
            listing = False
        elif listing and bullet:
            asks |= _topics(sentence)
        elif _asking(sentence):
            listing = sentence.rstrip().endswith(":")
            asks |= _topics(sentence) or {"unclear"}
        else:
            listing = False
            if _UNAFFECTED.search(sentence) or _CAVEAT.search(sentence):
                continue
            claims.append(sentence)
            if _REPORT.search(sentence) and not _REFUSED.search(sentence) and not _FUTURE.search(sentence):
                reports.append(sentence)
    if _ASSENT.search(text):
        confirm = True
    return Reading(
        text=text,
        claims="\n".join(claims),
        reports="\n".join(reports),
        asks=frozenset(asks),
        confirm=confirm,
        refused=refused,
        not_found=not_found,
        transfer=bool(_TRANSFER.search(text)) and not _TRANSFER_OFFER.search(text),
        more=more,
        wait=bool(_WAIT.search(text)),
    )


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SPLIT.split(text) if part.strip()]


def _open(sentence: str) -> bool:
    """Whether what looks like a request to confirm is really an open question."""
    if _WH.match(sentence):
        return True
    if _CONFIRM_SLOT.search(sentence) and not _VALUE.search(sentence):
        return True
    return bool(_CHOICE.search(sentence)) and not _YES_NO.search(sentence)


def _asking(sentence: str) -> bool:
    if sentence.rstrip().endswith("?"):
        return True
    return bool(_ASK.search(sentence)) and not _WAIT.search(sentence)


def _topics(sentence: str) -> set[str]:
    return {topic for topic, pattern in TOPICS if pattern.search(sentence)}


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_PLAIN = str.maketrans({
    "‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "−": "-", "*": None, "`": None,
    "\u00a0": " ", "\r": "\n", "•": "-", "→": ">",
})  # fmt: skip
_SPLIT = re.compile(r"(?<=[.!?]) +|\n+|(?<=[?])(?=[a-z])")
_BULLET = re.compile(r"(?:[-+] ?|\(?\d{1,2}[.)] ?|[a-z][.)] )")

TOPICS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (topic, re.compile(pattern))
    for topic, pattern in (
        ("email", r"\be-?mails?\b|\bmail address"),
        ("zip", r"\bzip|\bpost(al)? ?code"),
        ("name", r"\b(full|first|last|your|sur|family) ?names?\b|\bname (and|on|\+|&)|\bwho am i (speaking|talking)"),
        ("user_id", r"\b(user|customer|account|profile|member|loyalty) ?-?(id|number|name)\b"),
        ("identity", r"\bidentity\b|\bauthenticat|\bverif(y|ication)\b.*\b(you|account)|\blocate your (account|profile)|"
                     r"\b(find|pull up|look up|access) your (account|profile)|\bwho (are )?you\b|\bidentify you"),
        ("record", r"\border ?(id|number|no\b|nr|#)|\b(which|what) orders?\b|\bid of (the|your) order|"
                   r"\b(reservation|booking|confirmation) ?(id|number|code|reference|ref|#)|"
                   r"\b(which|what) (reservation|booking|trip)|\border do you mean|\bw-?number|\border\?|"
                   r"\b(items?|products?) and orders?\b"),
        ("items", r"\b(which|what|name the|list the|list all|specific) (\w+ ){0,2}(item|product|article|thing)s?\b|"
                  r"\bitems? (id|you|to|do|would|should|need)|\bwhat (exactly )?(would|do) you (like|want|wish) to "
                  r"(return|exchange|swap|send|change|modify)|\bproducts? (you|to|do)"),
        ("options", r"\b(options?|variants?|specification|specs?|configuration|replacement|new items?|versions?|"
                    r"colou?rs?|sizes?|models?|styles?|features?|instead|exchange (it|them|this|that) for|"
                    r"changed? (it|them) to|swap(ped)? (it|them)? ?for)\b"),
        ("reason", r"\breasons?\b|\bwhy\b"),
        ("payment", r"\bpay(ing|ment|ments)?\b|\brefund(ed)?\b|\bmethods?\b|\bpaypal\b|\bgift card|\bcredit card|"
                    r"\bcards?\b|\bcertificate|\bcharge"),
        ("address", r"\baddress|\bstreet|\bcity\b|\bship(ped|ping)?\b.*\b(to|where)|\bwhere (should|to|do you want)"),
        ("cabin", r"\bcabin|\bclass\b|\beconomy|\bbusiness"),
        ("flights", r"\b(which|what|preferred|choose|prefer|flight) (\w+ ){0,2}(flights?|number|option|itinerary)|"
                    r"\bflight numbers?|\bwhich (one|of)|\bflights? (would|do|should)|\bnew flights?"),
        ("date", r"\bdates?\b(?! of birth)|\bwhen\b|\bwhat day|\btravel day|\bwhich day"),
        ("route", r"\borigin|\bdestination|\bdepart(ing|ure)?\b|\bairports?\b|\bwhere (are|do|would|to|from)|"
                  r"\bfrom where|\barriv"),
        ("trip", r"\bone[- ]?way|\bround[- ]?trip|\btrip type|\btype of trip"),
        ("passengers", r"\bpassengers?|\btravell?ers?|\bwho (is|will|are|is going)\b|\btravell?ing\b"),
        ("passengers", r"\bbirth|\bdob\b|\bd\.o\.b"),
        ("bags", r"\bbags?\b|\bbaggages?\b|\bluggage|\bsuitcases?"),
        ("insurance", r"\binsur"),
        ("request", r"\b(how|what|anything).*\b(can|may|could) (i|we) (help|assist|do)|\bwhat (is|was) your (request|issue|"
                    r"question)|\bwhat (would|do) you (like|want|need)( me)?( to do)?\??$|\bhow can i\b|\bmore (detail|"
                    r"information|info)|\bdetails (about|of|on) (your|the|what)|\bwhat brings|\bwhat do you mean|"
                    r"\bcan you (clarify|explain|elaborate)|\bclarif(y|ication)"),
        ("complete", r"\ball (of )?(the )?items\b|\bevery(thing| item)|\bcomplete list|\bany (other|more) items|"
                     r"\b(anything|something) else (to|in|from|you)|\bis that (all|everything)|\bthat's (all|everything)"),
    )
)  # fmt: skip

_ASK = _words(
    r"\b(please|pls|plz|kindly|could you|can you|would you|tell me|let me know|provide|share|specify|give me|send me|"
    r"i need|i'll need|i will need|i'd need|i require|we need|need to know|need your|state your|enter your|choose|select|"
    r"wondering|may i (have|know|ask)|can i (have|get)|i would like to know)\b|^(which|what|who|when|where|why|how)\b"
)
_CONFIRM = _words(
    r"\bconfirm|\bconfrim|\bcomfirm|\bcnofirm|\byes ?/ ?no\b|\byes or no\b|\(yes|\"yes\"|'yes'|\by/n\b|\b(reply|say|type|answer|"
    r"respond)( with)?( a)?( simple)? yes\b|"
    r"\b(shall|should|may|can|could|ought) (i|we) (now |then |just |please )?(go|proceed|continue|cancel|return|process|submit|do|"
    r"make|exchange|modify|change|update|place|book|swap|apply|finali[sz]e|complete|carry|initiate|start|put|send|issue|add|"
    r"upgrade|downgrade|replace|switch|set|charge|refund|look|check|file|request|arrange|move)\b|"
    r"\b(proceed|go ahead|move forward|carry on|go on)\b.*\?|\bto proceed\b|"
    r"\b(want|like|wish|okay for|ok for|happy for|fine if|okay if|ok if|alright if) (me|i|us|we)\b|"
    r"\bdo you (really |still )?(want|wish) to (proceed|continue|go|cancel|return|exchange|modify|change|update|book)\b|"
    r"\bwould you (still )?like to (proceed|continue|go ahead|cancel|move forward|confirm)\b|"
    r"\b(is|are|does|do) (this|that|these|it|everything|all|the)\b.*\b(correct|right|ok|okay|accurate|fine|work for you|"
    r"good with you|look good|sound good|acceptable|what you want)\b|"
    r"\b(sound|look)s? (good|right|ok|okay|correct|fine)\b|\b(correct|right|ok|okay|k|agreed|alright|good|fine|yes)\?$|"
    r"\bdo you (agree|approve|authori[sz]e|consent|accept)|\bare you (sure|ok with|okay with|happy with|fine with)|"
    r"\byour (approval|permission|consent|go-ahead|ok|okay|confirmation|authori[sz]ation)\b|\bready (for me )?to\b.*\?|"
    r"\bgood to go\b|^(ok(ay)?,? |so,? |then |and )*(cancel|return|exchange|modify|change|update|swap|switch|book|add|refund)\b.*\?$"
)
_ASSENT = _words(r"\b(if|once|when|as soon as) you (confirm|agree|approve|say yes|give)\b")
_CONFIRM_SLOT = _words(
    r"\bconfirm (for me |with me )?(me )?(your|the|which|what|why|whose|how|when|where|who)\b"
    r"( [a-z'/-]+){0,4} ?(reason|e-?mail|name|zip|identity|number|id|items?|method|address|dates?|cabin|account|"
    r"order|reservation|refund|option|options|variant|passengers?)\b"
)
_VALUE = _words(
    r"#?w\d{5,}|_\d{4,}|\b\d{9,}\b|\b\d{5}\b|\bno longer needed|\bmistake|\b[a-z]{2}\d{3}\b|\d{4}-\d\d-\d\d|\$ ?\d|"
    r"\b(?=[a-z]*\d)[a-z0-9]{6}\b|\b(paypal|gift card|visa|mastercard)\b|@"
)
_WH = _words(
    r"(and |so |then |now |also |ok,? |great,? |sure,? |thanks?,? |finally,? )*(which|what|who|whom|when|where|why|how)\b"
)
_CHOICE = _words(r"\bor\b(?! (not|no\b|any|if|more|would|do|should|is|else))")
_YES_NO = _words(r"yes ?/ ?no|yes or no|\(yes|\bconfirm\b|\"yes\"|'yes'|\by/n\b")
_MORE = _words(
    r"\b(anything|something|what|any(thing)?) else\b(?! (to|in|from|about) (return|exchange|modify|change|this order|that order|the order))|"
    r"\bany (other|further|more) (questions?|requests?|issues?|concerns?|help|assistance|thing|matters?)\b|"
    r"\b(can|may|could) i (help|assist|be of)( \w+){0,3} (else|further|more|other)\b|\bfurther (help|assistance)\b|"
    r"\bis that all\b|\bwill that be all\b|\bthat be everything\b|\ball set\?|\bmore i can\b|\banythng else\b"
)
_COMPLETE = _words(r"\b(item|return|exchange|modify|change)\w*\b")
_REFUSED = _words(
    r"\bcan ?not\b|\bcan't\b|\bcant\b|\bcannt\b|\bcould ?n[o']t\b|\bunable\b|\bnot able\b|\bnot possible\b|\bisn't possible\b|"
    r"\bimpossible\b|\bnot (allowed|permitted|eligible|available|supported)\b|\bineligible\b|\bisn't (allowed|permitted|eligible)\b|"
    r"\bwon't be able\b|\bwill not be able\b|\bagainst (our|the|my|company) ?(\w+ )?(policy|policies|rules)|\bpolicy (does not|doesn't|"
    r"forbids|prohibits)|\b(does not|doesn't|do not|don't) (allow|permit|qualify|meet|offer|cover)|\bmust (decline|refuse|deny)|"
    r"\bhave to (decline|refuse|deny)|\bno longer be\b|\bonly (pending|delivered) orders?\b|\bonly be (cancelled|canceled|"
    r"returned|modified|changed|exchanged|refunded)\b|\b(can|could|may|must) only (go|be|use|pay|receive|accept)\b|\bi'm afraid\b|\bi am afraid\b|\bnot entitled\b|\bdeclined\b|\brefuse\b|\bunfortunately\b|\bneither\b|\bno can do\b|\bnot something i\b"
)
_CAVEAT = _words(
    r"\b(without|until|unless) (your|you|a|an|first|i|we|having|confirm|verif|know)|\bundone\b|\breversed?\b|\bonce (this|it|the|an?|that)\b|"
    r"\bafter (this|that|the|it|you|an?|i)\b|\bafterwards?\b|\bonly be (called|done|used|requested|made|performed) once\b|"
    r"\bonly once\b|\bbefore (i|we) can\b|\b(5|five)( ?- ?| to )(7|seven)\b|\bagain later\b|\bno further changes\b|\bcannot be (changed|modified) (later|again)\b"
)
_UNAFFECTED = _words(
    r"\b(remains?|stays?|unchanged|unaffected|untouched|will keep|other items?|not be affected|rest of|as (it|they) (is|are))\b"
)
_NOT_FOUND = _words(
    r"\b(could ?n[o']t|can ?not|can't|unable to|did ?n[o']t|not able to) (find|locate|match|identify|verify|see)\b|\bnot found\b|"
    r"\bno (account|user|order|match|record|profile|reservation|customer)s?\b|\bdoes ?n[o']t (match|exist)\b|\binvalid (order|e-?mail|id)"
)
_TRANSFER = _words(
    r"\b(transfer(r?ed|r?ing)?|hand(ed|ing)?|connect(ed|ing)?|escalat(e|ed|ing)|pass(ed|ing)?|forward(ed|ing)?)\b[^.?!]{0,60}"
    r"\b(human|agent|specialist|representative|colleague|supervisor|person|team)\b"
)
_TRANSFER_OFFER = _words(
    r"\b(would|do|shall|should|can|could|may|want|like|if)\b[^.!]{0,80}\b(transfer|connect|escalate|hand|pass|forward)\b[^.!]{0,80}\?"
)
_WAIT = _words(
    r"\b(one|a|just a|give me a) (moment|second|minute|sec|min)\b|\bhold on\b|\bplease (wait|hold|stand by|bear with)|\bbear with me|"
    r"\blet me (just |quickly |first )?(check|look|see|pull|find|verify|get|search|retrieve|review|do|process|take)\b|\bi('ll| will) "
    r"(now |just )?(check|look|pull|search|retrieve|get back)\b|\bchecking\b|\blooking (it|that|this|into)\b"
)
_REPORT = _words(
    r"\b(has|have) (now |just |already |successfully |both |all )*been\b|\b(i've|i have|we've|we have|i) (now |just |also |successfully |already )*"
    r"(cancell?ed|returned|exchanged|modified|updated|changed|switched|swapped|set|booked|upgraded|downgraded|added|sent|issued|"
    r"processed|submitted|completed|initiated|requested|placed|made|moved|replaced|done|refunded|filed|put|corrected)\b|"
    r"\bsuccessful(ly)?\b|\b(is|are|was|were) (now |all )?(cancell?ed|returned|exchanged|modified|updated|changed|switched|swapped|"
    r"booked|upgraded|downgraded|added|sent|issued|processed|submitted|completed?|requested|set|confirmed|moved|done)\b|"
    r"\b(is|are) now\b|\bwent through\b|\ball (set|done)\b|^(ok(ay)?,? |great,? |perfect,? |alright,? |thank(s| you),? )?"
    r"(it's |that's |it is |that is |all )?(done|completed?|finished|sorted|cancell?ed|booked|updated|changed|returned|exchanged)\b|"
    r"\bwill now be (shipped|sent|delivered) to\b"
)
_FUTURE = _words(
    r"\b(will be|would be|to be|can be|could be|going to|not yet|if you|once you|about to|haven't|has not|hasn't|have not)\b(?! (e-?mail|refund|credit|sent|notif|process|receiv|ship))"
)
