"""Which answers of the roles can be read in the chat style, and which action policy, refiner and τ read."""

import asyncio
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.agents.nlac.lesson import Encoder, Lesson
from nlac_bench.agents.nlac.nlac import replayed
from nlac_bench.agents.prompted import spoken
from nlac_bench.agents.prompts import PACKAGED, PromptFiles
from nlac_bench.agents.roles import chat_forms
from nlac_bench.agents.roles.answers import KEPT, RoleAnswers
from nlac_bench.agents.roles.auc import auc
from nlac_bench.agents.roles.chat import FILES, ChatPrompts
from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.role_prompts import Critique, Prompt, in_form
from nlac_bench.agents.roles.speaker import Action, Speaker, decoded
from nlac_bench.agents.roles.styles import chat_prompts_for, with_forms
from nlac_bench.agents.roles.transition import State, Transition
from nlac_bench.envs.tau.actions import CallAction, Message, parse_action
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling
from nlac_bench.rollout.engines.filling import Filling
from nlac_bench.rollout.engines.forms import Choice, Filled, Fixed, FormTokens, Free, check_form
from nlac_bench.types import Episode, Turn
from tests.rollout import tiny_model
from tests.timing import scans

STATE = State("demo", "be kind", (), ({"role": "user", "content": "hello", "kind": "message"},))
CHAT = ChatPrompts()


def asked(style: ChatPrompts) -> dict[str, Prompt]:
    """The prompts of all roles but the policy."""
    step = Transition(STATE, "hi", 0.0, STATE.after("hi", "no", "message"), False, None, "t", 0, 0, 0)
    return {
        "successor": style.successor(STATE, "hi"),
        "backup": style.backup(step, "bye", "Outcome: failure"),
        "evaluator": style.evaluator(STATE, "hi", ["Outcome: failure"]),
        "refiner": style.refiner(STATE, "hi", Critique(False, "Optimal: no")),
        "aggregator": style.aggregator(STATE, "hi", ["Outcome: failure"]),
        "picker": style.picker(STATE, [(str(i), "Outcome: failure") for i in range(12)]),
    }


# --- verdicts, outcomes and numbers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "optimal"),
    [
        ("Optimal: no", False),
        ("Why: it is rude\nOptimal: **yes**", True),
        ("**Optimal:** No\nInstead: greet", False),
        ("- Optimal: `yes`.", True),
        ('"Optimal": "no"', False),
        ("Optimal: no, because no greeting follows", False),
        ("Optimal: yes\nOptimal: yes", True),
        ("Optimal: yes or no", None),
        ("Optimal: yes/no", None),
        ("Optimal: **yes** or **no**", None),
        ("Optimal: yes\nOptimal: no", None),
        ("Optimal: __no__", False),
        ("__Optimal:__ yes", True),
        ("Optimal: _yes_ or _no_", None),
        ("Optimal: yes (if nothing is better) or no", None),
        ("Optimal: yes if it is optimal, no otherwise", None),
        ("Optimal: yes if it is optimal; otherwise no", None),
        ("Optimal: no, because it is not a yes or no question", False),
        ("Optimal: yes, it is a yes-or-no question", True),
        ("Optimal: yes, no other action is likelier", True),
        ("Optimal: yes; no better action exists.", True),
        ("Optimal: yes — no better action", True),
        ("2. Optimal: no", False),
        ("Optimal: yes, no", None),
        ("Optimal: yes if it helps, no if it hurts", None),
        ("Optimal: no when they ask; yes unless they refuse", None),
        ("Optimal: Yes, no doubt.", True),
        ('Optimal: yes, it asks for "yes" or "no".', True),
        ("Optimal: no, it should ask, otherwise no change is allowed", False),
        ("**Optimal:**\nyes", True),
        ("Optimal:\nInstead: yes", None),
        ("Optimal:\n- yes\n- no", None),
        ("Optimal: no, the user said no when asked", False),
        ("Optimal: no better action exists", None),
        ("Optimal: yes. No, that is wrong", None),
        ("Optimal: yes - no problem here", True),
        ("Optimal: yes, no if they agree", None),
        ("Optimal: no, yes", None),
        ("Optimal: no yes", None),
        ("Optimal: yes, no wait, it is wrong", None),
        ("Optimal: nope", None),
        ("Optimal: maybe", None),
        ("The action is optimal.", None),
        ("", None),
    ],
)
def test_verdicts(written: str, optimal: bool | None) -> None:
    critique = CHAT.parse_critique(written)
    assert (None if critique is None else critique.optimal) == optimal


