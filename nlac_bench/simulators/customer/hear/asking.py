"""Lists the words with which agents ask for a value, and those that distinguish such questions."""

import re

DECLARED = re.compile(
    r"(?:(?:so|and),? )*(?:i|we|you|it|this|that|all|everything|any \w+|the \w+)(?:(?:'s|'re|'m|'ll|'d)\b|"
    r",? \w)(?<!you have)"
)
"""The beginning of a question with the word order of a statement: "you are agree with this?"."""
BARE_IDENTITY = re.compile(
    r"(?:(?!(?:[^:.]* )?(?:done)\b)[^:.?!]{1,60}: )?(?:(?:hi)\b[ ,!-]*)*(?:(?:the) )?(?:(?:user|full|first|"
    r"last|zip|e-?mail|id|name|code|address|and|or|your|the|either|of your (?:address)|"
    r"on (?:the account))\b[ ,/+-]*)+(?:, )?(?:please)?(?:\W*\?|\.)"
)
"""A question of nouns only: "User id, please?"."""
SEVERAL = re.compile(r"\b(?:how)\b.*,.*\b(?:how)\b[^,]*,.*\?$")
"""Several open questions in one sentence: "which date, how many bags, insurance yes/no, and who flies?"."""
REVIEW = re.compile(
    r"\b(?:please|kindly|do|and|to|just|so) (?:\w+ly |also |first |just |now |then )*"
    r"(?:look (?:it |them |this )?(?:over|at|through)|review|check|double-check|make sure|ensure|"
    r"(?:take|have) (?:a|another) (?:\w+ )?look|go (?:over|through)|read (?:over|through)|proofread|see that|"
    r"verify that)\b[^.]*\b(?:names?|spelling|dates?|details|above|everything)\b"
)
"""Asks to check what the message itself states: "look over the names, since they need to match your ID"."""
REVIEW_PART = re.compile(
    r"(?:^|\b(?:please|kindly|do|and|just|so) )(?:do |just )?(?:double-|re-?)?(?:check|read|review|look "
    r"(?:over|at))"
    r" (?:that )?(?:the|this|that|these|every|each) (?!.*\b(?:tell|give|send|share|provide|reply|"
    r"write)\b)[^.]*"
    r"\b(?:number|post ?codes?|zip|addresse?s?|street|below|lines?|figures?|codes?)\b"
)
"""The same for a part of it: "please check the number and the postcode"."""
YOURS = re.compile(r"\b(?:you|i|we)\b[^.?]*?\b(?:your|the|an?|that|e-?mail)\b")
DOES = re.compile(
    r"\b(?:sen[dt]|mail(?:ed)?|receiv\w*|us(?:e|ing)|updat\w*|chang\w*|correct|match\w*|spel[lt]\w*|proceed|"
    r"(?:want|like|wish) (?:me|us|to)|add(?!ress)\w*|ship\w*|cancel\w*|return\w*|exchang\w*|book|agree|fine|"
    r"okay|ok)\b"
)
HANDS = re.compile(
    r"\b(?:provide|give|tell|send|share|supply|type|enter|state|let me have)\b(?: me|"
    r" in)?(?: with)?(?: (?:your|the|either)\b)(?: \w+){0,3}? (?:user|account|e-?mail|names?|id)\b"
)
"""Asks for data that identify the user: "go ahead and provide me with your user id"."""
OPENING = re.compile(r"(?:okay|now)\b")
"""Words before a colon that are not a label."""
HOW_MANY = re.compile(
    r"\b(?:(?:will|would|are|do) (?:you|there)\b(?! (?:need)\b.{0,12}\b(?:i) )|^any\b|"
    r"\b(?:and) any\b)(?:(?!\d)[^?.])*\b(?:bags?|baggage|luggage)\b(?:(?!\$)[^?.])*\?$"
)
"""Asks whether there are bags, which is answered with their number: "Will you be checking any bags?"."""
INSURANCE = re.compile(
    r"\b(?:would|will) you (?:be )?(?:like|need)\b(?!.{0,20}\b(?:i)\b)[^?.]{0,60}\binsurance\b[^?]{0,60}\?$"
)
"""Asks whether the trip shall be insured: "Would you like to add travel insurance?"."""
WHETHER_ANY = re.compile(r"\bis there (?:one )[^?]*\b(?:orders?)\b[^?]*\byou(?:'d)? (?:want)\b[^?]*\?$")
"""Asks which order or trip is meant: "Is there one of your own orders that you want to cancel?"."""
ALONE = re.compile(r"\bis it (?:just) (?:for )?you\b")
"""Asks who travels: "Is it just you, or is anybody else coming along?"."""
INSURED = re.compile(r"(?:^)(?:and |(?:do you )?(?:want|need) |travel )*insurance\b(?: for [^?]{0,40})?\?$")
"""The same in a few words: "Insurance: yes or no?"."""
POLITE = (
    r"(?:be (?:able|willing|so kind as) to |please |kindly |also |first |just |briefly |quickly |"
    r"maybe |perhaps |possibly |now |you |me )*"
)
GIVES = (
    r"(?:provide|share|type|paste|quote|fill (?:\w+ )?in|drop|write down|reply with|respond with|tell|give|"
    r"let (?:me|us) (?:know|have)|specify|clarify|send me|supply|state|have (?:your|the|a|an|some|both|one)|"
    r"get (?:your|the|a|an|some|both|one)|ask (?:for|you for|who|what|which|your|how)|ask\b|know|"
    r"spell|enter|type in|remind me|"
    r"describe|explain|elaborate|rephrase|repeat|indicate|list|advise|(?:e|i)nquire|start with|begin with|"
    r"verify "
    r"(?:your|who|the)|"
    r"point me|choose|select|pick|help me (?:with|locate|find|verify)|double-check|check the|look up|"
    r"identify)"
)
GIVE = re.compile(rf"\b{GIVES}\b")
INFORM = re.compile(
    rf"\b(?:tell) (?:me) (?:which|what)\b|\b(?:could|can|would|may|might) (?:you|i) {POLITE}{GIVES}\b|"
    rf"\b(?:please|kindly) (?:also )*{GIVES}\b|^(?:then |just )*(?:pray )*(?:tell|give|send|inform) (?:me|"
    r"us)\b|\bso (?:good) as to (?:state|tell|give|send)\b|\b(?:grateful|glad) to (?:learn|"
    r"know)\b(?! (?:if)\b)|\bmay i (?:be told|learn)\b|\bfor you to (?:state|tell|give)\b|"
    rf"^(?:kindly )?(?:share|spell|state)\b(?!:)|\bask (?:that )?you (?:to )?{POLITE}(?:{GIVES}|send)\b|"
    r"\blet (?:me|us) know (?:(?:to|onto) (?=wh))?(?:your|which|what)\b|\b(?:mind|you mind) (?:telling|"
    r"giving)\b|\bif you (?:could|can|would) (?:please )?(?:share|tell|give|send|let)\b|\b(?:would|"
    rf"'d) (?:also |just )?like to know\b|^(?:\w+,? ){{0,2}}(?:ask|fire) away\b"
)
NEEDS = re.compile(
    r"\b(?:i)(?:'d| must| have to)? (?:also |further )*(?:(?:request|ask)(?: for)?(?: (?:your|"
    r"the) (?:reason)| that you (?:indicate))|(?:need|require) (?:to note )?(?:the|a|your) reason)\b|"
    r"\breason\b[^.?!:]*\b(?:required)\b|\b(?:required|missing)\b[^.?!]*\breason\b|\b(?:i)(?:'ll|"
    r"'d)? (?:just |also )?(?:need|require)(?: to (?:know|confirm|locate|ask)\b(?! that)| your| the|"
    r" a (?:bit|few)| some| one of)|\b(?:i) (?:must|have to)(?: also)? (?:verify|identify)"
)
PLEASE_NOUN = re.compile(
    r"^[^.?!]{0,160}\b(?:please)[.!]?$|^(?:(?:and )?(?:your|the) )?(?:email|name|full name|zip|"
    r"user id)(?:\b[^.]{0,60}:?$|,? (?:if|please)\b[^.]{0,50}[.!]$)"
)
PLEASE = re.compile(r"\b(?:please|kindly|let's|just|first)\b")
REQUIRES = re.compile(
    r"\b(?:needs?|requires?|required|needed|asks? (?:me )?(?:for)|wants?|must|have to|should|without|until|"
    r"before|once (?:i) (?:have)|missing|begins?|starts?|i mean|next (?:step|comes?)|unlocks?)\b|"
    r"(?:n't) (?:known)\b"
)
"""Words with which a statement about the user's identity asks for it: "the system needs your user id"."""
HAS_IT = re.compile(
    r"\b(?:verified|found|located|confirmed|received|got it|matche[sd]|recogni[sz]ed|thanks?|thank you|"
    r"already|noted|on file is|no (?:need|longer)|not (?:need|required|necessary)|n't (?:need|have to))\b"
)
WISHES = re.compile(
    r"\b(?:appreciate|(?:enough) (?:for (?:me))|(?:would|'d|will) (?:also )?(?:help|do|suffice|be (?:enough|"
    r"great))|(?:is) (?:all|what) (?:i) (?:need)|(?:all|what) (?:i) (?:need)|"
    r"(?:i)(?:'m) (?:still )?(?:missing)|(?:need|ask) (?:you )?(?:for)|(?:is) missing|necessary|"
    r"works? (?:by))\b"
)
"""Wishes for a value, which ask for it indirectly."""
MAILED = re.compile(
    r"\b(?:get|receive|expect|send|sent|with)\b(?: \w+){0,2} an?(?: [\w-]+){0,2} e-?mail\b(?! address)|"
    r"\bsend(?:s|ing)? (?:an? |the )?e-?mail\b(?! address| (?:that|which|you))|\b(?:receive|sent|send "
    r"you|get an|check (?:your|the) (?:e-?mail|mail|inbox)|e-?mailed|"
    r"confirmation e-?mail|"
    r"(?:sen[dt]|get|arriv\w*|contact|notif\w*|comes?|follows?|instructions?)\b.*\b(?:by|via) e-?mail|"
    r"\b(?:an|the|another) e-?mail\b(?! address|,| (?:that|which|your|you|on|of|before|or|linked|"
    r"associated|registered|you used|"
    r"first|to (?:look|find|verify|identify|get|start|go))\b)(?!\W*$)|inbox|"
    r"e-?mail (?:with|will|shortly|once|from))\b|\bconfirm\b(?! your| who| the)|\bthank"
)
SOUNDS = re.compile(r"\bhow (?:does) (?:that)(?: all)? (?:sound|look)|\bwhat do you (?:say|think|reckon)\b")
INVERTED = re.compile(r"\b(?:is|are)\b")
KNOWS = re.compile(
    r"\b(?:do|would) you (?:(?:happen to|also) )?(?:have|know)\b(?! any (?:more))(?!\w* (?:like))|"
    r"\bis there an? (?:\w+ ){0,2}(?:date)\b"
)
WH_START = re.compile(
    r"(?:(?:and|so|also|ok|sure|next|to|for|from|on|in|with|by|at)(?:,| -)? )*(?:which|what|who|whom|whose|"
    r"when(?! (?:this) (?:all )?(?:looks))|where|why|how)\b(?! (?:i\b|you're\b))"
)
WH = re.compile(
    rf"^{WH_START.pattern}|(?:[,:;(-] ?|\b(?:and|so|but|know|ask|see|tell me) )(?:which|what|who|whose|where|"
    rf"why|how)\b(?! (?:comes)\b)(?! (?:is) (?:\w+ ){{0,3}}(?:open)\b)"
)
TAG = re.compile(
    r"(?:\b(?:correct|right|agreed|alright|fine|yes|deal|cool|confirm|(?<! to )go|proceed|y))\W*\?$|^(?:so |"
    r"it's )*(?:just|only)\b(?! (?:to|so)\b)(?!.*\b(?:how)\b)[^:]*\?$|[,;-] ?(?:was|does|should|"
    r"have)(?:n't)? (?:it|we)(?: not)?(?: (?:right|correct|so|fine))?\?$"
)
AUXILIARY = re.compile(
    r"(?:^|[,:;.!-] ?|\b(?:and|but|also|before i \w+) )(?:shall|should|may|might|can|could|would|will|do|"
    r"did|is|are|was|have|isn't|aren't|don't|ready|happy|okay|ok|good|fine|all (?:good|right|correct)|"
    r"sounds?|looks?|want|any (?:objections?|problems?)|anything|everything|proceed|go ahead|continue|does|"
    r"am)\b"
)
LACKS = re.compile(
    r"\b(?:need|require|required|request|ask|furnish|you (?:sent)|let me have|missing|details|information|"
    r"few things|note (?:down )?|collect|clarify|tell me)\b"
)
"""Words with which the heading of a list asks for its entries: "what I need from you:"."""
ACTS = re.compile(
    r"\b(?:cancel|return|exchang|modif|chang|updat|swap|switch|book|add|refund|replac|upgrad|mov|ship|send|"
    r"pay|issu|want|lik)(?:e|y|ed|ing|ling|led)?\b(?! (?:method)s?\b)|\b(?:will|using|to)\b"
)
NO_NUDGE = re.compile(r"choice|preference|pick|^(?:hello)\b")
IF_AGREED = re.compile(
    rf"\bif (?:it|this|you)\b[^.?]{{0,24}}\b(?:fine|happy)\b(?!.*\b(?:why)\b)|\b{GIVES}(?: me)? (?:whether|"
    r"if) (?:(?:i) (?:may|should|can)|you(?:'re) (?:\w+ )?(?:fine|happy)\b|you (?:(?:wish|"
    r"would like) (?:me))|(?:this|that|it|everything)\b(?: of (?:this|it|that))? (?:is)(?!.*\bor\b))|"
    r"\blet (?:me) know (?:if|whether|that) (?:you(?:'d)|that|this|everything)\b|\btell me to (?:go|"
    r"proceed)|\b(?:let (?:me) know|(?:give) (?:me) (?:the) (?!(?:user) )\w+(?: \w+)?),? (?:and) (?:i)\b"
)
AS_A_RULE = re.compile(r"\bas a (?:general )?rule\b|\bgenerally\b|\b(?:not)\b[^.?!]*\bwithout your\b")
"""States a general rule: "as a rule, I need a yes", "I never change anything without your consent"."""
INVITES = re.compile(r"\b(?:could) you (?:\w+ )?(?:walk) me through\b")
"""Invites the user to speak: "could you walk me through it?"."""
