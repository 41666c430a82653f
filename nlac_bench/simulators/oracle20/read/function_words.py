"""Lists the function words of the grammar. Verbs are given by their stems (``words.verb_key``)."""

from nlac_bench.simulators.oracle20.find.words import word_set

BE = word_set("is are was were be been am")
MODALS = word_set("can could would will may might must should shall do does did")
DETERMINERS = word_set("a its")
NEGATIONS = word_set("not n't non")
DENIALS = word_set("not n't no neither nor without lack lacks")
TURNS = word_set(
    "or and , not n't no without than but except neither nor rather instead only fake as like roughly"
)
"""Words that negate what follows them, or add an alternative to it."""
PREPOSITIONS = word_set(
    """in on at near around under outside along above below over through across during beside from to behind
    by inside"""
)
NEAR = word_set("near around beside along behind above below")
PLACE_ADVERBS = word_set("indoors outdoors outside underwater underground indoor outdoor inside")
VAGUE = word_set(
    """typical average ordinary normal standard most many every all common regular modern other different
    various certain whole personal general basic american western"""
)
"""Adjectives that do not change the meaning of a place or a thing."""
GENERIC = word_set("thing one product device equipment physical tangible concrete material")
THINGS = word_set("thing one product")

PROPERTY_NOUNS = word_set("color shape size texture temperature material")
SENSED_NOUNS = word_set("shape color texture taste surface flavor")
PURPOSE_NOUNS = word_set("purpose activity reason use task purposes activities")
SETTING_NOUNS = word_set("setting environment area itself place settings")
SUBSTANCE_NOUNS = word_set("material materials substance part parts")
KINDS_OF_GROUP = word_set("family category group class kingdom")
COUNTED_STEMS = word_set("leg wheel string ear arm wing ey")

USED = word_set(
    "used useful helpful needed necessary intended designed meant good suitable needed employed"
)  # fmt: skip
MADE = word_set(
    "made built constructed composed comprised crafted manufactured created woven formed"
)  # fmt: skip
WHOLLY = word_set("entirely completely wholly fully totally solely exclusively")
FOUND = word_set(
    """found kept located stored seen placed sold bought grown living native present available encountered
    hung situated displayed played performed growing lives sitting set left put mounted worn"""
)
DRIVEN = word_set("powered run operated driven fueled charged propelled moved controlled")
RELATED = word_set("related connected associated linked involved relevant tied")

TO_HAVE = word_set("hav contain includ featur possess")
TO_NEED = word_set("need us run work tak consum operat rely depend function")
TO_WORK = word_set("work function operat run mov us be surviv liv grow thriv exist")
TO_LIVE = word_set("liv grow belong go resid dwel com originat exist occur sit stand stay inhabit appear")
TO_HELP = word_set("help allow let enabl")
HURTING = word_set("hurt harm injur kill burn")
"""Verbs whose meaning depends on a clause such as "if you step on it"."""
TO_SEEM = word_set("look seem appear feel tast smel")
TO_CARRY = word_set("carry transport hold seat fit tak accommodat")
TO_CALL = word_set("call consider describe classify categorize say think label")
TO_OWN = word_set("us own hav lik need enjoy")
TO_FIND = word_set(
    "find see buy get keep stor put hav plac encounter expect look locat leav own spot grow play"
)  # fmt: skip
WANTING = word_set("need want have like expect tend able")
ALLOWED = word_set("able allowed likely expected supposed")
