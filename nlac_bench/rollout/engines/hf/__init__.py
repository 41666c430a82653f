"""The transformers engine, which runs a Hugging Face model in this process."""
