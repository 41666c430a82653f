"""Defines the patterns with which a scripted user parses agents' messages: normalised text, by sentence.

They are applied to at most a few thousand characters (``reading.MAX_READ_CHARS``).
"""

import re


def any_of(*alternatives: str) -> re.Pattern[str]:
    """Return a pattern that matches any of ``alternatives``."""
    return re.compile("|".join(alternatives))


TOPICS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("email", any_of(
        r"\be-?mails?\b", r"\bmail address",
    )),
    ("zip", any_of(
        r"\bzip", r"\bpost(al)? ?code",
    )),
    ("name", any_of(
        r"\b(full|first|last|your|sur|family) ?names?\b", r"\bname (and|on|\+|&)",
        r"\bwho am i (speaking|talking)",
    )),
    ("user_id", any_of(
        r"\b(user|customer|account|profile|member|loyalty) ?-?(id|number|name)\b",
    )),
    ("identity", any_of(
        r"\bidentity\b", r"\bauthenticat", r"\bverif(y|ication)\b.*\b(you|account)",
        r"\blocate your (account|profile)", r"\b(find|pull up|look up|access) your (account|profile)",
        r"\bwho (are )?you\b", r"\bidentify you",
    )),
    ("record", any_of(
        r"\border ?(id|number|no\b|nr|#)", r"\b(which|what) orders?\b", r"\bid of (the|your) order",
        r"\b(reservation|booking|confirmation) ?(id|number|code|reference|ref|#)",
        r"\b(which|what) (reservation|booking|trip)", r"\border do you mean", r"\bw-?number", r"\border\?",
        r"\b(items?|products?) and orders?\b", r"\bwhich (one )?of (them|these|those|your)\b",
    )),
    ("items", any_of(
        r"\b(which|what|name the|list the|list all|specific) (\w+ ){0,2}(item|product|article|thing)s?\b",
        r"\bwhich (of (these|those|them)|ones)\b", r"\bitems? (id|you|to|do|would|should|need)",
        r"\bwhat (exactly )?(would|do) you (like|want|wish) to (return|exchange|swap|send|change|modify)",
        r"\bproducts? (you|to|do)", r"^\W*(\d\W+)?(the )?(items?|products?)\?",
    )),
    ("options", any_of(
        r"\b(options?|variants?|specification|specs?|configuration|replacement|new items?|"
        r"versions?|colou?rs?|sizes?|models?|styles?|features?|instead|exchange (it|them|this|"
        r"that) for|changed? (it|them) to|swap(ped)? (it|them)? ?for)\b",
    )),
    ("reason", any_of(
        r"\breasons?\b", r"\bwhy\b", r"\bmistake\b", r"\bno longer need",
    )),
    ("payment", any_of(
        r"\bpay(ing|ment|ments)?\b", r"\brefund(ed)?\b", r"\bmethods?\b", r"\bpaypal\b", r"\bgift card",
        r"\bcredit card", r"\bcards?\b", r"\bcertificate", r"\bcharge",
    )),
    ("address", any_of(
        r"\baddress", r"\bstreet", r"\bcity\b", r"\bship(ped|ping)?\b.*\b(to|where)",
        r"\bwhere (should|to|do you want)",
    )),
    ("cabin", any_of(
        r"\bcabin", r"\bclass\b", r"\beconomy", r"\bbusiness",
    )),
    ("flights", any_of(
        r"\b(which|what|preferred|choose|prefer|flight) (\w+ ){0,2}(flights?|number|option|itinerary)",
        r"\bflight numbers?", r"\bwhich (one|of)", r"\bflights? (would|do|should)", r"\bnew flights?",
    )),
    ("date", any_of(
        r"\bdates?\b(?! of birth)", r"\bwhen\b", r"\bwhat day", r"\btravel day", r"\bwhich day",
    )),
    ("route", any_of(
        r"\borigin", r"\bdestination", r"\bdepart(ing|ure)?\b", r"\bairports?\b",
        r"\bwhere (are|do|would|to|from)", r"\bfrom where", r"\barriv",
    )),
    ("trip", any_of(
        r"\bone[- ]?way", r"\bround[- ]?trip", r"\btrip type", r"\btype of trip",
    )),
    ("passengers", any_of(
        r"\bpassengers?", r"\btravell?ers?", r"\bwho (is|will|are|is going)\b", r"\btravell?ing\b",
    )),
    ("passengers", any_of(
        r"\bbirth", r"\bdob\b", r"\bd\.o\.b",
    )),
    ("bags", any_of(
        r"\bbags?\b", r"\bbaggages?\b", r"\bluggage", r"\bsuitcases?",
    )),
    ("insurance", any_of(
        r"\binsur",
    )),
    ("request", any_of(
        r"\b(how|what|anything).*\b(can|may|could) (i|we) (help|assist|do)",
        r"\bwhat (is|was) your (request|issue|question)",
        r"\bwhat (would|do) you (like|want|need)( me)?( to do)?\??$", r"\bhow can i\b",
        r"\bmore (detail|information|info)", r"\bdetails (about|of|on) (your|the|what)", r"\bwhat brings",
        r"\bwhat do you mean", r"\bcan you (clarify|explain|elaborate)", r"\bclarif(y|ication)",
    )),
    ("complete", any_of(
        r"\ball (of )?(the )?items\b", r"\bevery(thing| item)", r"\bcomplete list",
        r"\bany (other|more) items", r"\b(anything|something) else (to|in|from|you)",
        r"\bis that (all|everything)", r"\bthat's (all|everything)",
    )),
)  # fmt: skip
"""Topics of questions."""

