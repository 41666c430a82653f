"""Trains models: losses, the learner (FSDP2), checkpoints."""