@pytest.mark.parametrize(
    ("written", "outcome"),
    [
        ("It ends.\nOutcome: success", "success"),
        ("Outcome: `failure`", "failure"),
        ("**Outcome**: **Success**.", "success"),
        ("# Outcome - failure", "failure"),
        ("Outcome: _failure_", "failure"),
        ("Outcome: success or failure", None),
        ("Outcome: success\nOutcome: failure", None),
        ("Outcome: a success for all", None),
        ("Outcome: success if they agree", None),
        ("It is a success", None),
    ],
)
def test_outcomes(written: str, outcome: str | None) -> None:
    assert CHAT.outcome(written) == outcome
    assert (CHAT.parse_future(written) is None) == (outcome is None)


@pytest.mark.parametrize(
    ("written", "pick"),
    [
        ("Why: so\nBest: 2", 1),
        ("Best: **2**", 1),
        ("**Best**: 1.", 0),
        ("Best: __2__", 1),
        ("Best: Candidate 2", 1),
        ("3) Best: 2", 1),
        ("Best: candidate 1 or 2", None),
        ("Best: candidate 1 or candidate 2", None),
        ("Best: candidate 1, candidate 2", None),
        ("Best: -1", None),
        ("Best: 1 or 2", None),
        ("Best: 1, 2", None),
        ("Best: the candidate's number", None),
        ("Best: 4", None),
        ("Best: 0", None),
    ],
)
def test_picks(written: str, pick: int | None) -> None:
    assert CHAT.parse_pick(written, 3) == pick


# --- actions -----------------------------------------------------------------------------------------------

CALL = '{"name": "get", "arguments": {"id": "7"}}'


@pytest.mark.parametrize(
    ("written", "action"),
    [
        ("Thought: so\nAction: Good day.", "Good day."),
        ("**Thought**: so\n**Action**: Good day.", "Good day."),
        ("**Thought:** so **Action:** Good day.", "Good day."),
        ("__Thought__: so\n__Action__: Good day.", "Good day."),
        ("__Thought:__ so\n__Action:__ Good day.", "Good day."),
        ("thought: so\nACTION: Good day.", "Good day."),
        ("Thought: so\nAction: Good day.\nAction: Bye.", "Good day."),
        ("Thought: so\nAction: Good day.\nObservation: Bye.\nThought: x", "Good day."),
        ("Thought: so\nAction: Good day.\nUser: Bye.", "Good day."),
        ("```\nThought: so\nAction: Good day.\n```", "Good day."),
        ("Thought: so\nAction:\nAction: Good day.", "Good day."),
        ('Thought: say "Action: x"? no\nAction: Good day.', "Good day."),
        ("Action: Good day.", "Good day."),
    ],
)
def test_policy_refiner_and_tau_agree_on_the_action(written: str, action: str) -> None:
    """The first action counts."""
    played = CHAT.parse_action(written)
    assert played is not None and CHAT.heard(played, STATE) == action == spoken(written)
    refined = CHAT.parse_refined(written)
    assert refined is not None and CHAT.heard(refined, STATE) == action
    if not written.startswith("```"):
        assert parse_action(played) == Message(action) == parse_action(refined)
    assert "Bye" not in played + refined


@pytest.mark.parametrize(
    "written",
    [
        f"Thought: so\nAction: {CALL}",
        f"**Thought**: so … **Action**: {CALL}",
        f"**Thought:** so\n\n**Action:** ```json\n{CALL}\n```",
        f"thought: so\naction: {CALL}\nAction: other",
        f"Thought: so\nAction: {CALL}\nObservation: none",
        f"Sure!\nAction: {CALL}",
    ],
)
def test_calls_in_reacts_form_are_not_said_to_the_user(written: str) -> None:
    call = CallAction("get", {"id": "7"})
    assert parse_action(written) == call
    played, refined = CHAT.parse_action(written), CHAT.parse_refined(written)
    assert played is not None and refined is not None
    assert parse_action(played) == call == parse_action(refined)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "Thought: so",
        "Thought: so\nAction:",
        "Action: …",
        "Action: <the action>",
        "Action: **<the action>**",
        "Action: `<the action>`.",
        "Action: {action}",
        "Action: [action]",
        "Action: **[Your next action here]**",
        "Action: the one action",
        "It is rude.",
    ],
)
def test_without_an_action_nothing_is_refined(written: str) -> None:
    assert CHAT.parse_refined(written) is None