ASK = any_of(
    r"\b(please|pls|plz|kindly|could you|can you|would you|tell me|let me know|provide|share|"
    r"specify|give me|send me|i need|i'll need|i will need|i'd need|i require|we need|"
    r"need to know|need your|state your|enter your|choose|select|wondering|may i (have|know|"
    r"ask)|can i (have|get)|i would like to know)\b",
    r"^(which|what|who|when|where|why|how)\b",
)  # fmt: skip
"""A sentence that asks for something without a question mark."""

CONFIRM = any_of(
    r"(?<!for )(?<!for your )\bconfirm(?!ed)", r"\bconfrim", r"\bcomfirm", r"\bcnofirm",
    r"\byes ?/ ?no\b", r"\byes or no\b", r"\(yes",
    r'\"yes\"', r"'yes'", r"\by/n\b", r"\b(reply|say|type|answer|respond)( with)?( a)?( simple)? yes\b",
    r"\b(shall|should|may|can|could|ought) (i|we) (now |then |just |please )?(go|proceed|"
    r"continue|cancel|return|process|submit|do|make|exchange|modify|change|update|place|book|"
    r"swap|apply|finali[sz]e|complete|carry|initiate|start|put|send|issue|add|upgrade|downgrade|"
    r"replace|switch|set|charge|refund|look|check|file|request|arrange|move)\b",
    r"\b(proceed|go ahead|move forward|carry on|go on)\b.*\?",
    r'\b(like|want|wish|happy|ready|okay|ok|me|yes\"?) to (proceed|continue)\b',
    r"\b(want|like|wish|okay for|ok for|happy for|fine if|okay if|ok if|alright if) (me|i|us|we)\b",
    r"\bdo you (really |still )?(want|wish) to (proceed|continue|go|cancel|return|exchange|"
    r"modify|change|update|book)\b",
    r"\bwould you (still )?like to (proceed|continue|go ahead|cancel|move forward|confirm)\b",
    r"\b(is|are|does|do) (this|that|these|it|everything|all|the)\b.*\b(correct|right|ok|okay|"
    r"accurate|fine|work for you|good with you|look good|sound good|acceptable|what you want)\b",
    r"\b(sound|look)s? (good|right|ok|okay|correct|fine)\b",
    r"\b(correct|right|ok|okay|k|agreed|alright|good|fine|yes)\?$",
    r"\b(do|would|if) you (agree|approve|authori[sz]e|consent|accept)", r"\bunless you object",
    r"\b(sure|ok|okay|happy|fine|all ?right|good|comfortable) with (that|this|it|you)\b", r"\bare you sure\b",
    r"\bwould you like (this|it|that|these|them) to\b",
    r"\bwould you like to (book|cancel|return|exchange|swap|change|modify|update) (it|this|that|them)\b",
    r"\bwould\b.*\b(work for you|be (ok|okay|fine|all ?right|acceptable))\b",
    r"\bsay the word\b", r"\bdo you want to know\b", r"\bask(ing)? (me )?(about|for) .*, (correct|right)\?",
    r"\byour (approval|permission|consent|go-ahead|ok|okay|confirmation|authori[sz]ation)\b",
    r"\bready (for me )?to\b.*\?", r"\bgood to go\b",
    r"^(ok(ay)?,? |so,? |then |and )*(cancel|return|exchange|modify|change|update|swap|switch|"
    r"book|add|refund)\b.*\?$",
)  # fmt: skip
"""Asks for confirmation."""

