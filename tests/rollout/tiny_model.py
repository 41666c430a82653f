"""A small random Qwen2 and a byte-level BPE tokenizer with a chat template, made on the fly."""

import functools
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

torch.set_num_threads(1)  # for a model this small, waiting for a second thread takes longer than the work

TEMPLATE = """\
{%- if tools %}<|im_start|>tools
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role not in ['system', 'user', 'assistant', 'tool'] %}
{{- raise_exception('unknown role') }}{% endif -%}
<|im_start|>{{ message.role }}
{% set content = message.content or '' %}
{%- if message.role == 'assistant' and '</think>' in content %}{{ content.split('</think>')[-1] }}
{%- else %}{{ content }}{% endif %}
{%- for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""ChatML; like several models' it drops earlier thoughts."""

_CORPUS = [
    "Guess. Yes. No. no idea Thought: I do not know. Action: look it up",
    'the number {"name": "get_order_details", "arguments": {"order_id": "#W0000001"}}',
    "What is it? It is 0 1 2 3 4 5 6 7 8 9, user assistant system tool.",
]


@functools.cache
def tokenizer() -> Any:
    """About 400 tokens, all bytes among them, so that every text survives a round trip."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(_CORPUS * 4, trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>", name_or_path="tiny-test"
    )
    made.chat_template = TEMPLATE
    return made


def model(seed: int = 0, *, context: int = 512, tied: bool = False) -> Any:
    """Two layers, two query heads a key head (of a size that vLLM knows on CPUs), random weights.

    They are scaled so that its predictions are neither flat nor fixed.
    """
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer()),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=context,
        tie_word_embeddings=tied,
        eos_token_id=tokenizer().eos_token_id,
        pad_token_id=tokenizer().pad_token_id,
    )
    made = Qwen2ForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in made.model.layers.parameters():
            parameter.mul_(8.0 if parameter.dim() > 1 else 1.0)
        made.get_output_embeddings().weight.mul_(1.0 if tied else 8.0)
    made.generation_config.eos_token_id = tokenizer().eos_token_id
    return made


def saved(folder: Path) -> str:
    """Write the model with seed 0 and its tokenizer to ``folder``; return its name."""
    model(0).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return str(folder)