@pytest.mark.parametrize(
    "action",
    [
        "[rock]", "[your new order]", "[next]", "Is your action rude?", "**[rock]**", "{1, 2}", "<5 m",
        '{"name": "get", "arguments": {}}',
    ],
)  # fmt: skip
def test_actions_in_brackets_are_no_placeholders(action: str) -> None:
    assert CHAT.parse_refined(f"Thought: so\nAction: {action}") is not None


def test_a_refined_action_has_the_form_of_the_policys_prompt(tmp_path: Path) -> None:
    """Some environments ask for the action alone."""
    (tmp_path / "react_plain.txt").write_text("{policy}")
    files, written = PromptFiles((tmp_path,)), "Thought: so\nAction: 22"
    assert ChatPrompts(files=files).parse_refined(written) == "22"
    assert ChatPrompts(files=files, thinking="first").parse_refined(written) == "<think>\nso\n</think>\n\n22"
    assert CHAT.parse_refined(written) == written


def test_copies_of_a_prompt_are_unreadable() -> None:
    """Placeholders of the policy's prompt, and the examples of the roles'."""
    free = CHAT.with_forms(False)
    examples = {
        role: str(prompt.messages[-1]["content"]).rpartition("tickets")[2].partition("\n")[2]
        for role, prompt in asked(free).items()
    }
    parsers: dict[str, Any] = {
        "successor": free.parse_future, "backup": free.parse_future, "aggregator": free.parse_future,
        "evaluator": free.parse_critique, "refiner": free.parse_refined,
    }  # fmt: skip
    for role, parse in parsers.items():
        assert examples[role] and parse(examples[role]) is None, role
        lines = examples[role].splitlines()
        below = "\n".join(line.replace(": ", ":\n", 1) if i == 0 else line for i, line in enumerate(lines))
        assert parse(below) is None and parse(f"1. {examples[role]}") is None, role
        other = [x if x.startswith(("Outcome", "Optimal")) else f"{x} Indeed." for x in lines]
        assert parse("\n".join(other)) is not None, role
        if role != "refiner":  # without its label; the last line of the evaluator's example may stay away
            first = lines[0].partition(": ")[2]
            assert parse("\n".join([first, *other[1:]])) is None, role
    for copy in (
        "Reasoning:\nPrediction: <prediction>\nOutcome: success",
        "Prediction:\n<what>\nOutcome: success",
    ):
        assert CHAT.parse_future(copy) is None
    instead = next(line for line in examples["evaluator"].splitlines() if line.startswith("Instead"))
    assert free.parse_critique(f"Why:\n{instead}\nOptimal: no") is None
    assert free.parse_critique("Why:\nIt is rude.\nOptimal: no\nInstead:\ngreet") is not None
    call = '{"name": "tool_name", "arguments": {"argument": "value"}}'
    for said in ("what you say", "the one thing you do", call):
        assert f"Action: {said}" in PACKAGED.load("react_plain") + PACKAGED.load("react_tools")
        assert CHAT.parse_action(f"Thought: so\nAction: {said}") is None
        assert CHAT.parse_refined(f"Thought: so\nAction: {said}") is None


