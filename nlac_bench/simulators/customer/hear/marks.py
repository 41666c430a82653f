"""Lists the words that give a value its role in a sentence: proposed, present, kept or only mentioned."""

import re

_ACTION = (
    r"cancel(?!lation (?:polic|rule|term|condition|fee))\w*|call(?:ed|ing)? off|return(?:s|ed"
    r"|ing)?\b(?! (?:window|policy|flight|trip|label|period|leg))|"
    r"sen[dt](?:ing)? (?:\w+ ){0,2}?back\b|exchang\w*|swap\w*|replac(?:e|es|ed|ing|ement)\b|trad(?:e|"
    r"ing)\b|modif\w*|chang(?:e|es|ed|ing)\b|updat\w*|switch(?! types?\b)\w*|process(?!ors?\b)\w*|refund\w*"
)
_GOES = (
    r"(?:goes|go|going|come|comes|coming|"
    r"(?:tak(?:e|es|ing)|hand(?:s|ed|ing)?|giv(?:e|es|ing))(?: \w+){0,2}?) back\b(?!\?: no\b)"
)
_NEGATED = (
    r"(?:\bnot|\b\w+n't|\bnever)(?: \w+){0,2}? (?:be |being |get )?"
    r"(?:touch|affect|chang|includ|return|exchang|modif|cancel|part|involv|mov|swap|go|alter|replac|"
    r"impact|remov|travel|fly|join|com(?:e|ing)\b|sen[dt] back|go(?:ing)? back|sold back)\w*"
)
_KEPT = (
    rf"{_NEGATED}|\bstill yours\b|\byours (?:to keep|still|:)|\b(?:keep|keeps|keeping|kept|retain(?:s|ed|"
    rf"ing)?|"
    r"leav(?:e|es|ing)|left (?:alone|as|out|un|with)\w*|"
    r"h[ao]ng(?:s|ing)? on to|h[oe]ld(?:s|ing)? on to|(?<!nothing )except(?:ing)?(?: for)?|"
    r"excluding|excluded|without|(?:apart|aside) from(?! [a-z ]{1,20}:)|(?<!nothing )other than"
    r"|(?<!nothing )besides|but not|"
    r"not (?:the|your|a|an|for)|"
    r"no changes?|nothing (?:changes|else)|unchanged|unaffected|untouched|unmodified|remain(?:s|ing)?|"
    r"stay(?:s|ing)?|rest of|(?:(?:fine|okay|ok|good|alright|correct) )?as (?:it|they) (?:is|are)|"
    r"(?:(?:ship|com|arriv|go)\w* (?:along )?(?:with (?:it|them|the rest) )?)?(?:just )?as (?:planned"
    r"|ordered|usual|"
    r"before|normal)|is "
    r"fine|are fine|isn't|aren't|is not|are not|not)\b"
)
UNWANTED = r"(?:\b(?:(?:\w+n't|not|never) (?:\w+ )?|no longer )(?:want|wish|need|prefer|like)(?:s|ed)?\b)"
_CONTEXT = (
    r"\b(?:(?<!now )(?<!would )(?<!will )contain(?:s|ed|ing)?|(?<!would )(?<!will )consist(?:s|ing)? of|"
    r"compris(?:es|ing|ed)|"
    r"(?<!now )(?<!return )(?<!exchange )(?<!request )(?<!change )(?<!refund )(?<!would )(?<!will )"
    r"(?:includes?|holds?)|"
    r"i (?:can |do |could |now )?(?:also |only )?(?:see|notice|found)|i(?:'m| am) (?:also "
    r")?(?:showing|seeing)|"
    r"your other (?:\w+ )?(?:orders|reservations|bookings)|"
    r"you (?:currently|presently) (?:have|hold|own)|i(?:'ve| have) (?:found|located|got(?! [\w ]{2,20} "
    r"(?:right|correct(?:ly)?|down)\b)|pulled up)|"
    r"same as|just like|as (?:on|with) (?:the|your)|"
    r"(?:order|reservation|it|which|that|trip|account)(?: #?\w*\d+\w*)?(?: \([^()]*\))? (?:currently "
    r"|also |only )?(?:has|had|have)(?![a-z])(?! (?:now |just |already )*been\b)|"
    r"there(?:'s| is| are| was| were)(?: also)?|(?:you )?also (?:have|has)|you(?: have|'ve)? "
    r"(?:originally )?(?:ordered|bought|purchased)|"
    r"(?:what's|what is|what was|items?|everything|products?) (?:\w+ ){0,2}(?:in|on) (?:the|your|"
    r"this|that|it)\b(?: order)?|(?:items|contents|products) (?:in|on|of) order\b|"
    r"(?:current|present|existing) (?:order|contents)(?! [#\w]*\d)|"
    r"(?:at the moment|at present|right now|currently)(?=:))"
)
_LISTING = (
    r"\b(?:contain(?:s|ed|ing)?|there(?:'s| is| are)|we (?:also )?(?:have|offer)|(?:options|methods|"
    r"choices|alternatives|flights|variants) "
    r"(?:available|on (?:file|your)|in (?:the|your)|you have)|available|on (?:file|your (?:account|"
    r"profile)))\b"
)
_ADVERB = r"\b(?:currently|presently|at present|right now|at the moment|so far|as of now|for now)\b"
_PRESENT = (
    rf"{_ADVERB}|\b(?:current|present|existing|old|previous(?:ly)?|originally|formerly|former|today|"
    r"already|was|were|earlier|prior|taking|as it stands|no more|until now|in exchange for|taken off|"
    r"drops? out|gives? up|thrown out|tak(?:e|es|ing) (?:the place of|over from)|step(?:s|ping)? in for|"
    r"(?:switch|swap|put|bring|sub|substitut|trad|slot)\w* (?:it|this|that|them|these|those)(?: one)? in for|"
    r"you(?:'ve| have)? (?:\w+ly )?paid (?=for\b|with\b|by\b|via\b)|off(?! of\b)|supplant(?:s|ing)?"
    r"|displac(?:es?|ing)|swap(?:s|ping)? out|"
    r"overwrit(?:e|es|ing)|still (?:ships?|goes)|"
    r"you(?:'re| are) (?:(?:now|currently|still|both|all|presently|down) )*(?:booked in|booked on|"
    r"booked|seated|holding|"
    r"travell?ing|flying|sitting|scheduled|on|in)|had|instead of|"
    r"rather than|in place of|replac(?:es?|ing)|supersed(?:es?|ing)|out (?:goes|with)|"
    r"the one (?:there|on file|on record|in (?:your|the) \w+)(?: \w+){0,3}? (?:is|was)|in lieu of|no longer|"
    r"(?:sen[dt]|ship|mail|post|hand|giv(?:e|ing))(?:p?ing)?(?= [^.;,:$]{1,80} back\b(?! (?:to|on|onto)\b))|"
    r"(?:return|shipping) (?:instructions|labels?|details|steps)(?: \w+){0,4} for|"
    r"(?:instructions|labels?|details|steps)(?: \w+){0,3} (?:return(?:ing)?|send(?:ing)? back|sending)|"
    r"where there(?:'s| is| are| was| were)|pick(?:s|ed|ing)? up|"
    r"collect(?:s|ing)?(?= (?:the|your|an?) (?!diff|am|pay))|"
    r"remov(?:e|es|ed|ing)|out of|(?:now|before|today)(?=:)|"
    r"(?<!would )(?<!will )(?<!'ll )(?<!'d )(?<!so )(?<!to )(?:you|it|reservation|they)(?: \w*\d\w*)? "
    r"(?:have|has)(?! (?:picked|chosen|selected|requested|named|opted|decided|told|given|indicated"
    r"|stated)\b))\b"
)
_NEW = (
    r"\b(?:after(?:wards)?(?=:)|after (?:the|this|that) (?:change|update)|new|will|would|become|becomes|"
    r"updated? to|changed? to|switch(?:ed)? to|mov(?:e|ed) to|instead|total of|put(?:s|ting)? in|"
    r"in total|(?:gives?|giving) you|receiv(?:e|es|ing)|makes?|making|brings?|bringing|upgrad\w*|"
    r"downgrad\w*)\b|'ll\b|'d\b"
)
_IT = r"(?:it|that|this|them|those|these|the (?:above|old|present) \w+)"
_OF_LABEL = r"(?=[^:.;,?(]{0,24}:)"
_AT_LABEL = r"(?: (?:the|this) (?:change|update|exchange|modification|swap|switch))?(?= ?:)"
_PRESENT_LABEL = (
    rf"\b(?:out|now|today|before|was){_AT_LABEL}|"
    r"\b(?:leaving|outgoing|dropp(?:ed|ing)|releas(?:ed|ing)|given up|remov(?:e|ed|ing)|(?:send|sent"
    r"|sending|giv(?:e|ing)|go(?:es|ing)|hand(?:ing)?) "
    rf"(?:back|up|in)|trad(?:e|ing) in|own)\b{_OF_LABEL}"
)
_NEW_LABEL = (
    rf"\b(?:in|after(?:wards)?|then){_AT_LABEL}|"
    r"\b(?:joining|incoming|add(?:ed|ing)?|get(?:s|ting)?|receiv\w+|will be|becomes?|instead|want(?:ed)?|"
    rf"request(?:ed)?|replacement|desired)\b{_OF_LABEL}"
)
"""Words in a label whose value is the present one, or the new one: "item you're sending back: …"."""
_WEAK = r"\b(?:to|into|onto|with|via|by|on|using|use|charged?|paid|pay|for|as|is|are|be|in)\b"
_END = (
    r";|,? (?:but|while|whereas)\b|,? and only\b|, (?=(?:and |so )?(?:i|we|you|they|it|the refund)\b)"
    r"|, so\b|\. | - (?!\$)"
)

