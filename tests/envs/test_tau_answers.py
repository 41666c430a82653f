"""Which messages state the answer to a question: realistic ones do, and lists of numbers do not."""

import json
from pathlib import Path

import pytest

from nlac_bench.envs.tau.actions import render_call, render_message
from nlac_bench.envs.tau.answers import OutputAnswers
from nlac_bench.envs.tau.env import HANDED_OVER, TauAirlineEnv, TauRetailEnv
from nlac_bench.envs.tau.values import counts_of, numbers_of, stated
from tests.envs.tau_answer_wordings import OUTPUTS, PRODUCT, RIGHT, SHARED_WRONG, SHOWN, WRONG
from tests.envs.tau_small import write_small


def asked(question: str) -> OutputAnswers:
    answers = OutputAnswers(OUTPUTS[question], "An extra bag is $50, and insurance $30 per passenger.")
    answers.hear("I have a question about this.")
    for shown in SHOWN[question]:
        answers.call({}, json.dumps(shown), failed=False)
    return answers


def told(answers: OutputAnswers, message: str) -> bool:
    answers.say(message)
    return bool(answers.told)


def test_there_are_many_wordings() -> None:
    assert sum(map(len, RIGHT.values())) >= 60 and len(RIGHT) == len(OUTPUTS)


@pytest.mark.parametrize("question", RIGHT)
def test_right_answers_with_other_numbers_are_accepted(question: str) -> None:
    refused = [message for message in RIGHT[question] if not told(asked(question), message)]
    assert not refused


@pytest.mark.parametrize("question", OUTPUTS)
def test_lists_of_numbers_and_alternatives_are_refused(question: str) -> None:
    wrong = (*WRONG.get(question, ()), *SHARED_WRONG)
    accepted = [message[:80] for message in wrong if told(asked(question), message)]
    assert not accepted


def test_numbers_are_known_only_if_the_agent_did_not_bring_them_up() -> None:
    """Neither a user who repeats the agent nor a record that the agent wrote makes its numbers known."""
    dump = " and ".join(f"{n}.31" for n in range(170, 190)) + ", so 183.31"
    message = "I found 171.5, 172.5 and the total of 183.31."
    for told_before in (False, True):
        answers = OutputAnswers(("183.31",))
        if told_before:
            answers.hear("Is it 171.5 or 172.5?")
        answers.say("171.5? 172.5?")
        answers.hear("Sorry, do you mean 171.5 or 172.5?")
        answers.call({"address1": "171.5 172.5 Road"}, '{"address1": "171.5 172.5 Road"}', failed=False)
        answers.call({"name": "x"}, "Error: unknown 171.5 172.5", failed=True)
        assert told(answers.copy(), message) == told_before
        assert not told(answers, dump)


def test_amounts_passed_to_a_call_that_succeeded_are_known() -> None:
    message = "I booked it for $251. The balance of your gift card is $198."
    for failed in (False, True):
        answers = OutputAnswers(("198",))
        answers.call({"payment_methods": [{"amount": 251}]}, "booked" if not failed else "Error: no", failed)
        assert told(answers, message) != failed


def test_several_outputs_do_not_compete() -> None:
    answers = OutputAnswers(("54.04", "41.64", "polyester"))
    answers.say("You save $54.04 or $41.64; it is made of polyester.")
    assert answers.told == {"54.04", "41.64", "polyester"}


def test_a_copy_is_independent() -> None:
    answers = asked("total")
    twin = answers.copy()
    twin.say("$183.31")
    assert twin.told and not answers.told


def test_hostile_messages_take_little_time() -> None:
    """Work grows in proportion to the length: what is counted are characters and numbers, not seconds."""
    answers = asked("total")
    for text in ("183.31 " * 14_000, "183.31\n" * 14_000, "1," * 50_000, "9" * 100_000, "$ " * 50_000,
                 "183.31 " + "33.2 18.45\n" * 9_000):  # fmt: skip
        answers.say(text)
    assert len(stated("183.31 " * 14_000)) == 14_000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is $1,093.50.", [("1093.5", "amount")]),
        ("10 dollars, 10.00", [("10", "amount"), ("10", "amount")]),
        ("10 of 12, and 20", [("10", "count"), ("12", "count"), ("20", "number")]),
        ("746342064230", [("746342064230", "identifier")]),
        ("#W10, HAT083, paypal10x, 10:30, 2024-05-10, 3-5, 24/7", []),
        ("May 15, 2024; 15th of May; March 3", []),
        ("5 business days, 10%, 6 hours, 18 cm, 64GB, a card ending in 8564, zip code 67260", []),
        ("1. one\n2. two\n3. three", []),
        ("10. Anything else?", [("10", "count")]),
    ],
)
def test_kinds_of_numbers(text: str, found: list[tuple[str, str]]) -> None:
    assert [(each.value, each.kind) for each in stated(text)] == found


def test_results_can_be_counted() -> None:
    counts = counts_of(json.dumps(PRODUCT))
    assert {"12", "10", "2", "4", "3"} <= counts  # variants, available ones, others, sizes S, colours
    assert counts_of("Error: none") == counts_of("[" * 5_000) == frozenset()
    assert numbers_of("#W3548644 at 10:05, 1,093.50") == {"3548644", "10", "5", "1093.5"}


# --- in the environments --------------------------------------------------------------------------------


def test_listing_all_numbers_wins_nothing() -> None:
    """By τ-bench's rule, which is a part of the reward, the list would have won some of these tasks."""
    env, every = TauAirlineEnv(level="easy"), " ".join(map(str, range(50, 2_500)))
    asking = [task_id for task_id in env.task_ids if env.tasks[task_id].outputs]
    original = 0.0
    for task_id in asking:
        env.reset(seed=0, options={"task_id": task_id})
        _, reward, ended, _, info = env.step(every)
        if not ended:
            _, reward, ended, _, info = env.step(HANDED_OVER)
        assert ended and reward == 0.0 and info["success"] is False, task_id
        original += info["reward_parts"]["original"]
    assert original >= 5


def test_an_answer_with_its_context_wins_and_the_quoted_result_does_not() -> None:
    env = TauAirlineEnv(level="easy")
    won = []
    for task_id in env.task_ids:
        task = env.tasks[task_id]
        if env.domain.new_database().get("users", task.user_id) is None or len(task.outputs) != 1:
            continue
        calls = [render_call("get_user_details", {"user_id": task.user_id})]
        trips = env.domain.tables["users"][task.user_id]["reservations"]
        calls += [render_call("get_reservation_details", {"reservation_id": trip}) for trip in trips]
        for quotes in (False, True):
            env.reset(seed=0, options={"task_id": task_id})
            shown = [env.step(call)[0] for call in calls]
            if task.outputs[0] not in " ".join(shown):
                continue
            last = "\n".join(shown) if quotes else f"It is ${task.outputs[0]}; an extra bag is $50."
            _, _, ended, _, info = env.step(render_message(last))
            if not ended:
                _, _, ended, _, info = env.step(HANDED_OVER)
            won.append((quotes, info["reward_parts"]["r_outputs"], info["success"]))
    assert len(won) >= 10 and all(said for _, said, _ in won)
    assert {success for quotes, _, success in won if quotes} == {False}
    assert any(success for quotes, _, success in won if not quotes)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_default_reward_depends_on_the_data(tmp_path: Path) -> None:
    assert TauRetailEnv().conditions()["reward"] == "strict"
    assert TauRetailEnv(reward="original").conditions()["reward"] == "original"
    official = TauRetailEnv(data=write_small(tmp_path), user="none")
    assert official.conditions()["reward"] == "original"
