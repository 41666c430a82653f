"""Lists how agents ask for confirmation, and what distinguishes it from asking for a value or a choice."""

import re

from nlac_bench.simulators.customer.hear.topics import any_of

_ADJECTIVE = (
    r"(?:(?!(?:order|booking|reservation|return|exchange|refund|e-?mail|flight|trip|cancell?ation|purchase|"
    r"payment|account|user|shipping|delivery|change|is|are|was|will|and|or)\b)[a-z]+ ){0,2}"
)
_CONSENT = (
    r"[\"']?(?:approval|permission|consent|go-ahead|ok|okay|confirmation|authori[sz]ation|green light|"
    r"yes|yep|"
    r"yeah|yup|thumbs[- ]up|nod|agreement|blessing|say-so|all-clear|assent|sign-off|word on (?:that|"
    r"this|it))\b"
    r"(?!,? (?:number|code|id|e-?mail|page|letter|is sent|was sent|will)\b)"
)
PERMISSION = re.compile(
    rf"\b(?:your|(?:give|have|get|need|want|ask|await\w*|wait\w* for|hear)(?: me| us| is| you for)? "
    rf"(?:a|an|the)) "
    rf"{_ADJECTIVE}{_CONSENT}|"
    rf"\b(?:an?|one|your) {_ADJECTIVE}{_CONSENT}[\"']?,? (?:from you|from your side|and (?:i|we)\b|to this|"
    r"is (?:all|enough)|suffices|will do|would do)"
)
"""Asks for permission, or names it: "your approval", "a quick yep from you and I'll do it"."""
YES_ONLY = re.compile(
    r"^(?:so,? )?do you (?:confirm|approve|consent|authori[sz]e)\b|"
    r"\bwhether(?: or not)? you (?:agree|consent|approve|accept|authori[sz]e)\b|"
    r"\byes ?/ ?no\b|\byes or no\b|\(y(?:es)?\b|\by/n\b|\"yes\"|'yes'|\b(?:reply|say|type|answer|"
    r"respond|write|send|tell me)\b[^.?!:]{0,24}?\Wyes\b|"
    r"\b(?:reply|say|type|answer|respond|write|send)(?: back)?(?: to me)?(?: with)?(?: an?)? \W?(?:ok|okay|"
    r"confirm|confirmed|i agree|agreed|approve|approved|go ahead|proceed)\b|"
    r"\byes to (?:continue|proceed|confirm|accept|go)|"
    r"\b(?:an?|the|your|simple|clear|quick|short|plain|explicit|one|with|me|us|just|by|only|either|"
    r"word|like|for):? "
    r"[\"(]?yes\b"
)
"""Asks for the word "yes": "a simple yes is enough", "tell me yes if it's right"."""
CONFIRM_WORD = re.compile(r"\bconfirm\b|\bproceed\b|\bgo ahead\b")
CONFIRM = any_of(
    r"(?<!for )(?<!for your )(?<!to )\bconfirm(?!ed|ation|ing|s\b)", r"\bto confirm[:,]",
    r"\b(kind|good|nice)( enough)?( as)? to confirm(?! (your|which|what|who|the (reason|number)))\b",
    r"\bconfrim", r"\bcomfirm", r"\bcnofirm",
    r"\b(like|want|wish|happy|ready|okay|ok|me|yes\"?) to (proceed|continue|go ahead)\b",
    r"\b(whether|(say|state|indicate|advise|specify) if) (i|we) (should|may|can|shall|could|might|am to|"
    r"are to)\b",
    r"\bif (i|we) (should|may|can) (go|proceed|continue|make|submit|process|do|take|have your)",
    r"\b(hear|know|read|have it)( back)?( from you)? (that|if|whether) (this|that|it|you|i|everything|all|"
    r"these|the)\b",
    r"\b(sure|certain|positive) (that |if |whether )?(this|that|it|everything|all of (this|it)) (is|are|"
    r"looks?|matches|suits)\b",
    r"\b(want|like|wish|okay for|ok for|happy for|fine if|okay if|ok if|alright if|when you want) "
    r"(me|us|we)\b",
    r"\b(if|once|when|provided( that)?|assuming( that)?|as long as|so long as) (all( of)? )?"
    r"(this|that|it|everything|all|they|(the|these|those|this|that)( (above|rest|plan|summary|details?|"
    r"changes?|information|terms|arrangement|proposal))?)( of (this|it|that|these))?( above)?( all)? "
    r"(looks?|sounds?|seems?|works?|reads?|suits?|match(es)?|(is|are)( \w+)? (good|fine|ok|okay|right|"
    r"correct|acceptable|alright|in order|as (you|it should)|what you|to your))\b",
    r"\bif (this|that|it|everything|all)( of this)?( above)?('s| (looks?|sounds?|is|seems|works?|reads?))\b",
    r"\bif you (\w+ )?(agree|concur|assent|consent|approve|accept|find (it|this|that|everything|all|these|"
    r"them|the "
    r"\w+)( of it)?( to be)? (correct|right|fine|good|ok|okay|acceptable|accurate|in order|satisfactory))\b",
    r"\b(reply|answer|respond|write back)\w* (me )?(in the affirmative|affirmatively|positively)\b",
    r"\b(say|tell|write|inform|advise|answer|reply)( to)? (me|us),? (if|whether|when) (it |this |that |"
    r"all |everything )?"
    r"(is|are|'s|looks|sounds|fits|suits|works)\b",
    r"\bif (there's|there is|you have|you see) (nothing|no) (\w+ ){0,3}(change|correct|add|"
    r"object\w*|wrong|missing)\b",
    r"\bif you like (what|how|it|this|that|the)\b",
    r"\bif (i|we)('ve| have)? (now )?(got|understood|read|noted|captured|heard|summari[sz]ed|put|have)\b"
    r"[^.?!]{0,40}\b(right|correctly|properly|accurately)\b",
    r"^(?!.*\b(if you('d| ever| also| have| need| want| wish| would| change| decide| think|"
    r" prefer| remember| find)|any|anything|something|questions?)\b).*\b(let (me|us) know|"
    r"tell me|say so|just shout|give me a shout|drop me a (line|word|note))"
    r",? (and|then|so) (i|we)('ll| will| can) (then |just )?(get (it|this|that|everything|all|"
    r"started|going|right|on)|do (it|this|that)|"
    r"take care|submit|go ahead|process|make (it|this|the)|finish|start|finali[sz]e|apply|put it|complete|"
    r"set it|carry)\b",
    r"\bif you('re| are) (happy|okay|ok|fine|good|satisfied|ready|comfortable)\b",
    r"\b(i('ll| will)|before i) (wait|await|proceed|go ahead)\b.*\b(confirm|approval|go-ahead|yes|ok)",
    r"\bunless you object", r"\bsay the word\b",
    r"^(?:(?:so|then|just|simply|please|kindly|if so|and),? )*(?:give|say|send|drop|reply|answer|type|nod|"
    r"signal|show|hit)\b(?![^.?!]*\b(?:second|moment|minute|sec|min|details?)\b)[^.?!]{0,40}?"
    r"(?:,| and| then| so)+ (?:i|we)(?:'ll| will| can| would|'d)\b",
    r"\bawait\w*\b.*\b(confirm|approv|go-ahead|repl)", PERMISSION.pattern,
    r"\b(do|would|if) you (agree|approve|authori[sz]e|consent|accept)",
    r"\bplease (approve|authori[sz]e|agree|review and|verify (that|these|the (above|details)))\b",
    r"\b(just )?(let me know|tell me) (if|whether|when|once|to) (you('d| would| want| wish| agree)|i "
    r"should|i may|i can|go|proceed|that|this|it|everything|these|all)\b",
)  # fmt: skip
"""Asks for confirmation without a question mark."""
CONFIRM_SLOT = any_of(
    r"\b(confirm|verify) (for me |with me )?(me )?(your|the|which|what|why|whose|how|when|where|"
    r"who)\b( [a-z'/-]+){0,4} ?\b(reason|e-?mail|name|zip|identity|number|id|items?|method|"
    r"address|dates?|cabin|account|order|reservation|refund|option|options|variant|passengers?)\b",
)  # fmt: skip
""""Please confirm your order number": asks for a value."""
VALUE = any_of(
    r"#?w\d{5,}", r"_\d{4,}", r"\b\d{9,}\b", r"\b\d{5}\b", r"\bno longer needed", r"\bmistake",
    r"\b[a-z]{2,3}\d{3}\b", r"\d{4}-\d\d-\d\d", r"\$ ?\d", r"\b(?=[a-z]*\d)[a-z0-9]{6}\b",
    r"\b(paypal|gift card|visa|mastercard)\b", r"@", (
        r"\bdetails (above|below|are|as)|\b(above|these) details"
    ),
)  # fmt: skip
"""A concrete value, so that "confirm the order #W1234567" is not read as a question for one."""
CHOICE = any_of(
    r"\bor\b(?! ((did|have|had) (i|we)|not\b(?! (?:need|want))|no\b(?! longer)|any|if|more|would (you|"
    r"that|this|it)|do|should|"
    r"is|are|else|shall|may|can|need|want|have|there|something|make|to (change|"
    r"make|cancel)|let me|adjust|just|wait|changes|change (any|some)|abort|stop|so\b|later|other|\d{5}))",
    r"\b(keep|same|stay|leave)\b[^?]*\bor (should|would|shall|do) [^?]*\b(differ\w*|prefer|rather|another"
    r"|something else)\b",
    r"\bno longer need.{0,60}\bmistake\b|\bmistake\b.{0,60}\bno longer need",
)  # fmt: skip
"""A choice between two options."""
CONFIRMS = re.compile(
    r"\b(?:i|we|me|can|hereby|just|is|wish|write|able|glad|happy|pleased|delighted|hono(?:u)?r|like)"
    r"(?: \w+ly| to)* confirm\b|^confirming\b"
)
"""Confirms something and does not ask for anything: "we confirm that it has been cancelled"."""
HAS_CONSENT = re.compile(
    r"\b(?:confirmation|approval|consent|go-ahead|permission|authori[sz]ation|agreement)\b(?: has been| have "
    r"been| was| is) (?:now )?(?:received|noted|recorded|logged|accepted)\b|\b(?:thanks|thank you|following|"
    r"given|per|upon|after|based on|with) (?:for )?your (?:\w+ )?(?:confirmation|approval|consent|go-ahead|"
    r"permission|authori[sz]ation|agreement|ok|okay)\b"
)
"""Says that the user has agreed: "your confirmation has been received"."""
