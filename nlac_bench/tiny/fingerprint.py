"""What the model was taught to read, as one hash: it changes exactly when a prompt comes out differently."""

import hashlib
import json

from nlac_bench.agents.roles.compact import CompactPrompts, brief
from nlac_bench.agents.roles.role_prompts import Critique
from nlac_bench.agents.roles.transition import State, Transition

_SAID = (
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


def fingerprint() -> str:
    """sha256 of every role's prompt, with its numbering, on a fixed conversation."""
    prompts = CompactPrompts()
    short = _state(1)
    shown: list[object] = [brief(text) for _, text in _SAID]
    for state in (short, _state(3), _state(len(_SAID)), _state(1_200)):
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
        everything = " ".join(text for _, text in _SAID)
        shown += [[list(prompt.messages), prompt.codec.encode(everything)] for prompt in made]
        over = Transition(
            state=state, action=_DONE[1], reward=1.0, next_state=None, terminated=True, success=True,
            task_id="", seed=0, step=0, weight_version=0, last_words=_SAID[-1][1],
        )  # fmt: skip
        shown.append(prompts.hindsight([over.last_words], bool(over.success)))
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def _state(turns: int) -> State:
    """The first ``turns`` of the conversation, over and over."""
    first = {"role": "user", "content": _SAID[0][1], "kind": _SAID[0][0]}
    state = State("tau_retail", "", (), (first,))
    for number in range(1, turns):
        kind, text = _SAID[number % len(_SAID)]
        state = state.after(_DONE[number % len(_DONE)], text, kind)
    return state