ASSENT = any_of(
    r"\b(if|once|when|as soon as) you (confirm|agree|approve|say yes|give)\b",
    r"\b(if|once|when|after) confirmed\b",
)  # fmt: skip
"""States that the agent acts only after confirmation."""

CONFIRM_SLOT = any_of(
    r"\bconfirm (for me |with me )?(me )?(your|the|which|what|why|whose|how|when|where|"
    r"who)\b( [a-z'/-]+){0,4} ?(reason|e-?mail|name|zip|identity|number|id|items?|method|"
    r"address|dates?|cabin|account|order|reservation|refund|option|options|variant|passengers?)\b",
)  # fmt: skip
""""Please confirm your order number": asks for a value."""

VALUE = any_of(
    r"#?w\d{5,}", r"_\d{4,}", r"\b\d{9,}\b", r"\b\d{5}\b", r"\bno longer needed", r"\bmistake",
    r"\b[a-z]{2}\d{3}\b", r"\d{4}-\d\d-\d\d", r"\$ ?\d", r"\b(?=[a-z]*\d)[a-z0-9]{6}\b",
    r"\b(paypal|gift card|visa|mastercard)\b", r"@",
)  # fmt: skip
"""A concrete value, so that "confirm the order #W1234567" is not read as a question for one."""

WH = any_of(
    r"((and|so|then|now|also|ok|okay|great|sure|thanks?|finally|but|first|to|for|from|on|in|with|by|at),? )*"
    r"(which|what|who|whom|when|where|why|how)\b",
)  # fmt: skip
"""An open question."""

CHOICE = any_of(
    r"\bor\b(?! (not|no\b|any|if|more|would|do|should|is|else))",
)  # fmt: skip
"""A choice between two options."""

YES_NO = any_of(
    r"yes ?/ ?no", r"yes or no", r"\(yes", r"\bconfirm\b", r'\"yes\"', r"'yes'", r"\by/n\b",
)  # fmt: skip
"""A yes-no question, whatever else it contains."""

MORE = any_of(
    r"\b(anything|something|what|any(thing)?) else\b(?! (to|in|from|about) (return|exchange|"
    r"modify|change|this order|that order|the order))",
    r"\bany (other|further|more) (questions?|requests?|issues?|concerns?|help|assistance|thing|matters?)\b",
    r"\b(can|may|could) i (help|assist|be of)( \w+){0,3} (else|further|more|other)\b",
    r"\bfurther (help|assistance)\b", r"\bis that all\b", r"\bwill that be all\b", r"\bthat be everything\b",
    r"\ball set\?", r"\bmore i can\b", r"\banythng else\b",
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
    r"\bonly be (cancelled|canceled|returned|modified|changed|exchanged|refunded)\b",
    r"\b(can|could|may|must) only (go|be|use|pay|receive|accept)\b", r"\bnot (enough|sufficient)\b",
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
    r"\breversed?\b",
    r"\bonce (this|it|the|an?|that)\b(?! (has|have|is|was|been|already|\w+ (has|have|is) been)? ?"
    r"(been )?(delivered|shipped|processed|paid))", r"\bafter (this|that|the|it|you|an?|i)\b",
    r"\bafterwards?\b", r"\bonly be (called|done|used|requested|made|performed) once\b", r"\bonly once\b",
    r"\bbefore (i|we) can\b", r"\b(5|five)( ?- ?| to )(7|seven)\b", r"\bagain later\b",
    r"\bno further changes\b", r"\bcannot be (changed|modified) (later|again)\b",
)  # fmt: skip
"""Conditions and consequences, which are not refusals."""

UNAFFECTED = any_of(
    r"\b(remains?|stays?|unchanged|unaffected|untouched|will keep|other items?|not be affected|"
    r"rest of|as (it|they) (is|are))\b",
)  # fmt: skip
"""Statements about what remains unchanged."""