@pytest.mark.parametrize(
    "part", [" ", "*", "_", "`", "\n", "Optimal: ", "\nOutcome:", "Action: ", "\nAction:", "> "]
)
def test_reading_takes_linear_time(part: str) -> None:
    text = part * (19_000 // len(part))
    parsers = (CHAT.parse_action, CHAT.parse_refined, CHAT.parse_future, CHAT.parse_critique, parse_action)
    assert scans(lambda: [parse(text) for parse in parsers], text) < 300


# --- prompts and forms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("filled", [True, False])
def test_role_prompts_have_a_system_message_and_tags(filled: bool) -> None:
    for role, prompt in asked(ChatPrompts(filled=filled)).items():
        system, user = prompt.messages
        assert (system["role"], user["role"]) == ("system", "user")
        text = str(user["content"])
        assert "<instructions>\nbe kind" in text and "</instructions>" in text, role
        assert ("An example of the form" in text) == (not filled)
        assert (prompt.form is not None) == filled


@pytest.mark.parametrize("thinking", ["never", "perhaps", "first", "opened"])
def test_answers_in_a_form_can_be_read(thinking: chat_forms.Thinking) -> None:
    style = ChatPrompts(thinking)
    readers: dict[str, Any] = {
        "successor": style.parse_future, "backup": style.parse_future, "aggregator": style.parse_future,
        "evaluator": style.parse_critique, "refiner": style.parse_refined,
        "picker": lambda text: style.parse_pick(text, 12),
    }  # fmt: skip
    for role, prompt in asked(style).items():
        assert prompt.form is not None
        check_form(prompt.form)
        for last in (0, -1):
            parts = [
                segment.text if isinstance(segment, Fixed)
                else segment.options[last] if isinstance(segment, Choice)
                else " as it is known"
                for segment in prompt.form
            ]  # fmt: skip
            answer = readers[role](prompt.opening + "".join(parts))
            assert answer is not None, role
            assert ("<think>" in str(answer)) == (
                style.thinks and role in ("backup", "aggregator", "refiner")
            )
    forms = [prompt.form for prompt in asked(style).values()]
    assert all(isinstance((form or ())[thinking != "opened"], Free) for form in forms)


CALL = '{"name": "look", "arguments": {}}'
THOUGHT = "<think>\n\n</think>\n\n"


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (Turn("is it red?", "no"), "{thought}Action: is it red?"),  # of a scripted agent
        (Turn(CALL, "no", info={"full_text": "Let me look."}), f"{{thought}}Action: {CALL}"),  # a native call
        (Turn(CALL, "no", info={"full_text": ""}), f"{{thought}}Action: {CALL}"),
        (Turn(f"Thought: so\nAction: {CALL}", "no"), None),  # whole replies, as react passes them with tools
        (Turn("is it red?", "no", info={"full_text": "I wonder. Action: is it red?"}), None),
        (Turn(CALL, "no", info={"full_text": f"<think>\nso\n</think>\n\n{CALL}"}), None),
    ],
)
def test_recorded_actions_get_the_form_of_replies(turn: Turn, said: str | None) -> None:
    for style, thought in ((CHAT, ""), (ChatPrompts("first"), THOUGHT)):
        mine = deepcopy(turn)
        in_form([Episode("demo", "t", 0, 0, "hello", [mine])], style)
        if said is None:
            assert mine == turn
        else:
            reply = mine.info["full_text"]
            assert reply == said.replace("{thought}", thought) and style.heard(str(reply), STATE) == turn.text
    compact = deepcopy(turn)
    in_form([Episode("demo", "t", 0, 0, "hello", [compact])], CompactPrompts())
    assert turn.text in str(compact.info.get("full_text", compact.text))


def test_the_setting_forms_changes_the_chat_style_only() -> None:
    compact = CompactPrompts()
    assert with_forms(compact, "free") is compact
    one = with_forms(CHAT, "filled", one_line=True)
    assert one.successor(STATE, "hi").form == CHAT.successor(STATE, "hi").form
    lines = [style.refiner(STATE, "hi", Critique(False, "")).form for style in (one, CHAT)]
    assert lines[0] == chat_forms.refiner(True) and lines[1] == chat_forms.refiner(False)
    free = with_forms(ChatPrompts(thinking="opened"), "free")
    assert free.successor(STATE, "hi").form is None and free.successor(STATE, "hi").opening == "<think>\n"
    assert free.hashes() == CHAT.hashes() and set(free.hashes()) == set(FILES)


@pytest.mark.parametrize("target", ["Prediction: it ends.\nOutcome: success", CHAT.hindsight(["bye"], False)])
def test_l1_covers_what_the_successor_samples(target: str) -> None:
    """Not the fixed words; without forms the whole answer."""
    tokenizer, step = tiny_model.tokenizer(), Transition(STATE, "hi", 0.0, None, True, True, "t", 0, 0, 0)
    speaker: Any = None
    lesson, masked = Lesson(step, 0.5, speaker, target=target), {}
    for filled in (True, False):
        encoder = Encoder(tokenizer, CHAT.with_forms(filled), 4096, 512)
        sequence = encoder.critic(lesson, group=3)
        assert sequence is not None and (sequence.weight, sequence.group_id) == (0.5, 3)
        text = tokenizer.decode(sequence.ids)
        assert text.endswith(f"{target}<|im_end|>")
        learned = [i for i, own in zip(sequence.ids, sequence.loss_mask, strict=True) if own]
        masked[filled] = tokenizer.decode(learned)
        assert bool(sequence.restricted) == filled
    assert masked[False] == f"{target}<|im_end|>"
    said, _, outcome = target.removeprefix("Prediction:").partition("\nOutcome:")
    assert masked[True].startswith(f"{said}\n")
    chosen = masked[True].removeprefix(f"{said}\n")  # the first token in which the two outcomes differ
    assert chosen and outcome.strip().startswith(chosen)


