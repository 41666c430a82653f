"""An environment in which the agent repeats a word."""

from nlac_bench.envs import Outcome, TextEnv

WORDS = ("red", "green", "blue", "one", "two", "three", "north", "south", "east", "west")


class Echo(TextEnv):
    """Repeat the word that you are told, and nothing else. You have two attempts."""

    name, max_steps = "example_echo", 2

    def __init__(self, split: str = "test", render_mode: str | None = None) -> None:
        half = WORDS[::2] if split == "test" else WORDS[1::2]
        super().__init__(task_ids=half, split=split, render_mode=render_mode)

    def policy(self) -> str:
        return "Repeat the word that you are told, and nothing else. You have two attempts."

    async def _begin(self, task_id: str) -> str:
        self._state = [task_id]  # everything that changes during an episode; an object with copy()
        return f"Say: {task_id}"

    async def _respond(self, action: str) -> Outcome:
        if action.strip() == self.oracle_action():
            return Outcome("Right.", reward=1.0, end_reason="success", success=True)
        return Outcome(f"Wrong. Say: {self._state[0]}")

    def oracle_action(self) -> str:
        return str(self._state[0])
