"""Changes weights: losses, the learner (FSDP2), checkpoints."""