@pytest.mark.parametrize(
    ("one_line", "rest", "kept"),
    [
        (True, "\n", False),
        (True, " on" * 200, False),
        (False, "\nObservation:", False),
        (True, "<|im_end|>", True),
        (False, "<|endoftext|>", True),
    ],
)
def test_the_policy_learns_to_end_a_refined_action_with_an_end_token(
    one_line: bool, rest: str, kept: bool
) -> None:
    """Whether the refiner's answer ended with one of the model's end tokens, or at a stop string or limit."""
    tokenizer, style = tiny_model.tokenizer(), CHAT.with_forms(True, one_line)
    prompt = style.refiner(STATE, "hi", Critique(False, "Optimal: no"))
    ends = frozenset(tokenizer(t)["input_ids"][0] for t in ("<|im_end|>", "<|endoftext|>"))
    filling = Filling(FormTokens(prompt.form or (), tokenizer), 400, ends)
    left = tokenizer(f" so\n go{rest}")["input_ids"]
    while filling.finish is None:
        filling.take(filling.given[0] if filling.given else left.pop(0), 0.0)
    sample = Sample(filling.text(), "stop", ids=filling.ids, filled=filling.filled)
    text = style.parse_refined(decoded(prompt, sample))
    assert filling.finish == "stop" and text is not None and text.startswith("Thought: so\nAction: go")
    speaker: Any = None
    step = Transition(STATE, "hi", 0.0, None, True, True, "t", 0, 0, 0)
    lesson = Lesson(step, 1.0, speaker, proposed=Action(text, sample))
    sequence = Encoder(tokenizer, style, 4096, 512).policy(lesson, 0)
    assert sequence is not None
    learned = [i for i, own in zip(sequence.ids, sequence.loss_mask, strict=True) if own]
    assert tokenizer.decode(learned) == text + (rest if kept else "<|im_end|>")
    if kept:
        assert learned == filling.ids


def test_what_was_written_without_a_form_is_learned_as_it_was_sampled() -> None:
    """A played action that was cut has no end token."""
    tokenizer, style = tiny_model.tokenizer(), CompactPrompts()
    step = Transition(
        STATE, "go", 0.0, None, True, True, "t", 0, 0, 0, action_ids=tokenizer("go")["input_ids"]
    )
    speaker: Any = None
    for prompts, end in ((style, ""), (CHAT, "<|im_end|>")):
        lesson = Lesson(step, 1.0, speaker)
        asyncio.run(replayed(lesson))
        sequence = Encoder(tokenizer, prompts, 4096, 512).policy(lesson, 0)
        assert sequence is not None and tokenizer.decode(sequence.ids).endswith(f"go{end}")


# --- what is counted and kept ------------------------------------------------------------------------------


class Chooses:
    """An engine that answers every request in its form, with P(yes) = P(success) = 0.2."""

    tokenizer = None

    def __init__(self, *words: str) -> None:
        self.words = words

    async def sample(self, request: SampleRequest) -> list[Sample]:
        asked = {chat_forms.EVALUATOR: "Why: x\nOptimal:", chat_forms.SUCCESSOR: "Prediction: x\nOutcome:"}
        assert request.form is not None
        return [
            Sample(f"{asked[request.form]} {word}", "stop", filled=Filled(chosen=[(f" {word}", math.log(p))]))
            for word in self.words
            for p in [0.2 if word in ("yes", "success") else 0.8]
        ]

    async def logprobs(self, ids: Any, prompt_len: int, slot: Any = "policy") -> list[float]:
        raise NotImplementedError


@pytest.mark.parametrize("verdict", ["yes", "no"])
def test_a_critique_has_the_probability_of_yes(verdict: str) -> None:
    answers = RoleAnswers()
    speaker = Speaker(Chooses(verdict), CHAT, Sampling(), Sampling(), 0, answers)
    critique = asyncio.run(speaker.critique(STATE, "hi", ["Outcome: failure"]))
    assert critique is not None and critique.probability == pytest.approx(0.2) == critique.score
    assert critique.optimal == (verdict == "yes") and Critique(True, "").score == 1
    (kept,) = answers.taken(3)
    assert (kept.iteration, kept.role, kept.readable) == (3, "evaluator", True)


