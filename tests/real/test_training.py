"""The model is trained from the command line; every push is verified, and the result is a plain model."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

SMALL = (
    "--limit", "4", "--max-tokens", "8", "--train=train_batch_size=8", "--train=rollouts_per_task=4",
    "--train=val_tasks=2", "--train=lr=2e-5",
)  # fmt: skip


def run(folder: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    command = [sys.executable, "-m", "nlac_bench", "run", "--model", "smollm2", "--env", "first_steps"]
    done = subprocess.run(
        [*command, *options, "--out", str(folder), "--json"], capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


@pytest.mark.usefixtures("smollm2")
@pytest.mark.parametrize("adapters", ["0", "4"])
def test_two_steps_of_grpo_and_a_checkpoint_for_plain_transformers(tmp_path: Path, adapters: str) -> None:
    """The moved weights must arrive in the engine, or the run ends with an error."""
    code, result, stderr = run(
        tmp_path / "run", "--agent", "grpo", "--budget", "steps=2", f"--train=lora_rank={adapters}", *SMALL
    )
    assert code == 0, stderr[-3000:]
    assert result["gradient_steps"] == 2
    for trace in ("Traceback", "leaked"):
        assert trace not in stderr
    best = tmp_path / "run" / "checkpoints" / "best"
    model, tokenizer = AutoModelForCausalLM.from_pretrained(best), AutoTokenizer.from_pretrained(best)
    inputs = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Say hello."}], add_generation_prompt=True, return_tensors="pt",
        return_dict=True,
    )  # fmt: skip
    with torch.no_grad():
        output = model.generate(**inputs, do_sample=False, max_new_tokens=8)
    assert tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True).strip()


@pytest.mark.usefixtures("smollm2")
@pytest.mark.parametrize("agent", ["react", "act"])
def test_prompted_agents_play_and_their_answers_are_graded(tmp_path: Path, agent: str) -> None:
    code, _, stderr = run(tmp_path / "run", "--agent", agent, "--limit", "6", "--max-tokens", "16")
    assert code == 0, stderr[-3000:]
    rows = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert len(rows) == 6 and all(row["success"] in (True, False) for row in rows)
    short = [row for row in rows if len(row["turns"][-1]["text"]) <= 3]  # the form of the examples: a number
    assert len(short) >= 4
