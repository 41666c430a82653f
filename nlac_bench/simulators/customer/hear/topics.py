"""Lists what agents ask about: the topics of questions, by the nouns and phrases that name them."""

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby


def any_of(*alternatives: str) -> re.Pattern[str]:
    """Return a pattern that matches what the first fitting of ``alternatives`` matches.

    Successive alternatives that begin with the same anchor share it. The search then rejects most places of a
    text after one test instead of one for each alternative, and takes half of the time.
    """
    parts = []
    for anchor, group in groupby(alternatives, _anchor):
        rests = "|".join(each.removeprefix(anchor) for each in group)
        parts.append(f"{anchor}(?:{rests})" if anchor else rests)
    return re.compile("|".join(parts))


def _anchor(pattern: str) -> str:
    """Return the anchor with which every match of ``pattern`` begins, or an empty text."""
    rest = re.sub(r"\\.|\[(?:\\.|[^]\\])*\]", "", pattern)
    while (inner := re.sub(r"\([^()]*\)", "", rest)) != rest:
        rest = inner
    return next((each for each in (r"\b", "^") if pattern.startswith(each) and "|" not in rest), "")


def compiled(patterns: Mapping[str, str]) -> Mapping[str, re.Pattern[str]]:
    """Return ``patterns`` with each expression compiled."""
    return {name: re.compile(pattern) for name, pattern in patterns.items()}


