"""Computes a prompt style's output for fixed inputs; its hash identifies the style in a run's manifest.

Unlike a hash of the source text, it does not change with a comment. The inputs cover every role, every parser
and every kind of identifier. The output does not depend on the platform or on Python's hash seed.
"""

import hashlib
import json

from nlac_bench.agents.roles.role_prompts import ComparingPrompts, Critique
from nlac_bench.agents.roles.transition import State, Transition

SAID = (
    ("message", "I am kim.ng12@example.org. Return the <|act|> lamp ~3 from #W1234567 with paypal_991."),
    ("tool", '{"user_id": "kim_ng_4411", "zip": "12345", "orders": ["#W1234567"], "status": "delivered"}'),
    ("tool", "Error: order #W7654321 not found"),
    ("invalid", "Invalid action: it is too long; write less than 4 words."),
    ("message", "Yes, for Kim Ng, to 30 Windmill Road, NB123 on 2024-05-16, code AB12CD.\nThanks, $1.50."),
    ("message", "Make it Apt 4, Reno, NV."),
)  # fmt: skip
_DONE = (
    '{"name": "get_user_details", "arguments": {"user_id": "kim_ng_4411"}}',
    "Is #W7654321 it? ~",
    "x",
    "Go on?",
)
_IDENTIFIERS = (
    "At 2024-05-15T15:00:00, to Suite 12: gift_card_12 and certificate_7000001, HAT083, 54321 ~~ ~1 ~12 34.",
    "Seattle, WA, for $1,204.50; #W0000001 and #W0000001, mia_li_3668, a.b+c@d-e.co.uk, 2024-05-15",
)  # fmt: skip
_ENDS = (
    "next: Yes; end: success",
    "end: failure",
    "end: success; then: no",
    "Outcome: success",
    "end: maybe",
)
_WRITTEN = (
    *_ENDS,
    *("", "  ", " x \n", "~0 ~1 ~~ ~99 ~1234567", "Thought: a\nAction: b", "<think>a</think>\n\nAction: b"),
    *(
        "optimal: yes",
        "optimal: yesterday",
        " optimal: no; why: it; instead: x",
        "Optimal: no",
        "optimal: maybe",
        "why; optimal: yes",
    ),
    *("Optimal: yes\nWhy: x", "Reasoning: r\nPrediction: p\nOutcome: failure", "Best: 2", "Best: 9"),
    *("1", " 2 ", "3", "0", "02", "-1", "\u0662", "100"),
    *(f"{'x' * n}; end: success" for n in (1_000, 3_900, 4_100, 21_000)),
    *(f"optimal: no; {'x' * n}" for n in (3_900, 4_100, 21_000)),
)
_HEARD = (
    *("", "   ", "[1, 2]", '{"status": "on the way"}', '{"status": 4}', '{"a": 1}', "a; b <|act|> c ~1"),
    "one two three four five six seven eight nine ten",
)


def prompt_texts(prompts: ComparingPrompts, longest: int = 100) -> list[object]:
    """Return every role's prompt with the numbers of identifiers, and the hindsight of the last step.

    Args:
        longest: turns of the longest of four conversations; it must exceed the limit of styles that shorten
            conversations.
    """
    short = _state(1)
    shown: list[object] = []
    for state in (short, _state(3), _state(len(SAID)), _state(longest)):
        critique = Critique(False, "optimal: no; why: the item_id is wrong; instead: #W1234567, 77777777")
        step = Transition(
            state=short, action=_DONE[0], reward=0.0, next_state=state, terminated=False, success=None,
            task_id="", seed=0, step=0, weight_version=0,
        )  # fmt: skip
        future = "next: a record, pending; then: Yes; end: success"
        made = (
            prompts.policy(state),
            prompts.successor(state, _DONE[1]),
            prompts.backup(step, _DONE[1], future),
            prompts.evaluator(state, _DONE[0], [future, future]),
            prompts.refiner(state, _DONE[0], critique),
            prompts.aggregator(state, _DONE[0], [future, future]),
            prompts.picker(state, [(_DONE[0], future), (_DONE[1], future)]),
        )
        everything = " ".join(text for _, text in SAID)
        shown += [[list(prompt.messages), prompt.codec.encode(everything)] for prompt in made]
        over = Transition(
            state=state, action=_DONE[1], reward=1.0, next_state=None, terminated=True, success=True,
            task_id="", seed=0, step=0, weight_version=0, last_words=SAID[-1][1],
        )  # fmt: skip
        shown.append(prompts.hindsight([over.last_words], bool(over.success)))
    return shown


def parsed_texts(prompts: ComparingPrompts) -> list[object]:
    """Return every parser's result for fixed answers, and the encoding and decoding of identifiers."""
    shown: list[object] = []
    state = _state(2)
    for written in _WRITTEN:
        critique = prompts.parse_critique(written)
        shown.append([
            prompts.parse_action(written),
            prompts.parse_refined(written),
            prompts.parse_future(written),
            None if critique is None else [critique.optimal, critique.text],
            prompts.parse_pick(written, 3),
            prompts.outcome(written),
            prompts.heard(written, state),
        ])  # fmt: skip
    shown += [
        prompts.hindsight([answer, "Go on."], success) for answer in _HEARD for success in (True, False)
    ]
    for text in _IDENTIFIERS:
        other = State(
            "twenty_questions@split", "", (), ({"role": "user", "content": text, "kind": "message"},)
        )
        prompt = prompts.policy(other)
        coded = [prompt.codec.encode(text), prompt.codec.decode("~0 ~1, ~2; ~~ ~3x ~12345 ~123456")]
        shown.append([list(prompt.messages), prompt.opening, *coded])
    paid = Transition(
        state=state, action="x", reward=0.5, next_state=_state(3), terminated=False, success=None,
        task_id="", seed=0, step=0, weight_version=0,
    )  # fmt: skip
    shown.append(list(prompts.backup(paid, "y", _ENDS[0]).messages))
    return shown


def sha256(shown: list[object]) -> str:
    """Return the hash of ``shown`` as JSON."""
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def _state(turns: int) -> State:
    """Return the state after ``turns`` messages of the environment; the conversation is repeated."""
    first = {"role": "user", "content": SAID[0][1], "kind": SAID[0][0]}
    state = State("tau_retail", "", (), (first,))
    for number in range(1, turns):
        kind, text = SAID[number % len(SAID)]
        state = state.after(_DONE[number % len(_DONE)], text, kind)
    return state