NOT_FOUND = any_of(
    r"\b(could ?n[o']t|can ?not|can't|unable to|did ?n[o']t|not able to) (find|locate|match|"
    r"identify|verify|see)\b",
    r"\bnot found\b", r"\bno (account|user|order|match|record|profile|reservation|customer)s?\b",
    r"\bdoes ?n[o']t (match|exist)\b", r"\binvalid (order|e-?mail|id)",
)  # fmt: skip
"""Somebody or something was not found."""

TRANSFER = any_of(
    r"\b(transfer(r?ed|r?ing)?|hand(ed|ing)?|connect(ed|ing)?|escalat(e|ed|ing)|pass(ed|ing)?|"
    r"forward(ed|ing)?)\b[^.?!]{0,60}\b(human|agent|specialist|representative|colleague|"
    r"supervisor|person|team)\b",
)  # fmt: skip
"""Transfers the user to a person."""

TRANSFER_OFFER = any_of(
    r"\b(would|do|shall|should|can|could|may|want|like|if)\b[^.!]{0,80}\b(transfer|connect|"
    r"escalate|hand|pass|forward)\b[^.!]{0,80}\?",
)  # fmt: skip
"""Asks whether to transfer the user."""

WAIT = any_of(
    r"\b(one|a|just a|give me a) (moment|second|minute|sec|min)\b", r"\bhold on\b",
    r"\bplease (wait|hold|stand by|bear with)", r"\bbear with me",
    r"\blet me (just |quickly |first )?(check|look|see|pull|find|verify|get|search|retrieve|"
    r"review|do|process|take)\b",
    r"\bi('ll| will) (now |just )?(check|look|pull|search|retrieve|get back)\b", r"\bchecking\b",
    r"\blooking (it|that|this|into)\b",
)  # fmt: skip
"""Asks the user to wait."""

REPORT = any_of(
    r"\b(has|have) (now |just |already |both |all )*been (now |just |successfully |fully |"
    r"already )*(cancell?|return|exchang|modif|updat|chang|switch|swap|set\b|book|upgrad|"
    r"downgrad|add|sen[dt]|issu|process|submit|complet|initiat|request|moved|replac|refund|done|"
    r"made|credit|appl|schedul|arrang|correct)",
    r"\b(i've|i have|we've|we have|i) (now |just |also |successfully |already )*(cancell?ed|"
    r"returned|exchanged|modified|updated|changed|switched|swapped|set|booked|upgraded|"
    r"downgraded|added|sent|issued|processed|submitted|completed|initiated|requested|placed|"
    r"made|moved|replaced|done|refunded|filed|put|corrected)\b",
    r"\bi went ahead and\b",
    r"\b(cancell?ation|return|exchange|change|update|booking|upgrade) (is |was |has been )?(now )?"
    r"(completed?|done|confirmed|successful)\b",
    r"^\W*(\w+ ){1,3}(cancell?ed|updated|changed|exchanged|returned|booked|added|upgraded)\W*$",
    r"^(\W*(your )?(order|reservation|booking) \S+ |\W*)(cancell?ed|updated|exchanged|returned)\b",
    r"\bsuccessful(ly)?\b",
    r"\b(is|are|was|were) (now |all )?(cancell?ed|returned|exchanged|modified|updated|changed|"
    r"switched|swapped|booked|upgraded|downgraded|added|sent|issued|processed|submitted|"
    r"completed?|requested|set|confirmed|moved|done)\b",
    r"\b(is|are) now\b", r"\bwent through\b", r"\ball (set|done)\b",
    r"^(ok(ay)?,? |great,? |perfect,? |alright,? |thank(s| you),? )?(it's |that's |it is |"
    r"that is |all )?(done|completed?|finished|sorted|cancell?ed|booked|updated|changed|"
    r"returned|exchanged)\b",
    r"\bwill now be (shipped|sent|delivered) to\b",
)  # fmt: skip
"""States that something has been done."""

FUTURE = any_of(
    r"\b(currently|right now|at the moment|at present|so far)\b",
    r"\b(will be|would be|to be|can be|could be|going to|not yet|if you|once you|about to|"
    r"haven't|has not|hasn't|have not)\b(?! (e-?mail|refund|credit|sent|notif|process|receiv|"
    r"ship))",
)  # fmt: skip
"""States what is currently so, or has not been done yet."""
