"""Shares of replies: cut, invalid, in the form of the prompt."""

from nlac_bench.stats.replies import Replies
from nlac_bench.types import Turn


def turn(finish: str = "stop", **info: object) -> Turn:
    return Turn("x", finish=finish, info=dict(info))


def test_every_reply_counts_once_and_the_form_only_where_it_was_asked_for() -> None:
    replies = Replies()
    replies.add([turn("length", action_kind="invalid", in_form=False)])
    replies.add([turn(action_kind="tool", in_form=True)])
    replies.add([turn("length", action_kind="message"), turn("context_overflow")])
    assert replies.shares() == {"cut": 0.5, "invalid": 0.25, "in_form": 0.5}
    assert str(replies) == (
        "replies: 4; 50.0% reached their limit of tokens (--max-tokens), 25.0% were invalid, 50.0% followed "
        "the form of the prompt"
    )


def test_without_replies_or_without_a_form_there_is_no_share() -> None:
    replies = Replies()
    assert set(replies.shares().values()) == {None} and str(replies) == "replies: 0"
    replies.add([turn(action_kind="message")])
    assert replies.shares()["in_form"] is None and "form" not in str(replies)
