"""A bandit on one screen: see a colour, press the button that belongs to it. Words are tokens."""

import functools
import random
from collections.abc import Sequence
from typing import Any

import gymnasium
import pytest
import torch

from nlac_bench.agents.roles.compact import ACT, BACKUP, CRITIQUE, FUTURE, MARKS, PICK, REFINE, USER
from nlac_bench.envs import Outcome, TextEnv
from tests.once import made_once

COLOURS = ("red", "blue")
PANEL = 4
"""Buttons of each colour."""
BUTTONS = {colour: tuple(f"{colour}-{i}" for i in range(PANEL)) for colour in COLOURS}
CHANCE = 1 / PANEL
_RIGHT, _WRONG = "next: right; end: success", "next: wrong; end: failure"
_YES, _NO = "optimal: yes", "optimal: no; why: wrong"
_WORDS = sorted({word for text in (_RIGHT, _WRONG, _YES, _NO, "then: 1 2 3 4") for word in text.split()})


class Signal(TextEnv):
    """Each colour has a panel of buttons, of which one is right; any other word presses one of them too, so
    that a model which knows no word has the chance of one in four. With ``shuffled`` it is luck."""

    name = "signal"
    max_steps = 1

    def __init__(self, split: str = "train", render_mode: str | None = None, shuffled: bool = False) -> None:
        ids = tuple(f"{colour}-{i}" for i in range(16) for colour in COLOURS)
        super().__init__(task_ids=ids, split=split, render_mode=render_mode)
        self.shuffled = shuffled

    async def _begin(self, task_id: str) -> str:
        self._state = _State(task_id.partition("-")[0])
        return self._state.colour

    async def _respond(self, action: str) -> Outcome:
        right = pressed(self._state.colour, action) == self.oracle_action()
        success = bool(self.np_random.random() < CHANCE) if self.shuffled else right
        return Outcome(
            "right" if success else "wrong",
            reward=float(success),
            end_reason="success" if success else "failure",
            success=success,
        )

    def oracle_action(self) -> str:
        return right_button(self._state.colour)


gymnasium.register("signal", entry_point="tests.baselines.signal_env:Signal")


def right_button(colour: str) -> str:
    """Colour number i wants its button number i."""
    return BUTTONS[colour][COLOURS.index(colour)]


def pressed(colour: str, action: str) -> str:
    """The button that the first word of ``action`` presses on the panel of ``colour``."""
    word = " ".join(action.split()[:1])
    return word if word in BUTTONS[colour] else BUTTONS[colour][sum(map(ord, word)) % PANEL]


class _State:
    def __init__(self, colour: str) -> None:
        self.colour = colour

    def copy(self) -> "_State":
        return _State(self.colour)


def tokenizer() -> Any:
    """One token a word."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<|pad|>", "<|end|>", "<|unknown|>", *MARKS, "<|signal|>"]
    words = dict.fromkeys([*special, *COLOURS, *sum(BUTTONS.values(), ()), "right", "wrong", *_WORDS])
    vocabulary = {token: i for i, token in enumerate(words)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<|unknown|>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.decoder = decoders.WordPiece(prefix=" ", cleanup=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token="<|end|>",
        pad_token="<|pad|>",
        unk_token="<|unknown|>",
        additional_special_tokens=special[3:],
        chat_template="{% for message in messages %}{{ message['content'] }}{% endfor %}",
        clean_up_tokenization_spaces=False,
    )


def random_model(seed: int = 0, family: str = "Qwen2") -> Any:
    """A small model with random weights of a ``family`` of transformers."""
    import transformers

    torch.manual_seed(seed)
    config = getattr(transformers, f"{family}Config")(
        vocab_size=len(tokenizer()), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=True,
        initializer_range=0.1,  # AdamW moves every weight alike: rare words must not be forgotten at once
        bos_token_id=None, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return getattr(transformers, f"{family}ForCausalLM")(config).float()


def warm_start(steps: int = 400, batch: int = 64, family: str = "Qwen2", knows: bool = False) -> Any:
    """A model that speaks every role and knows no right button: rewards alone tell it which they are.

    The policy presses any button of the colour's panel. The successor expects success of each as often as
    chance has it. The evaluator repeats the future's verdict, the refiner leaves what is optimal and
    else takes another button, the aggregator says what most futures say, the picker takes the first that
    ends well. A successor that ``knows`` says what each button does.
    """
    rng, model, tok = random.Random(0), random_model(family=family), tokenizer()

    @functools.cache
    def ids_of(text: str) -> list[int]:
        found: list[int] = tok(text, add_special_tokens=False)["input_ids"]
        return found

    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        rows = [_lesson(rng, knows) for _ in range(batch)]
        prompts = [ids_of(prompt) for prompt, _ in rows]
        answers = [[*ids_of(answer), 1] for _, answer in rows]
        width = max(len(p) + len(a) for p, a in zip(prompts, answers, strict=True))
        ids = torch.zeros(batch, width, dtype=torch.long)
        labels = torch.full_like(ids, -100)
        for i, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
            ids[i, : len(prompt) + len(answer)] = torch.tensor([*prompt, *answer])
            labels[i, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * (1 - step / steps)
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


def shared_warm_start(factory: pytest.TempPathFactory, **settings: Any) -> Any:
    """``warm_start`` with ``settings``, which the workers of a test run make once."""
    from transformers import AutoModelForCausalLM

    name = "-".join(["warm", *(f"{key}={value}" for key, value in sorted(settings.items()))])
    folder = made_once(factory, name, lambda folder: warm_start(**settings).save_pretrained(folder))
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def _lesson(rng: random.Random, knows: bool) -> tuple[str, str]:
    """A role's prompt and answer."""
    colour = rng.choice(COLOURS)
    panel = BUTTONS[colour]
    tried, state = rng.choice(panel), f"<|signal|>{USER}{colour}"
    acted, lucky = f"{state}{ACT}{tried}", rng.random() < CHANCE
    future = _RIGHT if (tried == right_button(colour) if knows else lucky) else _WRONG
    role = rng.choice(("policy", "successor", "evaluator", "refiner", "aggregator", "picker"))
    if role == "policy":
        return f"{state}{ACT}", tried
    if role == "successor":
        return f"{acted}{FUTURE}", future
    if role == "evaluator":
        return f"{acted}{FUTURE}{future}{CRITIQUE}", _YES if future == _RIGHT else _NO
    if role == "refiner":
        critique = _YES if lucky else _NO
        other = rng.choice([b for b in panel if b != tried])
        return f"{acted}{CRITIQUE}{critique}{REFINE}", tried if lucky else other
    futures = [_RIGHT if rng.random() < 0.5 else _WRONG for _ in range(rng.randint(1, 4))]
    if role == "aggregator":
        wins = sum(f == _RIGHT for f in futures)
        return f"{acted}{''.join(FUTURE + f for f in futures)}{BACKUP}", _RIGHT if 2 * wins >= len(
            futures
        ) else _WRONG
    buttons = rng.sample(panel, len(futures))
    best = futures.index(_RIGHT) if _RIGHT in futures else 0
    shown = "".join(f"{ACT}{b}{FUTURE}{f}" for b, f in zip(buttons, futures, strict=True))
    return f"{state}{shown}{PICK}", str(best + 1)


def share_right(texts: Sequence[tuple[str, str]]) -> float:
    """Of (colour, action) pairs."""
    return sum(pressed(c, t) == right_button(c) for c, t in texts) / len(texts)
