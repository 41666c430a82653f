"""Defines the patterns by which a unit of a message reports, refuses, transfers or asks for more."""

import re

from nlac_bench.simulators.customer.hear.topics import any_of

ANNOUNCES = re.compile(
    r"\b(?:i'll|i will|i'm going to|i am going to|let me|i'm about to|i am about to|i'll now|i "
    r"shall)(?: now| just| then| go ahead and)* "
    r"(?:cancel|return|exchange|modify|change|update|swap|switch|book|add|process|submit|issue|send|"
    r"replace|move|set|upgrade)\b|\bcancell?ing (?:it|your|the|order|reservation)\b.*\bnow\b"
)
OTHERS = re.compile(
    r"\b(?:any|some) (?:other|more|further|additional) (?:items?|products?|things?)\b|\b(?:any|"
    r"some)thing else (?:to|in|from|about|you(?:'d| would) like to) "
    r"(?:return|exchange|modify|change|this|that|the|cancel)"
)
"""Asks whether the request has further parts."""
ONLY = re.compile(
    r"\bthe only (?:thing|item|product|article|one|piece)s?\b[^.?]*\?$|\bnothing (?:else|more)\?$|"
    r"^(?:and |so |then |it's |is it |that's )*(?:just|only)\b(?! (?:to|so|in|as|making|checking|"
    r"confirming)\b)(?!.*\b(?:wh\w+|"
    r"how)\b)[^?]*\?$"
)
"""Asks whether the named requests are all."""
PROCEED = re.compile(r"\b(?:proceed|go ahead|confirm)\b|\bor (?:may|shall|should|can) i\b")
ASSENT = any_of(
    r"\b(if|once|when|as soon as|after|until) you('ve| have)? (confirm|agree|approve|sa(y|id) (yes|"
    r"so)|tell me (?:so|to)|give|ok\b|okay)",
    r"\b(if|once|when|after|upon) (your )?(confirmed|confirmation|approval)\b",
)  # fmt: skip
"""States that the agent acts only after confirmation."""
STATED = re.compile(r"^[^?]*?(?::| -|->| =) *(?!your\b|the \w+ you\b)[^\s?][^?]*$|^[^?]*#w?\d[^?]*$")
"""A list entry with a value, such as ``payment: gift card``, which is neither a question nor asked for."""
GUESS = re.compile(
    r"(?:(?:or|and|so|maybe|perhaps),? )*(?:is|was|would|will|should) (?:it|that|this) (?:be )?"
    r"(?:for |to |on |with )?(?:the|your|a|an|still)\b[^?]*\?$"
)
"""Guesses the answer to the question before it: "Which card is it? Is it the Visa?"."""
EXAMPLE = re.compile(r"(?:for (?:example|instance)|e\.g\.|say|perhaps|maybe),? [^?]*\bor\b[^?]*\?$")
"""Gives examples of an answer to the question before it: "For example, should it be larger, or blue?"."""
YES_NO = any_of(
    r"yes ?/ ?no", r"yes or no", r"\(y(es)?\b", r"\bconfirm\b", r'\"yes\"', r"'yes'", r"\by/n\b",
)  # fmt: skip
"""A yes-no question, whatever else it contains."""
_ELSE = r"(?<!each )(?<!every )other|another|further|additional"
_MATTER = (
    r"things?|matters?|issues?|requests?|questions?|concerns?|problems?|needs?|wish(?:es)?|help|assistance|"
    r"support|tasks?|topics?"
)
MORE = any_of(
    r"\bis (that|this) it for (today|now)\b",
    r"\b(?<!before )(?<!need to do )(?<!have to do )(?<!prefer )(?<!use )(?<!rather )(?<! for )((anything"
    r"|something|what) (further|more)|"
    r"(any(thing)?|something|what) else|anything (left|missing|remaining|outstanding)(?=\W*$))\b"
    r"(?! (to|in|from|about) (return|exchange|modify|change|correct|this order|that order|the order))",
    r"\bany (other|further|more) (questions?|changes?(?! to (this|that|the|your|an?) )|requests?|issues?"
    r"|concerns?|help|assistance|thing|matters?|"
    r"wish(es)?|needs?)\b",
    r"\b(can|may|could) i (help|assist|be of)( \w+){0,3} (else|further|more|other)\b",
    r"\banother (thing|matter|request|question|issue|concern)\b[^.!]*\?", r"^(any )?(more|other \w+)\?",
    r"\bany other (orders?|reservations?|bookings?|trips?|purchases?)\b.*\b(help|assist(ance)?|look|i can)\b",
    r"\b(another|some other|other|(any|some) (further|more)) (orders?|reservations?|bookings?|trips?|"
    r"purchases?)\b.*\b(help|assist\w*|look|i can|i may|attention|need)\b",
    r"^(did|have|has) (i|we|that|this) (now )?(cover|taken? care of|answer|address|handled?|get|got|"
    r"done?|finish)\w* (everything|all\b)(?! (?:of (?:that|this|it|them) )?(?:right|correct))",
    r"^did (that|this|it) answer\b",
    r"^does (that|this|it) answer\b",
    r"\banything (besides|apart from|beyond)\b",
    r"\bdo you have (another|other) (questions?|requests?|issues?)\b",
    rf"^(?=.*\?$|.*\b(?:let (?:me|us) know|tell me|say so|say if|write|here) if\b|if\b).*\b(?:{_ELSE}) "
    rf"(?:\w+ )?(?:{_MATTER})\b", r"\bif (there's|there is) nothing (else|more|further)\b",
    r"\b(help|assist\w*|support)( you)? with (an|any )?other\b",
    r"\bfurther (help|assistance)\b", r"\bis that all\b(?=\W*$|,| (?:for|you|i|then|today|"
    r"from)\b)", r"\bwill that be all\b",
    r"\bthat be everything\b",
    r"^(so |and |ok,? |okay,? )*that('s|'ll be| be| was)? all\b(?=\W*$|,| (for|you|i|then|today|from)\b)"
    r"[^?]*\?",
    r"^(you )?(also )?(need|want|wish)?( me)?( for)? ?(an|some)?(other|more|further) (help|things?|"
    r"support|service|questions?|"
    r"assistance|matters?)\b", r"^(\w+ )?(else|more|further)\?$",
    r"\ball set\?", r"\bmore i can\b", r"\banythng else\b", r"\bother way i can\b", r"\bwhat's next\b",
)  # fmt: skip
"""Asks whether there is anything else."""
ELSE_TO_CORRECT = re.compile(r"\banything else to correct\b|\bany (?:other|further|more) changes?\b")
"""Asks for more after a report, and for a yes after a proposal; ``spelling`` writes "else to correct"."""
COMPLETE = any_of(
    r"\b(item|return|exchange|modify|change)\w*\b", r"\b(come|go|sen[dt]) back\b",
    r"\bfrom (#w\d|(this|that|the|your) order\b)",
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
    r"\bno longer (possible|available|be (?!used|your|the|needed|sent|shipped|delivered|charged|there)\w)",
    r"\bonly (pending|delivered) orders?\b",
    r"\bonly be (cancelled|canceled|returned|modified|changed|exchanged|refunded)\b(?! once)",
    r"\b(can|could|may|must) only (go|be (?!(done|called|used|made|requested|changed|modified|"
    r"exchanged|returned|performed|submitted) once)|use|pay|receive|accept)\b",
    r"\bnot (enough|sufficient)\b",
    r"\binsufficient\b", r"\bnot entitled\b", r"\bdeclined\b", r"\brefuse\b", r"(?<!and )\bneither\b",
    r"\bno can do\b", r"\bnot something i\b",
)  # fmt: skip
"""A refusal."""
WHAT_CHANGE = re.compile(r"\bwhat\b.*\b(?:chang|modif|updat|differ)")
"""Asks what shall be changed, which shows that nothing has been changed yet."""
UNAVAILABLE = re.compile(
    r"\b(?:sold out|out of stock|unavailable|discontinued|no longer (?:in stock|offered|made)|"
    r"(?:do not|don't) (?:have|stock|carry|sell)(?! (?:to|your|an?|any|access)\b))\b|"
    r"(?:\bnot|n't)(?: currently| presently)? (?:available|in stock)\b|\bno longer available\b"
)
"""Says of a variant that it is not in stock."""
SHORT = re.compile(
    r"\b(?:insufficient|not (?:enough|sufficient)|too (?:small|low|little)|(?:not|"
    r"n't) (?:fully )?(?:cover|suffice|be "
    r"enough|have enough|stretch)|only (?:has |have |holds? |covers? )?\$)"
)
"""Says that a payment method does not hold enough money."""
GIVE_UP = re.compile(r"\bor\b[^?]*\b(?:leav|drop|skip|forget|abandon)\w*\b[^?]*\?$")
"""Offers, among other things, to drop the request."""
REGRET = any_of(
    r"\bi'm afraid\b", r"\bi am afraid\b", r"\bunfortunately\b", r"\bregret\b",
)  # fmt: skip
"""A refusal, unless a question follows."""
CAVEAT = any_of(
    r"\b(add|drop|remov)\w* (or|and) (add|drop|remov)\w* [^.;?]{1,30}\bbut (i|we) can replace\b",
    r"\b(without|until|unless) (your|you|an?|first|i|we|having|confirm\w*|verif\w*|"
    r"know\w*)\b", r"\bundone\b",
    r"\bbe (restored|recovered|reinstated|retrieved|reactivated|reopened|brought back)\b",
    r"\breversed?\b", r"\birreversible\b",
    r"\bonce (this|it|the|an?|that|your|submitted|completed|done|processed|i)\b(?! (has|have|is|was|"
    r"been|already|\w+ (has|have|is) been)? ?"
    r"(been )?(delivered|shipped|processed|paid))", r"\bafter (this|that|the|it|you|an?|i)\b",
    r"\bafterwards?\b", (
        r"\b(be|only) (called |done |used |requested |made |performed |changed |modified |exchanged |"
        r"returned |submitted )?(only )?once\b"
    ), r"\bonly once\b",
    r"\bbefore (i|we) can\b", r"\b(5|five)( ?- ?| to )(7|seven)\b", r"\bagain later\b",
    r"\b(business|working) days\b",
    r"\b(a second|another|a further|any further|a later|a repeat(ed)?) (exchange|return|change|modification|"
    r"request|cancell?ation|edit)\b", r"\bno further changes\b",
    r"\bcannot be (changed|modified) (later|again)\b", (
        r"\b(can't|cannot|won't be able to) (be )?(change|modif|cancel|return|exchange)\w*( "
        r"\w+){0,4} (again|later|further|once|after)"
    ),
)  # fmt: skip
"""Conditions and consequences, which are not refusals."""
NOT_FOUND = any_of(
    r"\b(could ?n[o']t|can ?not|can't|unable to|did ?n[o']t|not able to) (find|locate|match|"
    r"identify|verify|see)\b",
    r"\bnot found\b", (
        r"\bno (account|user|order|match|record|profile|reservation|customer)s?\b(?! (change|is|has))"
    ),
    r"\bdoes ?n[o']t (match|exist|seem to be)\b", r"\binvalid (order|e-?mail|id)",
)  # fmt: skip
"""Somebody or something was not found."""
TRANSFER = any_of(
    r"\b(transfer(r?ed|r?ing)?|hand(ed|ing)?|connect(ed|ing)?|escalat(e|ed|ing)|pass(ed|ing)?|"
    r"forward(ed|ing)?)\b[^.?!\n]{0,60}\b(human|agent|specialist|representative|colleague|"
    r"supervisor|person|team)\b",
)  # fmt: skip
"""Transfers the user to a person."""
NO_TRANSFER = re.compile(
    r"(?:\b(?:will|do|does|did|would|could|should|shall|need|am|is|are) not|\b(?:do|does|did|would|"
    r"could|should|need|"
    r"is|are)n't|\bwon't|\bno need to|\bwithout|\brather than|\binstead of) (?:(?:need|have|want|going|"
    r"be|to|\w+ly) "
    r"){0,3}(?:transfer|hand|connect|escalat|pass|forward)\w*"
)
"""Says that nobody is transferred: "I will not transfer you"."""
TRANSFER_OFFER = any_of(
    r"\b(would|do|shall|should|can|could|may|want|like|if)\b[^.!\n]{0,80}\b(transfer|connect|"
    r"escalate|hand|pass|forward)\b[^.!\n]{0,80}\?",
)  # fmt: skip
"""Asks whether to transfer the user."""
MAY_TRANSFER = re.compile(
    r"\b(?:can|could|may|might|would|should|happy to|glad to|able to|option (?:is|would be) to)\b(?!n|')"
    r"[^.!?,;\n]{0,40}\b(?:transfer|connect|escalate|hand|pass|forward)"
)
"""Says that a transfer is possible: "I could also transfer you to a human agent"."""
TRANSFERRED = re.compile(
    r"\b(?:(?:i'm|i am|now|been|being|are|have|successfully) |^)(?:now |just |already |hereby )*"
    r"(?:transferr|connect|escalat|hand|pass|forward)(?:ing|ed)\b"
)
"""Says that a transfer is under way or done."""
FAREWELL = re.compile(
    r"\b(?:safe travels|good ?bye|bye|wish(?:ing)? you (?:an?|safe|all)|take care|see you|(?:have|"
    r"enjoy) (?:a|an|your|the) (?:\w+ ){0,2}"
    r"(?:day|evening|weekend|trip|flight|time|one))\b"
)
"""Ends the conversation."""
WAIT = any_of(
    r"\b(one|a|just a|give me a) (moment|second(?! (?:exchange|return|change|modif|request|time|order|one|"
    r"edit))|minute|sec|min)\b", r"\bhold on\b",
    r"\bplease (wait|hold|stand by|bear with)", r"\bbear with me",
    r"\blet me (just |quickly |first |now )?(check|look|see|pull|find|get|search|retrieve|"
    r"review|do|process|take)\b",
    r"\bi('ll| will) (now |just )?(check|look|pull|search|retrieve|get back)\b", r"\bchecking\b(?! in\b)",
    r"\blooking (it|that|this|into)\b",
)  # fmt: skip
"""Asks the user to wait."""
SOON = re.compile(r"\bin (?:just )?(?:a|one) (?:moment|second|minute|sec|min)\b")
"""Says when a proposed change is made: "I can have it paid with PayPal in a moment"."""
REPORT = any_of(
    r"\bconfirm (the|your) (cancellation|return|exchange|update|change|modification|rebooking)\b(?!.*\?)",
    r"(?:\b(has|have)|'s(?= (?:now |just |already )*been)) (now |just |already |both |all |also )*"
    r"(been (now |just |already |\w+ly )*)?"
    r"(cancell?|return|exchang|modif|updat|chang|switch|swap|set\b(?! aside)|book|upgrad|"
    r"downgrad|add|sen[dt]|issu|process|submit|complet|initiat|request|moved|replac|refund|done|"
    r"made|credit|appl|schedul|arrang|correct|increas|rais|received|saved|gone through|accepted|filed|placed|"
    r"creat|record|amend|effect|reimburs|execut|carried out|"
    r"registered|opened|put\b|started|logged|lodged|rebooked|finali[sz]ed|taken (?:the place|over))",
    r"\b(i've|i have|we've|we have|i) (now |just |also |successfully |already |gone ahead and |went "
    r"ahead and )*(cancell?ed|"
    r"returned|exchanged|modified|updated|changed|switched|swapped|set(?! aside)|booked|rebooked|upgraded|"
    r"saved|started|opened|created|registered|arranged|scheduled|"
    r"downgraded|added|sent|issued|processed|submitted|completed|initiated|requested|placed|"
    r"made|moved|replaced|done|refunded|filed|put|corrected|amended|recorded|effected|reserved|carried "
    r"out)\b",
    r"\bi went ahead and\b",
    r"\b(cancell?ation|return|exchange|change|update|booking|upgrade)s? (is |are |was |has been "
    r")?(now |all )?(completed?|done|confirmed|successful|set|in place|live|active)\b",
    r"^\W*(?!.*\b(to be|will|would|can|could|should|shall|may|must|if|be|not|get|gets|was|were|want|wants|"
    r"wanted|like|need|wish|have|prefer|let|see|which|what)\b)([\w#'-]+ ){1,7}"
    r"(cancell?ed|updated|changed|exchanged|returned|booked|rebooked|added|upgraded|saved|modified|filed"
    r"|submitted)\W*$",
    r"\b(i|we) (now |just |also )?did (the|your|that|this|an?) (\w+ )?(cancell?ation|return|exchange|"
    r"change|update|booking|"
    r"modification|upgrade|swap)\b",
    r"^(\W*(your )?(order|reservation|booking) \S+ |\W*)(cancell?ed|updated|exchanged|returned)\b"
    r"(?! (?:items?|products?|goods|orders?|tickets?|flights?) (?:are|is|can|will|get|must|may)\b)",
    r"^\W*(your |the )?((new|shipping|delivery|default|payment|checked) )?(flights?|cabin|address|method|"
    r"bags?|baggage|luggage|items?|"
    r"passengers?|names?|trip|seats?|order|reservation|booking|certificate|return|exchange|"
    r"cancell?ation) (now )?(cancell?ed|updated|"
    r"changed|exchanged|returned|booked|added|upgraded|downgraded|saved|issued|switched|modified|"
    r"submitted|requested|rebooked|done)\b",
    r"\bsuccess(ful(ly)?)?\b", r"\btaken care of\b", r": (all )?(done|completed?|submitted)\W*$",
    r"^\W*status(?: of [^:]{1,30})?: (cancell?ed|updated|changed|booked|exchange requested|return "
    r"requested)\W*$",
    r"\bstands? (now )?(cancell?ed|corrected|changed|amended|confirmed)\b",
    r"\bbooked in for (return|exchange)\b",
    r"'s now (going|shipping|headed|heading|addressed|on|set|in)\b", r"\byou're confirmed (on|in|for)\b",
    r"(\b(is|are|was|were)|'s) (now )?(created|registered|filed|initiated|arranged|scheduled|opened|"
    r"lodged)\b",
    r"(\b(is|are|was|were|got)|'s) (now |all |already )?(cancell?ed|returned|exchanged|modified|updated|"
    r"changed|switched|swapped|booked|upgraded|downgraded|added|sent|issued|processed|submitted|saved|"
    r"completed?|requested|set|confirmed|moved|done|sorted|finali[sz]ed|in place|"
    r"made(?! (?:of|from|by|to|only|once|if|when|up)))\b",
    r"^\W*(your )?(e-?)?tickets? (is |are |was |were )?(now |all |re)?issued\b",
    r"\breturned success\b", r"\b(result|status|outcome) (is|was|=|:) (now )?\W?(ok|okay|success)",
    r"\b(is|are) now\b",
    r"\bnow (has|have|shows?|includes?|contains?|comprises?|consists? of|holds?|lists?|reads?|goes|ships|"
    r"stands)\b",
    r"(\bis|\bare|\bhas|'s|'re)\b.{1,80}\bnow\W*$", r"\bis in (the|our) system\b",
    r"^all \w+ed\b", r"^(saved|updated|changed|booked|added|issued|submitted|"
    r"rebooked)[:!,]", r"^that one's \w+ed\b", r"\b(went|gone) through\b", r"\ball (set|done|"
    r"sorted)\b", r"^you're (all )?set\b",
    r"^(ok(ay)?,? |great,? |perfect,? |alright,? |thank(s| you),? |and |consider )?(it's |that's |it is |"
    r"that is |all |it )?(done|completed?|finished|sorted|cancell?ed|booked|updated|changed|"
    r"returned|exchanged)\b(?! (?:items?|products?|goods|orders?) (?:are|is|can|will|must))",
    r"\b(you've|you have|you're|you are) (now )?(been )?(all )?(upgraded|downgraded|booked|rebooked|"
    r"moved|switched|set|refunded|good to go|now in)\b",
    r"\bhas a new \w+ now\b", r"\bnow (travels?|fly|flies)\b", r"^(return|exchange|cancell?ation) \w+ed\b",
    r"\b(request|return|exchange|cancellation|order|booking|change)( for (order )?\S+)? is (now )?"
    r"(in(?! (the|your|a)\b)|in (the|our) system|on its way|live|"
    r"through|underway|(made|done)\b(?! (only|once|if|when|after|by|at|within)\b))",
    r"^(processed|submitted|executed|confirmed|succeeded|handled)\W*$", r"\bsucceeded\b",
    r"\bthe system (confirms|has confirmed|accepted)\b",
    r"\bwhat you (now have|have now)\b", r"\byou now (have|hold)\b",
    r"\byou're now (on|in|flying|travell?ing|confirmed)\b",
    r"\bwill now (be|go|ship|have|show|use)\b", r"\bhas gone through\b", (
        r"\bwill now be (shipped|sent|delivered) to\b"
    ),
)  # fmt: skip
"""States that something has been done."""
SLIP = re.compile(
    r"\bi(?:'ve| have| had)? (?:put|set|made|wrote|written|booked|mixed|chose|picked|listed|misread|mistyped|"
    r"confused|entered)\b.{0,40}\b(?:wrong|incorrect|mistake|error|typo|up)\b"
    r"(?!.*\b(?:now|corrected|fixed)\b)"
)
"""Admits a mistake of the agent's own: "I put in the wrong colour"."""
MISTYPED = re.compile(
    r"\byou (?:told|said|gave|asked|wrote|meant)\b.*\b(?:and|but|while|whereas) i(?:'d| had)? "
    r"(?:wrote|written|put|typed|said|entered|read|took|noted)\b|"
    r"\bi(?:'d| had| have|'ve)? (?:wrote|written|typed|put|entered|noted) .*\b(?:instead of|rather than|"
    r"where you)\b|"
    r"\bi(?:'d| had| have|'ve)? (?:accidentally |mistakenly )?(?:misread|mistyped|misheard|mistook|"
    r"transposed|mixed up|fat-fingered)\b"
)
"""States a mistake of the agent: its own value next to the user's value."""
PERFECT = re.compile(
    r"(?:(?:done|great|okay|ok|all right|good news|perfect|thanks?|thank you|all set)[,!:-]* )?"
    r"(?:(?:i am|i'm|we are|we're) (?:\w+ )?to (?:confirm|inform you|tell you|report|say|let you know)(?: "
    r"that)? )?"
    r"(?:(?:i|we)(?:'ve| have)|(?:your |the )?(?:(?!will\b)[\w#]+ ){1,4}ha(?:s|ve) been) (?:now |just |"
    r"also |successfully |already )*"
    r"(?:cancell?ed|returned|exchanged|modified|updated|changed|switched|swapped|set|booked|rebooked|"
    r"upgraded|downgraded|saved|added|issued|processed|submitted|completed|moved|replaced|placed|filed)\b"
)
"""States first that something has been done, and then what will follow."""
FUTURE = any_of(
    r"\b(currently|right now|at the moment|at present|so far)\b",
    r"\b(will be|would be|to be|can be|could be|(?<!is now )(?<!are now )going to(?! \d)|not yet|if you|"
    r"once you|about to|"
    r"haven't|has not|hasn't|have not)\b(?! (e-?mail|refund|credit|sent|notif|process|receiv|ship|reimburs))",
)  # fmt: skip
"""States the current state, or what has not been done yet."""
MEANT = re.compile(
    r"\b(?:order|reservation|booking|trip|one|account) (?:that |which )?you (?:mean|meant|have in mind|"
    r"refer to|"
    r"are (?:asking|calling|writing|talking) about)\b"
)
"""Asks which record the user speaks of: "is that the order you mean?"."""