TOPICS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("email", any_of(
        r"(?<!'ll )(?<!will )(?<!would )(?<!shall )\be-?mails?\b",
        r"\bmail address", r"\b(which|what) (inbox|mailbox)",
    )),
    ("zip", any_of(
        r"\bzip ?codes?\b(?!: (?:left|right))", (
            r"(?<!left )(?<!right )\bzip\b(?!: (?:left|right) zip)(?= *(?:$|[?,.!)/:;&]|and\b|or\b|"
            r"please|plus|works|is\b|on\b))"
        ), r"\bpost(al)? ?code",
    )),
    ("name", any_of(
        r"\b(full|first|last|your|sur|family) ?names?\b", r"\bname (and|on|\+|&)",
        r"\bwhom? (am|do|have) i\b.*\b(speak|talk|chat|pleasure|assist|help)",
    )),
    ("user_id", any_of(
        r"\b(user|customer|client|account|profile|member|membership|loyalty|login|log-in|"
        r"frequent flyer)[ _-]?(id|number|no\b|name|"
        r"identifier|identification)\b", r"\busername\b",
        r"\b(id|identifier|number) (of|for|on|to|from|under) (your|the|my) (\w+ ){0,2}(account|profile|"
        r"membership)\b",
        r"\byour id\b(?! (card|document))", r"\bid (that |which )?you (log|sign) in\b",
    )),
    ("identity", any_of(
        r"\bwhose (account|profile|order|booking|reservation)\b",
        r"\bidentity\b", r"\bauthenticat", r"(?<!for your )\bverif(y|ication)\b.*\b(you|account)",
        r"\blocate your (account|profile)", r"\b(find|pull up|look up|access) your (account|profile)",
        r"\bwho (are )?you\b", r"^(and )?you('re| are)\W*\?",
        r"\bwho('s| is) (this|that)\b(?! for)", r"\bwho (do|have) i\b.*\bpleasure\b", (
            r"\bwhom?\b.{0,30}\b(speaking|talking|chatting|writing|helping|assisting)\b"
        ), r"\bidentify you",
    )),
    ("record", any_of(
        r"\border ?(id|number|no\b|nr|#(?!w?\d))", r"\b(which|what) orders?\b",
        r"\b(id|number) of (the|your) order",
        r"\b(orders?|reservations?|bookings?|trips?) (that )?(it|this|that) (concerns|affects|is (about"
        r"|for))\b",
        r"\b(reservation|booking|confirmation) ?(id|number|code|reference|ref|#)",
        r"\b(which|what) (reservation|booking|trip)", r"\border do you mean", (
            r"\b(orders?|reservations?|bookings?|trips?) (you|that you|in question)\b"
        ),
        r"\bwhat (is it )?(exactly )?(that )?((would|do) you|you|you'd) (like|want|wish|need) to cancel",
        r"\bw-?number", r"\border\?",
        r"\b(items?|products?) and orders?\b", r"\bwhich (one )?of (them|these|those|your)\b",
    )),
    ("items", any_of(
        r"\b(which|what|name the|list the|list all|specific) (\w+ ){0,2}(item|product|article|thing)s?\b",
        r"\bwhich (of (these|those|them)|ones)\b", r"\bitems? (id|you|to|do|would|should|need)",
        r"\bwhat (exactly )?(would|do) you (like|want|wish) to (return|exchange|swap|send|change|modify)",
        r"\bwhat (exactly )?(is it )?(that )?you('d| would)? (like|want|wish|need|have) to (return|"
        r"exchange|swap|send|"
        r"change|modify)",
        r"\bproducts? (you|to|do)", r"^\W*(\d\W+)?(the )?(items?|products?)\?",
    )),
    ("options", any_of(
        r"\b(options?|variants?|specification|specs?|configuration|replacement|new items?|"
        r"versions?|colou?rs?|sizes?|models?|styles?|features?|instead|exchange (it|them|this|"
        r"that) for|changed? (it|them) to|(it|them|this|that|these) (changed|switched|moved) (to|"
        r"into)|swap(ped)? (it|them)? ?for)\b",
    )),
    ("items", any_of(r"\b(?:only|just) (?:some|part|certain|a few|a couple)\b(?! (?:time|more|minutes|"
    r"moments))",)),
    ("reason", any_of(
        r"\breasons?\b", r"\bis it because\b", r"\bwhy\b", r"\bcauses?\b", r"\bhow come\b",
        r"\bwhat (?:prompted|made you|led you|caused)\b", (
            r"\bwhat (exactly )?(happened|went wrong)\b"
        ), r"\bmistake\b", r"\bno longer need",
    )),
    ("payment", any_of(
        r"\bpay(s|ing|ment|ments)?\b", r"\bmoney\b", r"\brefund(ed)?\b", r"\bmethods?\b", r"\bpaypal\b",
        r"\bgift card",
        r"\bcredit card", r"\bcards?\b", r"\bcertificate", r"\bcharg(e|ed|es|ing)\b", r"\bsettle\b",
        r"\bbe paid\b",
        r"\b(price|fare|cost) difference", r"\bdifference in (price|fare|cost)",
    )),
    ("address", any_of(
        r"\baddress", r"\bstreet", r"\bcity\b", r"\bship(ped|ping)?\b.*\b(to|where)",
        r"\bwhere (should|to|do you want)",
    )),
    ("cabin", any_of(
        r"\bcabin", r"\bclass\b", r"\beconomy", r"\bbusiness", r"\bwhere would you like to sit\b",
    )),
    ("flights", any_of(
        r"\b(which|what|preferred|choose|prefer|flight) (\w+ ){0,2}(flights?|number(?! of)|option|itinerary)",
        r"\bflight numbers?", r"\bwhich (one|of)", r"\bflights? (would|do|should|you(?:'d)? (?:want|wish|"
        r"like|prefer|need|"
        r"desire))", r"\bnew flights?",
    )),
    ("date", any_of(
        r"\bdates?\b(?! of birth)", r"\bwhen\b", r"\bwhat day", r"\btravel day", r"\bwhich day",
        r"\bday (?:that |on which )?(?:you|of (?:travel|departure))\b",
    )),
    ("route", any_of(
        r"\borigin", r"\bdestination", r"\bdepart(ing|ure)?\b", r"\bairports?\b",
        r"\bwhere (are|do|would|to|from)", r"\bfrom where", r"\barriv",
    )),
    ("trip", any_of(
        r"\bone[- ]?way", r"\bround[- ]?trip", r"\btrip type", r"\btype of trip",
    )),
    ("passengers", any_of(
        r"\bpassengers?", r"\btravell?ers?", r"\bpeople\b", (
            r"\bwho (is|will|are|is going|should)\b(?! (this|that|you|speaking|writing)\b)"
        ),
        r"\bis it (?:just|only) (?:for )?you\b", r"\b(?:any|some)(?:one|body) else\b.*\b(?:com|join)",
        r"\btravell?ing\b", r"\bwho(?:'s|'ll be) (?:all )?(?:coming|flying|going|joining)\b",
    )),
    ("passengers", any_of(
        r"\bbirth", r"\bdob\b", r"\bd\.o\.b",
    )),
    ("bags", any_of(
        r"\bbags?\b", r"\bbaggages?\b", r"\bluggage", r"\bsuitcases?",
        r"\bhow many(?: more| extra| additional)?(?: ones| of them)?(?= (?:would|do|should|shall|will|are|in|"
        r"altogether|overall|you)\b|\W*$|,)"
        r"(?!.*\b(?:fly|flying|travel\w*|people|passengers?|tickets?|seats?|party|guests?|join|come|coming|"
        r"of you)\b)",
        r"\bwhat(?:'s| is) the total (?:number|you)\b",
    )),
    ("insurance", any_of(
        r"\binsur",
    )),
    ("request", any_of(
        r"\bwhat (seems|appears|would seem) to be\b", r"\b(be of|at your) (service|help|assistance)\b",
        r"\bon your mind\b", r"\bwhat('s| is| was) (it|this|that) (all )?(about|that you)", r"\bwalk "
        r"me through\b",
        r"\bgo on\b", r"\ball ears\b|\bi'm listening\b", r"\bdescribe\b.*\b(concern|issue|problem|"
        r"request|situation)",
        r"^((ok|okay|yes|sure|please|alright|right|great)\W+)*(shoot|continue|carry on|proceed)\W*$",
        r"\bwhat('s| is) (up|going on|wrong|the (matter|issue|problem|trouble|story))\b",
        r"\b(how|what|anything).*\b(can|may|could) (i|we) (help|assist|do)",
        r"\bwhat (is|was) your (request|issue|question)",
        r"\bwhat (would|do) you (like|want|need)( me)?( to do)?\??$", r"\bhow can i\b", (
            r"\bwhat (is it )?(exactly )?(that )?((would|do) you|you('d| would)?) (like|want|wish|need)"
            r"( me)? to (know|ask|find out|learn|look up)"
        ), r"\byour question\b", r"\b(ask (it|away|me)|fire away)\b",
        r"\bwhat (exactly |precisely )?(it is )?(that )?((would|do) you|you('d| would)?) (like|want|wish"
        r"|need)"
        r"( me)?"
        r"( to (have|do|get)| us)?( \w+)?( (changed|modified|done|updated|cancelled|"
        r"returned|exchanged|booked))?( (in|with|about|on|to) (it|this|that|them))?\W*$",
        r"\bwhat (should|would|needs to|must|has to) (be|become) different\b",
        r"\bmore (detail|information|info)", r"\bdetails (about|of|on) (your|the|what)", r"\bwhat brings",
        r"\bwhat do you mean", (
            r"\bwhat (exactly )?(would|can|do|may|should) .*\bdo\b"
        ), r"\bcan you (clarify|explain|elaborate)", r"\bclarif(y|ication)",
    )),
    ("complete", any_of(
        r"\ball (of )?(the )?items\b", r"\bevery(thing| item)", r"\bcomplete list",
        r"\bany (other|more) items?\b", r"\b(anything|something) else (to|in|from|you)",
        r"\bis that (all|everything)", r"\bthat's (all|everything)",
    )),
)  # fmt: skip
"""Topics of questions."""


@lru_cache(maxsize=1024)  # several patterns are searched in each sentence, and agents repeat their sentences
def topics(text: str) -> frozenset[str]:
    """Return the topics that ``text`` names."""
    return frozenset(topic for topic, asked in TOPICS if asked.search(text))
