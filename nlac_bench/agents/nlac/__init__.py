"""Natural Language Actor-Critic (arXiv 2512.04601): a language critic and a policy distilled from its own
refined actions, one model in all roles."""
