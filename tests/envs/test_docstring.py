"""What an agent is told by default: the part of the class docstring that states the rules."""

from nlac_bench.envs import Outcome, TextEnv
from nlac_bench.envs.docstring import own_docstring, rules, sections


class Game(TextEnv):
    """Guess the number.

    Numbers go from 1 to 9.

    ## Action Space
    One digit.

    ## Starting State
    The secret is drawn at random.

    ## Episode End
    After three guesses.

    Args:
        split: ``train`` or ``test``.
    """

    name, max_steps = "game", 3

    def __init__(self) -> None:
        super().__init__(task_ids=("a",))

    async def _begin(self, task_id: str) -> str:
        return "Guess."

    async def _respond(self, action: str) -> Outcome:
        return Outcome("No.")

    def oracle_action(self) -> str:
        return "7"


class Harder(Game):
    max_steps = 2


class Undocumented(TextEnv):
    name, max_steps = "undocumented", 1


EXPECTED = (
    "Guess the number.\n\nNumbers go from 1 to 9.\n\nAction Space:\nOne digit.\n\n"
    "Episode End:\nAfter three guesses."
)


def test_the_docstring_is_the_default_policy() -> None:
    _, info = Game().reset(seed=0)
    assert info["policy"] == EXPECTED
    assert info["messages"][0] == {"role": "system", "content": EXPECTED}


def test_a_parents_docstring_serves_and_textenvs_does_not() -> None:
    assert Harder().policy() == EXPECTED
    assert rules(own_docstring(Undocumented, TextEnv)) == ""


def test_gymnasiums_own_style() -> None:
    doc = "## Description\nBalance.\n\n## Rewards\n1 a step.\n\n## Arguments\nNone.\n## Version History\nv1"
    assert list(sections(doc)) == ["", "Description", "Rewards", "Arguments", "Version History"]
    assert rules(doc) == "Description:\nBalance.\n\nRewards:\n1 a step."
