"""The scripted user: reads what the agent wrote and answers from its instruction, without a model."""
