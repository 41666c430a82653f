"""τ-bench retail and airline: an own engine with the exact semantics of sierra-research/tau-bench 59a200c."""
