"""Defines the patterns by which a unit of a message reports, refuses, transfers or asks for more."""

import re

from nlac_bench.simulators.customer.hear.topics import any_of

ANNOUNCES = re.compile(
    r"\b(?:i'll|i will|i'm going to|i am going to|let me|i'm about to|i shall)(?: now)* (?:cancel|return|"
    r"exchange|modify|change|update|swap|switch|book|add|process|submit|send|replace|move|set)\b"
)
OTHERS = re.compile(
    r"\b(?:any|some) (?:other) (?:items?|things?)\b|\b(?:any|some)thing else (?:in|from) (?:this|the)"
)
"""Asks whether the request has further parts."""
ONLY = re.compile(
    r"\bthe only (?:thing|item|one)s?\b[^.?]*\?$|^(?:so |it's |is it )*(?:just|"
    r"only)\b(?! (?:to)\b)(?!.*\b(?:how)\b)[^?]*\?$"
)
"""Asks whether the named requests are all."""
PROCEED = re.compile(r"\b(?:go ahead)\b|\bor (?:may) i\b")
ASSENT = any_of(
    r"\b(if|once|as soon as|until) you('ve| have)? (confirm|agree|sa(y|id) (yes|so)|tell me (?:so)|give)",
    r"\b(once) (your )?(confirmed)\b",
)  # fmt: skip
"""States that the agent acts only after confirmation."""
STATED = re.compile(r"^[^?]*?(?::| -| =) *(?!your\b)[^\s?][^?]*$|^[^?]*#w?\d[^?]*$")
"""A list entry with a value, such as ``payment: gift card``, which is neither a question nor asked for."""
GUESS = re.compile(
    r"(?:(?:so),? )*(?:is|would) (?:it|that|this) (?:be )?(?:to )?(?:the|your|a|still)\b[^?]*\?$"
)
"""Guesses the answer to the question before it: "Which card is it? Is it the Visa?"."""
EXAMPLE = re.compile(r"(?:for (?:example)),? [^?]*\bor\b[^?]*\?$")
"""Gives examples of an answer to the question before it: "For example, should it be larger, or blue?"."""
YES_NO = any_of(
    r"yes ?/ ?no", r"yes or no", r"\(y(es)?\b", r"\bconfirm\b", r'\"yes\"', r"'yes'", r"\by/n\b",
)  # fmt: skip
"""A yes-no question, whatever else it contains."""
_ELSE = r"(?<!each )(?<!every )other|another|further"
_MATTER = r"things?|matters?|requests?|questions?|needs?|wish(?:es)?|help|assistance"
MORE = any_of(
    r"\bis (that) it for (today)\b",
    (
    r"\b(?<!before )(?<!need to do )(?<!have to do )(?<!prefer )(?<!use )(?<!rather )(?<! for )((anything|"
    r"something) (further|more)|(any(thing)?|something|what) else|"
    r"anything (left)(?=\W*$))\b(?! (in) (change))"
),
    r"\bany (other|further|more) (questions?|changes?(?! to (an?) )|requests?|assistance|wish(es)?)\b",
    r"\b(can|may) i (help|assist|be of)( \w+){0,3} (else|further|other)\b",
    r"\banother (request)\b[^.!]*\?", r"^(any )?(more)\?",
    r"\bany other (orders?)\b.*\b(help|assist(ance)?|look)\b",
    r"\b(another|some other|other|(any) (further)) (orders?|bookings?)\b.*\b(help|assist\w*|attention)\b",
    (
    r"^(did|have) (i|we) (now )?(cover|taken? care of|get)\w* (everything|"
    r"all\b)(?! (?:of (?:it) )?(?:right))"
),
    r"^did (it) answer\b",
    r"^does (it) answer\b",
    r"\banything (besides)\b",
    r"\bdo you have (other) (issues?)\b",
    rf"^(?=.*\?$|.*\b(?:tell me) if\b|if\b).*\b(?:{_ELSE}) (?:\w+ )?(?:{_MATTER})\b", r"\bif (there's) "
    r"nothing (else)\b",
    r"\b(assist\w*)( you)? with (an)?other\b",
    r"\bfurther (help)\b", r"\bis that all\b(?= (?:for)\b)", r"\bwill that be all\b",
    r"\bthat be everything\b",
    r"^(so )*that('s)? all\b(?= (i)\b)[^?]*\?",
    r"^(you )?(also )?(wish)?( me)?( for)? ?(an)?(other) (things?)\b", r"^(\w+ )?(else)\?$",
    r"\ball set\?", r"\bmore i can\b", r"\banythng else\b", r"\bother way i can\b", r"\bwhat's next\b",
)  # fmt: skip
"""Asks whether there is anything else."""
ELSE_TO_CORRECT = re.compile(r"\banything else to correct\b")
"""Asks for more after a report, and for a yes after a proposal; ``spelling`` writes "else to correct"."""
COMPLETE = any_of(
    r"\b(item|change)\w*\b", r"\b(go) back\b",
    r"\bfrom (#w\d|(the) order\b)",
)  # fmt: skip
"""Text with which "anything else" refers to items of the same request."""
REFUSED = any_of(
    r"\bcan ?not\b", r"\bcan't\b", r"\bcant\b", r"\bcannt\b", r"\bcould ?n[o']t\b", r"\bunable\b",
    r"\bnot able\b", r"\bnot possible\b", r"\bisn't possible\b", r"\bimpossible\b",
    r"\bnot (permitted|eligible|available)\b", r"\bineligible\b",
    r"\bisn't (allowed)\b", r"\bwon't be able\b", r"\bwill not be able\b",
    r"\bagainst (my) ?(\w+ )?(rules)",
    r"\bpolicy (does not|doesn't|prohibits)",
    r"\b(do not) (permit)",
    r"\bmust (deny)", r"\bhave to (deny)",
    r"\bno longer (possible|be (?!the)\w)",
    r"\bonly (pending) orders?\b",
    r"\bonly be (changed)\b(?! once)",
    r"\b(can) only (go|be (?!(made) once))\b",
    r"\bnot (enough)\b",
    r"\binsufficient\b", r"\bnot entitled\b", r"\bdeclined\b", r"\brefuse\b", r"(?<!and )\bneither\b",
    r"\bno can do\b", r"\bnot something i\b",
)  # fmt: skip
"""A refusal."""
WHAT_CHANGE = re.compile(r"\bwhat\b.*\b(?:chang)")
"""Asks what shall be changed, which shows that nothing has been changed yet."""
UNAVAILABLE = re.compile(
    r"\b(?:sold out|out of stock|(?:don't) (?:have)(?! (?:to)\b))\b|(?:n't)(?: presently)? (?:available|"
    r"in stock)\b"
)
"""Says of a variant that it is not in stock."""
SHORT = re.compile(r"\b(?:insufficient)")
"""Says that a payment method does not hold enough money."""
GIVE_UP = re.compile(r"\bor\b[^?]*\b(?:leav|drop|skip|forget|abandon)\w*\b[^?]*\?$")
"""Offers, among other things, to drop the request."""
USES = re.compile(
    r"\b(?:shall|should|may|can) i (?:also )?(?:put|take|apply)\b|\b(?:would|do) you (?:also )?(?:like|want|"
    r"prefer|wish)(?: to use)?\b|\b(?:is|are) (?:it|that|you) (?:ok|okay|fine|alright|all right|"
    r"happy)\b[^?]{0,12}\b(?:charge|with)\b"
)
"""Asks whether a payment method may be used: "May I use your Visa again?"."""
REGRET = any_of(
    r"\bi'm afraid\b", r"\bi am afraid\b", r"\bunfortunately\b", r"\bregret\b",
)  # fmt: skip
"""A refusal, unless a question follows."""
CAVEAT = any_of(
    r"\b(add)\w* (or) (add)\w* [^.;?]{1,30}\bbut (i) can replace\b",
    r"\b(without|until|unless) (your|you|an?|first|i|know\w*)\b", r"\bundone\b",
    r"\bbe (reinstated)\b",
    r"\breversed?\b", r"\birreversible\b",
    r"\bonce (this|it|the|that|submitted|done|i)\b(?! (\w+ (is) been)? ?(been )?(paid))", r"\bafter "
    r"(this|that|the|it|you|i)\b",
    r"\bafterwards?\b", (
        r"\b(be|only) (called |done |requested |made |changed |modified |exchanged |returned )?(only )?once\b"
    ), r"\bonly once\b",
    r"\bbefore (i) can\b", r"\b(5|five)( ?- ?| to )(7|seven)\b", r"\bagain later\b",
    r"\b(working) days\b",
    r"\b(a second|another|a repeat(ed)?) (exchange|return|change)\b", r"\bno further changes\b",
    r"\bcannot be (changed) (again)\b", (
        r"\b(can't) (be )?(change|modif)\w*( \w+){0,4} (again|after)"
    ),
)  # fmt: skip
"""Conditions and consequences, which are not refusals."""
NOT_FOUND = any_of(
    r"\b(could ?n[o']t|can ?not|can't|did ?n[o']t) (find|match|verify|see)\b",
    r"\bnot found\b", (
        r"\bno (account|user|match|profile|customer)s?\b(?! (is))"
    ),
    r"\bdoes ?n[o']t (exist|seem to be)\b", r"\binvalid (id)",
)  # fmt: skip
"""Somebody or something was not found."""
TRANSFER = any_of(
    r"\b(transfer(r?ing)?|hand(ed)?|connect(ing)?|escalat(ing)|pass(ing)?|"
    r"forward(ing)?)\b[^.?!\n]{0,60}\b(human|agent|specialist|representative|colleague)\b",
)  # fmt: skip
"""Transfers the user to a person."""
NO_TRANSFER = re.compile(r"(?:\b(?:will) not|\bwon't|\bno need to) (?:(?:be) ){0,3}(?:transfer|hand)\w*")
"""Says that nobody is transferred: "I will not transfer you"."""
TRANSFER_OFFER = any_of(
    r"\b(would)\b[^.!\n]{0,80}\b(transfer|connect)\b[^.!\n]{0,80}\?",
)  # fmt: skip
"""Asks whether to transfer the user."""
MAY_TRANSFER = re.compile(r"\b(?:could)\b(?!')[^.!?,;\n]{0,40}\b(?:transfer|pass)")
"""Says that a transfer is possible: "I could also transfer you to a human agent"."""
TRANSFERRED = re.compile(r"\b(?:(?:i'm|i am) |^)(?:now )*(?:transferr|connect)(?:ing)\b")
"""Says that a transfer is under way or done."""
FAREWELL = re.compile(r"\b(?:safe travels|take care)\b")
"""Ends the conversation."""
WAIT = any_of(
    r"\b(one|a|just a|give me a) (moment|second(?! (?:one))|minute|sec)\b", r"\bhold on\b",
    r"\bplease (wait|hold|bear with)", r"\bbear with me",
    r"\blet me (first )?(check|look|see|pull|find|get|review|take)\b",
    r"\bi('ll| will) (now )?(check|look|pull|retrieve)\b", r"\bchecking\b(?! in\b)",
    r"\blooking (it|into)\b",
)  # fmt: skip
"""Asks the user to wait."""
SOON = re.compile(r"\bin (?:just )?(?:a) (?:moment|second|minute|sec)\b")
"""Says when a proposed change is made: "I can have it paid with PayPal in a moment"."""
REPORT = any_of(
    r"\bconfirm (the|your) (cancellation|update|change|modification)\b(?!.*\?)",
    (
    r"(?:\b(has|have)|'s(?= (?:now )*been)) (now |already )*(been (now |already |\w+ly )*)?(cancell?|"
    r"exchang|modif|updat|chang|switch|book|upgrad|add|sen[dt]|issu|process|submit|complet|initiat|request|"
    r"made|appl|increas|received|gone through|placed|record|execut|opened|put\b|rebooked)"
),
    (
    r"\b(i've|i have|i) (now |just |also |successfully |gone ahead and |went ahead and )*(cancell?ed|"
    r"exchanged|modified|updated|changed|switched|swapped|set(?! aside)|booked|rebooked|saved|opened|added|"
    r"sent|processed|submitted|completed|made|moved|replaced|done|filed|put|reserved|carried out)\b"
),
    r"\bi went ahead and\b",
    (
    r"\b(cancell?ation|return|exchange|change|update|booking)s? (is |was )?(all )?(completed?|done|"
    r"confirmed|successful|set|live)\b"
),
    r"^\W*(?!.*\b(can|was|have)\b)([\w#'-]+ ){1,7}(cancell?ed|updated|changed|booked|filed|submitted)\W*$",
    r"\b(i) (now )?did (the) (\w+ )?(change)\b",
    r"^(\W*(your )?(order) \S+ |\W*)(cancell?ed|updated)\b(?! (?:goods) (?:is)\b)",
    (
    r"^\W*(the )?((new) )?(cabin|bags?|passengers?|return|exchange) (now )?(updated|changed|added|"
    r"requested)\b"
),
    r"\bsuccess(ful(ly)?)?\b", r"\btaken care of\b", r": (all )?(done|completed?)\W*$",
    r"^\W*status(?: of [^:]{1,30})?: (return requested)\W*$",
    r"\bstands? (now )?(amended)\b",
    r"\bbooked in for (return)\b",
    r"'s now (in)\b", r"\byou're confirmed (in)\b",
    r"(\b(is)|'s) (now )?(registered)\b",
    (
    r"(\b(is|are|was|were)|'s) (now |all |already )?(cancell?ed|returned|modified|updated|changed|switched|"
    r"booked|added|sent|issued|processed|submitted|saved|completed?|set|confirmed|moved|done|in place|"
    r"made(?! (?:up)))\b"
),
    r"^\W*(your )?(e-?)?tickets? (is )?(re)?issued\b",
    r"\breturned success\b", r"\b(status) (:) (now )?\W?(ok)",
    r"\b(is|are) now\b",
    r"\bnow (has|have|shows?|includes?|contains?|comprises?|goes)\b",
    r"(\bis|\bhas|'s|'re)\b.{1,80}\bnow\W*$", r"\bis in (our) system\b",
    r"^all \w+ed\b", r"^(saved|booked)[:!,]", r"^that one's \w+ed\b", r"\b(went) through\b", r"\ball "
    r"(set|done)\b", r"^you're (all )?set\b",
    (
    r"^(ok(ay)?,? |thank(s),? |consider )?(it's |that's |it is |it )?(done|completed?|finished|cancell?ed|"
    r"booked)\b(?! (?:goods) (?:is))"
),
    r"\b(you have|you're|you are) (now )?(been )?(all )?(upgraded|booked|good to go|now in)\b",
    r"\bhas a new \w+ now\b", r"\bnow (fly)\b", r"^(return) \w+ed\b",
    (
    r"\b(request|return|exchange|cancellation|booking|change)( for (order )?\S+)? is (now )?(in(?! (the)\b)|"
    r"in (the) system|(made)\b(?! (at)\b))"
),
    r"^(processed)\W*$", r"\bsucceeded\b",
    r"\bthe system (confirms)\b",
    r"\bwhat you (have now)\b", r"\byou now (have)\b",
    r"\byou're now (on)\b",
    r"\bwill now (be|go|ship|have)\b", r"\bhas gone through\b", (
        r"\bwill now be (sent) to\b"
    ),
)  # fmt: skip
"""States that something has been done."""
SLIP = re.compile(r"\bi(?:'ve)? (?:put|set|wrote)\b.{0,40}\b(?:wrong|up)\b(?!.*\b(?:now)\b)")
"""Admits a mistake of the agent's own: "I put in the wrong colour"."""
MISTYPED = re.compile(
    r"\byou (?:told)\b.*\b(?:and) i(?:'d)? (?:wrote)\b|\bi(?:'d)? (?:wrote|typed) .*\b(?:instead of)\b|"
    r"\bi(?:'d)? (?:mistakenly )?(?:misread|transposed|fat-fingered)\b"
)
"""States a mistake of the agent: its own value next to the user's value."""
PERFECT = re.compile(
    r"(?:(?:done|perfect)[,!:-]* )?(?:(?:i am) (?:\w+ )?to (?:confirm)(?: that)? )?(?:(?:i)(?:'ve| have)|"
    r"(?:your |the )?(?:(?!will\b)[\w#]+ ){1,4}ha(?:s|ve) been) (?:now |just |also |"
    r"successfully )*(?:cancell?ed|exchanged|modified|updated|changed|switched|set|booked|rebooked|upgraded|"
    r"saved|added|processed|submitted|completed|moved|replaced|filed)\b"
)
"""States first that something has been done, and then what will follow."""
FUTURE = any_of(
    r"\b(right now|at the moment|so far)\b",
    r"\b(can be)\b(?! (ship))",
)  # fmt: skip
"""States the current state, or what has not been done yet."""
MEANT = re.compile(r"\b(?:order|one) (?:that )?you (?:mean)\b")
"""Asks which record the user speaks of: "is that the order you mean?"."""
