"""The engine for OpenAI-compatible servers."""
