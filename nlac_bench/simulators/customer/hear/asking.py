"""Lists the words with which agents ask for a value, and those that distinguish such questions."""

import re

DECLARED = re.compile(
    r"(?:(?:so|and|then|please|ok|okay|also|now),? )*(?:i|we|you|it|this|that|these|they|all|everything|"
    r"any \w+|the \w+)"
    r"(?:(?:'s|'re|'m|'ll|'d)\b|,? \w)(?<!you have)"
)
"""The beginning of a question with the word order of a statement: "you are agree with this?"."""
BARE_IDENTITY = re.compile(
    r"(?:(?!(?:[^:.]* )?(?:updated|changed|saved|sent|done|verified|confirmed)\b)[^:.?!]{1,60}: )?"
    r"(?:(?:ok|okay|and|so|hi|hello|sure|great|thanks|first|also)\b[ ,!-]*)*(?:(?:your|the) )?"
    r"(?:(?:user|full|first|last|zip|postal|e-?mail|id|name|code|address|number|and|or|your|the|either"
    r"|both|just|"
    r"of your (?:address|account|profile)|on (?:file|the account|your account))\b[ ,/+-]*)+"
    r"(?:, )?(?:please|pls|plz)?(?:\W*\?|\.)"
)
"""A question of nouns only: "User id, please?"."""
SEVERAL = re.compile(r"\b(?:wh(?:ich|at|o|en|ere)|how)\b.*,.*\b(?:wh(?:ich|at|o|en|ere)|how)\b[^,]*,.*\?$")
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
YOURS = re.compile(r"\b(?:you|i|we)\b[^.?]*?\b(?:your|the|an?|that|under which|user id|e-?mail|zip|name)\b")
DOES = re.compile(
    r"\b(?:sen[dt]|mail(?:ed)?|receiv\w*|us(?:e|ing)|updat\w*|chang\w*|correct|match\w*|spel[lt]\w*|proceed|"
    r"(?:want|like|wish) (?:me|us|to)|add(?!ress)\w*|ship\w*|cancel\w*|return\w*|exchang\w*|book|agree|fine|"
    r"okay|ok)\b"
)
HANDS = re.compile(
    r"\b(?:provide|give|tell|send|share|drop|supply|pop|type|enter|state|quote|let me have|let us have|"
    r"hand)\b"
    r"(?: me| us| over| in| across| here)?(?: with)?(?::| (?:your|the|both|either|an?|just)\b)(?: \w+){0,3}? "
    r"(?:user|account|customer|member\w*|profile|login|e-?mail|names?|zip|id)\b"
)
"""Asks for data that identify the user: "go ahead and provide me with your user id"."""
OPENING = re.compile(r"(?:great|sure|okay|ok|thanks|thank you|hello|hi|of course|next|first|now)\b")
"""Words before a colon that are not a label."""
HOW_MANY = re.compile(
    r"\b(?:(?:will|would|are|do|did|does|is|have|won't|aren't|don't) (?:you|there|"
    r"(?:anyone|anybody|somebody)(?: in your \w+| of you)?|"
    r"(?:any|either|all|both|one|none) of you|your (?:party|group)|the (?:passengers?|travell?ers?|party)|"
    r"they|we)\b(?! (?:like|want|wish|need|prefer)\b.{0,12}\b(?:me|us|i) )"
    r"|^any\b|[:,;-] any\b|\b(?:and|so|what about|how about) any\b)"
    r"(?:(?!\d|\b(?:the|this|that|these|those|your|my|one|two|three|four|five|no|confirm|agree)\b)[^?.])*"
    r"\b(?:bags?|baggage|luggage|suitcases?)\b(?:(?!\d|\$|\bor\b|\bis that\b|\b(?:confirm|correct|right)\b)"
    r"[^?.])*\?$"
)
"""Asks whether there are bags, which is answered with their number: "Will you be checking any bags?"."""
INSURANCE = re.compile(
    r"\b(?:would|do|did|will|are) you (?:also |still |be )?(?:like|want|need|wish|prefer|interested in|"
    r"care for|tak\w*|add\w*)\b(?!.{0,20}\b(?:book|confirm|me|us|i|proceed|go)\b)[^?.]{0,60}"
    r"\binsurance\b[^?]{0,60}\?$"
)
"""Asks whether the trip shall be insured: "Would you like to add travel insurance?"."""
WHETHER_ANY = re.compile(
    r"\bis there (?:any |one |an? |another |some )[^?]*\b(?:orders?|reservations?|bookings?|trips?)\b[^?]*"
    r"\byou(?:'d| would)? (?:like|want|wish|need)\b[^?]*\?$"
)
"""Asks which order or trip is meant: "Is there one of your own orders that you want to cancel?"."""
ALONE = re.compile(
    r"\bis it (?:just|only) (?:for )?you\b|\b(?:any|some)(?:one|body) else\b[^?]*\b(?:com|travel|fly|join)\w*"
)
"""Asks who travels: "Is it just you, or is anybody else coming along?"."""
INSURED = re.compile(
    r"(?:^|[:-] )(?:and |also |(?:do you )?(?:want|need|like|any|add|include|take) |travel |trip "
    r")*insurance\b"
    r"(?:[:,-]* ?\(?(?:yes ?(?:or|/) ?no|y/n)\)?| for [^?]{0,40})?\?$"
)
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
    r"\b(?:tell|give|send) (?:me|us) (?:your|which|what|who|how|where)\b|"
    rf"\b(?:could|can|would|will|may|might) (?:you|i|we) {POLITE}{GIVES}\b|"
    rf"\bkind (?:enough |as )to {POLITE}{GIVES}\b|"
    rf"\b(?:please|pls|plz|kindly) (?:also |first |just |either )*{GIVES}\b|"
    r"^(?:and |then |so |first,? |ok(?:ay)?,? |next,? |just )*(?:pray |please |do )*(?:tell|give|send|"
    r"inform) (?:me|us)\b|\bso (?:good|kind) as to (?:state|tell|name|give|provide|indicate|share|send)\b|"
    r"\b(?:grateful|glad|happy|pleased|obliged) to (?:learn|know|hear|be told)\b(?! (?:that|if)\b)|"
    r"\bmay i (?:be told|learn|be informed)\b|\bfor you to (?:state|tell|name|give|provide|indicate)\b|"
    r"^(?:kindly )?(?:provide|share|enter|spell|state|specify)\b(?!:)|"
    rf"\bask (?:that )?you (?:to )?{POLITE}(?:{GIVES}|send|furnish)\b|"
    r"\blet (?:me|us) know (?:(?:to|on|onto|from|for|with|by|in) (?=wh))?"
    r"(?:your|the|which|what|who|when|where|how|whether it)\b|\b(?:mind|you "
    r"mind) (?:sharing|telling|giving|providing|confirming your)\b|"
    r"\bif you (?:could|can|would) (?:please )?(?:provide|share|tell|give|send|let)\b|"
    r"\bwondering (?:which|what|who|when|where|how|whether)\b|"
    r"\b(?:would|'d) (?:also |just |still )?like to know\b|"
    r"^(?:\w+,? ){0,2}(?:ask|fire) away\b"
)
NEEDS = re.compile(
    r"\b(?:i|we)(?:'ll|'d| will| would| do| must| shall| should| have to)? (?:just |also |first |still |"
    r"further |now )*"
    r"(?:(?:request|ask)(?: for)?(?: (?:your|the) (?:reason|order number)| that you (?:state|give|tell|name|"
    r"indicate|provide|share))|(?:need|require) (?:to note )?(?:the|a|your) reason)\b|"
    r"\breason\b[^.?!:]*\b(?:required|(?<!longer )needed|missing)\b|"
    r"\b(?:required|(?<!longer )needed|missing)\b[^.?!]*\breason\b|"
    r"\b(?:i|we)(?:'ll|'d| will| would| do)? (?:just |also |first |still )?(?:need|require)(?: to "
    r"(?:know|verify|confirm|authenticate|identify|locate|have|get|ask|see)\b"
    r"(?! that)| your| the| a (?:bit|few|little|couple)| some| one of| either| you to (?:provide|"
    r"verify|confirm your|share|tell)|: )|"
    r"\b(?:i|we) (?:must|have to|need to|'ll need to|should)(?: first| also)? (?:verify|authenticate|"
    r"identify|confirm (?:who|your identity))|"
    r"\b(?:email|e-mail|zip|user id|name|identity)\b.*\b(?:is|are) (?:required|needed)\b|\bgoing to "
    r"need\b|\bneed (?:your|a bit)\b|\blet me know your\b"
)
PLEASE_NOUN = re.compile(
    r"^[^.?!]{0,160}\b(?:please|pls|plz)[.!]?$|^(?:(?:and |just )?(?:your|the) )?(?:email|e-mail|name|"
    r"full name|first name|zip|user id)(?:\b[^.]{0,60}:?$|,? (?:if|please|first|so|for|before|"
    r"then)\b[^.]{0,50}[.!]$)"
)
PLEASE = re.compile(r"\b(?:please|kindly|pls|plz|let's|just|first)\b")
REQUIRES = re.compile(
    r"\b(?:needs?|requires?|required|needed|lacks?|calls? for|asks? (?:me |us )?(?:for|to)|wants?|"
    r"depends? on|must|"
    r"have to|has to|should|without|until|before|once (?:i|we) (?:have|know|get)|missing|not yet|"
    r"begins?|starts?|"
    r"i mean|next (?:step|comes?|up)|first step|only thing|left is|comes? first|key to|unlocks?|"
    r"goes here|need (?:that|it|this|them))\b|(?:\bnot|n't) (?:known|here|given|provided|shared|on file)\b"
)
"""Words with which a statement about the user's identity asks for it: "the system needs your user id"."""
HAS_IT = re.compile(
    r"\b(?:verified|found|located|confirmed|received|got it|matche[sd]|recogni[sz]ed|thanks?|thank you|"
    r"already|noted|on file is|no (?:need|longer)|not (?:need|required|necessary)|n't (?:need|have to))\b"
)
WISHES = re.compile(
    r"\b(?:appreciate|grateful|thankful|(?:happy|glad|like|love|great|good|nice|helpful|best|easiest|"
    r"enough) (?:if you|to "
    r"(?:have|know|get|see|ask|be given)|for (?:me|us))|(?:would|'d|will|'ll) (?:also )?(?:help|do|"
    r"suffice|be (?:enough|"
    r"great|perfect|helpful|needed|ideal))|(?:is|are) (?:all|what) (?:i|we) (?:need|require|ask)|(?:all|"
    r"what) (?:i|we) (?:need|"
    r"require)|(?:i|we)(?:'m| am|'re| are) (?:still )?(?:missing|lacking)|(?:i|we) (?:still )?(?:lack|miss)|"
    r"(?:need|ask|want|wait\w*|have to have|looking) (?:you )?(?:for|from you)|feel free to|"
    r"don't hesitate to|"
    r"(?:is|are|still) missing|mandatory|necessary|works? (?:by|with|through|via)|if you (?:gave|sent|"
    r"told|shared|provided))\b"
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
SOUNDS = re.compile(
    r"\bhow (?:does|do|would) (?:that|this|it|these|they|everything)(?: all)? "
    r"(?:sound|look|work|seem)|\bwhat do you (?:say|think|reckon)\b|\bwhat say you\b"
)
INVERTED = re.compile(r"'s\b|\b(?:do|does|did|would|should|can|could|is|are|was|will|may|shall)\b")
KNOWS = re.compile(
    r"\b(?:do|would|did) you (?:(?:happen to|also|still|perhaps|maybe) )?(?:have|know|remember"
    r"|recall)\b(?! any (?:other|further|"
    r"more))(?!\w* (?:want|like))|"
    r"\bis there an? (?:\w+ ){0,2}(?:date|name|number|reason|time|colou?r|size|preference|method|address)\b"
)
WH_START = re.compile(
    r"(?:(?:and|so|then|now|also|ok|okay|great|sure|thanks?|thank you|finally|but|first|next|to|for|"
    r"from|on|in|with|by|at|perfect|alright|got it|of course|certainly|absolutely|\w+ you)"
    r"(?:,| -)? |\(?\d[.)] )*"
    r"(?:which|what|what's|who|who's|whom|whose|when(?! (?:this|that|it|everything) (?:all )?(?:looks|seems|"
    r"sounds|suits|works))|where|why|how)\b(?! (?:i\b|i'|we\b|we'|you're\b|"
    r"you'll\b|you (?:confirm|say)|ready|happens))"
)
WH = re.compile(
    rf"^{WH_START.pattern}|(?:[,:;(-] ?|\b(?:and|so|then|but|also|plus|or|know|hear|ask|see|tell me|"
    r"first|namely|i\.e\.|e\.g\.) )(?:which|what|what's|who|whom|whose|where|why|how|when do|when would|"
    r"when is)\b(?! "
    rf"(?:is (?:why|how|what|where|when|something)|means|gives|makes|brings|leaves|comes|includes)\b)(?! "
    rf"(?:is|are) (?:\w+ ){{0,3}}(?:delivered|listed|shown|pending|processed|shipped|open)\b)"
)
TAG = re.compile(
    r"(?:\b(?:correct|right|ok|okay|k|agreed|alright|all right|good|fine|yes|y/n|yes/no|sound good|"
    r"deal|cool|confirm|(?<! to )go|proceed|yeah|y)|nothing (?:else|more))\W*\?$|"
    r"^(?:and |so |then |it's |is it )*(?:just|only)\b(?! (?:to|so|in|as)\b)(?!.*\b(?:wh\w+|how)\b)[^:]*\?$|"
    r"[,;-] ?(?:is|are|was|were|do|does|did|will|would|can|could|should|shall|have|has|am)(?:n't|"
    r" not)? (?:that|it|this|they|these|you|we|i)(?: not)?(?: (?:right|correct|so|ok|okay|true|fine))?\?$"
)
AUXILIARY = re.compile(
    r"(?:^|[,:;.!-] ?|\b(?:and|so|then|but|now|if so|also|before i \w+|please|or(?= (?:shall|should|may|"
    r"can) i)) )(?:shall|should|may|"
    r"might|can|could|would|will|do|does|did|is|are|am|"
    r"was|were|have|has|isn't|aren't|don't|wouldn't|ready|happy|okay|ok|good|fine|all (?:good|set|"
    r"right|correct|clear)|"
    r"sounds?|looks?|want|wanna|any (?:objections?|problems?|issues?|concerns?|reason not to)|anything|"
    r"everything|proceed|go ahead|continue|mind|"
    r"care|does|am)\b"
)
LACKS = re.compile(
    r"\b(?:need|require|required|request|ask|furnish|provide|send me|you (?:sent|shared|gave)|share|supply|"
    r"let me have|trouble you|missing|lack|looking for|details|information|few things|note (?:down )?|"
    r"collect|"
    r"gather|clarify|fill in|tell me|know|answer)\b"
)
"""Words with which the heading of a list asks for its entries: "what I need from you:"."""
ACTS = re.compile(
    r"\b(?:cancel|return|exchang|modif|chang|updat|swap|switch|book|add|refund|replac|upgrad|"
    r"downgrad|mov|ship|send|pay|issu|want|lik)(?:e|y|s|es|ed|ing|ling|led)?\b"
    r"(?! (?:method|number|address|date|reason|option)s?\b)|\b(?:will|using|to)\b"
)
NO_NUDGE = re.compile(
    r"^(?:could|can|would|will) you|choice|preference|pick|thoughts|option|prefer|^(?:hello|hi|hey)\b|else"
)
IF_AGREED = re.compile(
    r"\b(?:tell (?:me|us)|let (?:me|us) know) so\b|"
    r"\bif (?:it|this|that|everything|all|you)\b[^.?]{0,24}\b(?:fine|ok|okay|good|right|correct|agree|happy|"
    r"alright|in order|suits|works)\b(?!.*\b(?:your|which|what|how|where|who|why|when)\b)|"
    rf"\b{GIVES}(?: me| us)? (?:whether|if) (?:(?:i|we) (?:may|should|can|shall|could|might|must|"
    r"am to|are to)|you(?:'re| are) (?:\w+ )?(?:fine|ok|okay|happy|good|comfortable|satisfied|ready)\b|"
    r"you (?:agree|approve|consent|accept|authori[sz]e|permit|(?:want|wish|would like|'d like) (?:me|us))|"
    r"(?:this|that|these|it|everything|all)\b(?: of (?:this|it|that))? (?:is|are|looks?|suits?|meets|"
    r"match\w*)(?!.*\bor\b))|"
    r"\blet (?:me|us) know (?:if|whether|when|that|once) (?:you(?:'d| would|'re| are| want| agree| "
    r"approve| wish| confirm)|i (?:should|may|can)|it's ok|"
    r"it is|that|this|these|everything|all|to)\b|\b(?:give|share|have|get|provide|send) (?:me |us "
    r")?(?:your|the|a|an) (?:explicit |final |clear )*"
    r"(?:approval|permission|consent|go-ahead|ok|okay|confirmation|authori[sz]ation|green light|"
    r"thumbs)|\btell me to (?:go|proceed)|\blet me know to proceed|"
    r"\b(?:let (?:me|us) know|tell me|say so|(?:give|send|show|drop) (?:me|us) (?:the|a|an|your) "
    r"(?!second|moment|minute|sec\b|min\b|(?:user|full|first|last|account|member\w*|customer|login) |"
    r"e-?mail|\w*name|zip|id\b|number|address|order|details?)"
    r"\w+(?: \w+)?),? (?:and|then|so) (?:i|we)\b"
)
AS_A_RULE = re.compile(
    r"\bas a (?:general )?rule\b|\bin general\b|\bgenerally\b|\bfrom (?:all )?customers\b|"
    r"\b(?:not|never|nothing|won't|don't)\b[^.?!]*\bwithout your\b"
)
"""States a general rule: "as a rule, I need a yes", "I never change anything without your consent"."""
INVITES = re.compile(
    r"\b(?:can|could|will|would) you (?:\w+ )?(?:walk|take) me through\b|"
    r"\b(?:can|could|will|would) you (?:\w+ )?(?:describe|explain|elaborate|say more|tell me more)\b"
)
"""Invites the user to speak: "could you walk me through it?"."""
