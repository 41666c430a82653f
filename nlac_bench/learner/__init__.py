"""How weights change: losses, the learner (FSDP2), checkpoints."""