ITEM_MARKS = re.compile(
    rf"(?P<kept>{_KEPT}|\b(?:won't|will not|not going to) \w+(?: \w+ back\b| back\b)?)|"
    rf"(?P<back>\b{_GOES}\b)|(?P<act>->|\b(?:{_ACTION}))|(?P<context>{_CONTEXT})|"
    rf"(?P<end>{_END}|\bnow (?:includes?|contains?|comprises|has|have|holds?|consists? of)\b)|"
    r"(?P<beside>\b(?:along|together) with\b|\b(?:besides|beside|next to|in addition to)\b)"
)
VALUE_MARKS = re.compile(
    rf"(?P<arrow>->|\b(?:replac|supersed)(?:e|ed|ing) (?:{_IT} )?(?:with|by)\b|"
    rf"\b(?:overwrit|swap|chang|substitut|switch|exchang|trad)\w* {_IT} (?:with|by|for|to|into)\b)|"
    rf"(?P<new>{_NEW_LABEL})|(?P<present>{_PRESENT_LABEL})|"
    rf"(?P<kept>{_KEPT}|{UNWANTED})|(?P<from>\bfrom\b)|"
    rf"(?P<context>{_LISTING})|(?P<old>{_PRESENT})|(?P<aim>{_NEW})|(?P<weak>{_WEAK})|(?P<end>{_END}|, )"
)
ADVERBS = re.compile(_ADVERB)
CHANGE = re.compile(rf"->|{_NEW}|\b(?:{_ACTION}|tak(?:es?|ing) the place of)")
"""Says that something changes."""
STATE = re.compile(rf"{_PRESENT}|{_CONTEXT}|{_LISTING}")
"""States the present state."""
