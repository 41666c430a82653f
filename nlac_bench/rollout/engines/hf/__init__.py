"""The transformers engine: a Hugging Face model in this process."""