def test_futures_have_the_probability_of_success() -> None:
    speaker = Speaker(Chooses("success", "failure"), CHAT, Sampling(), Sampling(), 0, RoleAnswers())
    first, second = asyncio.run(speaker.futures(STATE, "hi", n=2))
    assert first.text.endswith("Outcome: success") and second.text.endswith("Outcome: failure")
    assert first.success == pytest.approx(0.2) == second.success


def test_answers_of_every_role_are_kept_readable_or_not() -> None:
    answers = RoleAnswers()
    for i in range(500):
        answers.note("evaluator", i % 2 == 0, "stop", f"e{i}")
        answers.note("refiner", False, "length", f"r{i}")
    assert answers["evaluator"] == 500 and answers["evaluator/unparseable"] == 250
    kept = answers.taken(1)
    assert len(kept) == KEPT and {r.role for r in kept} == {"evaluator", "refiner"}
    assert len({r.text for r in kept}) == KEPT and max(int(r.text[1:]) for r in kept) > 300
    assert not answers.taken(2) and answers["refiner"] == 500  # counts are cleared with the metrics


def test_auc_of_graded_scores() -> None:
    assert auc([0.1, 0.4, 0.35, 0.8], [False, False, True, True]) == 0.75
    assert auc([0.5, 0.5], [True, False]) == 0.5 and auc([0.5], [True]) is None
    yes_no = [1.0, 0.0, 1.0, 1.0]  # the mean of the hit rates
    assert auc(yes_no, [True, True, False, False]) == (0.5 + 0.0) / 2


TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content.split('</think>')[-1] }}{% endfor %}"
NO_SYSTEM = "{{ raise_exception('no system') if messages[0].role == 'system' }}"


def asking(end: str) -> str:
    return "{% if add_generation_prompt %}<|assistant|>" + end + "{% endif %}"


SWITCH = "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"


@pytest.mark.parametrize(
    ("template", "thinking"),
    [
        (None, "never"),
        (TURNS.replace(".split('</think>')[-1]", "") + asking(""), "never"),
        (TURNS + asking(""), "perhaps"),
        (TURNS + asking("</think>"), "never"),
        (TURNS + asking("<think>\n\n</think>\n\n"), "never"),
        (TURNS + asking("<think>\n"), "opened"),
        (TURNS + asking(SWITCH), "first"),
        (TURNS + asking("{% if not enable_thinking %}</think>{% else %}<think>{% endif %}"), "never"),
        (TURNS + asking("{% if enable_thinking %}<think>{% endif %}"), "perhaps"),
        (TURNS + asking("<thought>\n"), "marked"),
        (TURNS + asking("<|START_THINKING|>"), "marked"),
        ("Think in [THINK] and [/THINK]." + TURNS + asking(""), "marked"),
        ("{# <|channel|>analysis #}" + TURNS + asking(""), "marked"),
        (NO_SYSTEM + TURNS + asking("<think>"), "opened"),
    ],
)
def test_how_a_model_thinks_is_read_from_its_prompts(
    template: str | None, thinking: chat_forms.Thinking
) -> None:
    tokenizer = deepcopy(tiny_model.tokenizer())
    tokenizer.chat_template = template
    assert chat_forms.thinking(tokenizer) == thinking
    style = chat_prompts_for(tokenizer, PACKAGED, "react")
    assert style.thinks == (thinking in ("first", "opened")) and style.filled == (thinking != "marked")
    assert with_forms(style, "filled").hashes() == style.hashes()
    form = chat_forms.policy(thinking)
    assert (form is None) == (thinking == "marked")


def test_the_policys_thought_is_skipped_unless_it_begins() -> None:
    tokenizer = tiny_model.tokenizer()
    acts = "Thought: a\nAction: go"
    thought = "<think>a\nAction: b\nUser: c</think>"
    for text, kept in (
        (f"{acts}\nUser: no", acts),
        (f"{thought}{acts}\nUser: no", f"{thought}{acts}"),
        (f"<thi {acts}\nAction: more", f"<thi {acts}"),
    ):
        filling = Filling(FormTokens(chat_forms.policy("first") or (), tokenizer), 200)
        for token in tokenizer(text)["input_ids"]:
            assert filling.finish is None and 0 < filling.ahead <= filling.room <= 200
            filling.take(token, 0.0)
            if filling.finish:
                break
        assert (filling.finish, filling.text()) == ("stop", kept)
