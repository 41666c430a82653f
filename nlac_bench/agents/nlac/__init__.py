"""Natural Language Actor-Critic (arXiv 2512.04601): one model learns a language critic and a policy that is
distilled from its own refined actions."""
