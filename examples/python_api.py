"""Measures two agents, trains the embedded model for two steps, and compares the results."""

import nlac_bench as nb

ENV = 'math500_hard@{"level": 1}'


def always_four(messages: list[dict[str, str]]) -> str:
    """Answer a chat, whose messages have ``role`` and ``content``."""
    return "The answer is \\boxed{4}."


# Measure a function, and the oracle, which knows every answer.
function = nb.evaluate(ENV, agent=always_four, limit=8)
oracle = nb.evaluate(ENV, agent="oracle", limit=8)
print(function.summary().success, oracle.summary().success)

# Train for two gradient steps. The untrained model is measured first, and the best checkpoint at last.
small = {"train_batch_size": 4, "mini_batch_size": 4, "val_tasks": 2, "test_freq": 1}
trained = nb.train(ENV, method="nlac", budget="steps=2", limit=8, train=small, out="runs/two_steps")
base = nb.load("runs/two_steps/base")

# Compare: a verdict with its interval, a table, a figure.
comparison = nb.compare(trained, base)
print(comparison.verdict)
print(comparison.table)
comparison.plot().savefig("comparison.png")

# Records as data frames (pip install 'nlac-bench[frames]').
print(trained.episodes_df()[["task_id", "success", "turns"]])
print(trained.metrics_df()[["kind", "iteration", "gradient_steps_total"]])
print(trained.critiques_df()[["played", "critique", "refined"]].head(2))
print(trained.turns_df().groupby("task_id")["text"].first())

# The best checkpoint plays other tasks.
print(nb.evaluate(ENV, agent=trained, split="train", limit=4).summary().success)
