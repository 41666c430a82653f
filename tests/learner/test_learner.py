"""The learner against a bare loop, over ranks, packed and unpacked, and resumed."""

import functools
import json
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import Tensor

from nlac_bench.learner import checkpoint, losses
from nlac_bench.learner.batch import TokenBatch, TokenSequence, one_a_row, pack
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.learner.model import Lora
from nlac_bench.learner.outputs import Outputs
from nlac_bench.learner.whole import full_tensor
from tests.learner.small_model import model, nll, sequences, steps, use_sgd, weights

FP32 = LearnerConfig(lr=1e-3, precision="fp32", micro_rows=2)


def gradients(learner: Learner) -> dict[str, Tensor]:
    return {n: full_tensor(p.grad).clone() for n, p in learner.model.named_parameters()}  # type: ignore[arg-type]


def close(left: dict[str, Tensor], right: dict[str, Tensor], atol: float) -> None:
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        label = functools.partial("{}: {}".format, name)
        torch.testing.assert_close(tensor, right[name], rtol=0, atol=atol, msg=label)


def bare_loop(config: LearnerConfig, batch: TokenBatch, optimizer: str) -> dict[str, Tensor]:
    """Three steps of plain transformers and torch on the same micro-batches."""
    bare = model().train()
    make = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[optimizer]
    taker = make(bare.parameters(), lr=config.lr, weight_decay=0.0)
    for _ in range(3):
        for micro in batch.micro_batches(range(0, len(batch), config.micro_rows), 0):
            hidden = bare.model(input_ids=micro.ids, position_ids=micro.position_ids).last_hidden_state
            wanted = micro.loss_mask.roll(-1, 1) != 0
            wanted[:, -1] = False
            logprobs = losses.selective_log_softmax(
                bare.lm_head(hidden[wanted])[None], micro.ids.roll(-1, 1)[wanted][None]
            )[0]
            spread = torch.zeros(micro.ids.shape).masked_scatter(wanted, logprobs)
            spread = torch.cat([torch.zeros_like(spread[:, :1]), spread[:, :-1]], 1)
            (losses.aggregate(-spread * micro.weights, micro.loss_mask, batch.loss_mask.sum())).backward()
        torch.nn.utils.clip_grad_norm_(bare.parameters(), config.max_grad_norm)
        taker.step()
        taker.zero_grad()
    return {n: p.detach() for n, p in bare.named_parameters()}


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_one_process_is_bitwise_the_bare_loop(optimizer: str) -> None:
    config = LearnerConfig(lr=1e-2, precision="fp32", micro_rows=2)
    same_length = [TokenSequence(list(range(i, i + 20)), [0.0] * 5 + [1.0] * 15, 0.5 + i) for i in range(7)]
    batch = one_a_row(same_length)
    learner = Learner(model(), config)
    if optimizer == "sgd":
        use_sgd(learner)
    for _ in range(3):
        learner.forward_backward(batch, nll(batch.loss_mask.sum()))
        learner.optim_step()
    expected, got = bare_loop(config, batch, optimizer), weights(learner)
    assert expected.keys() == got.keys()
    assert all(torch.equal(expected[name], got[name]) for name in expected)


def test_packed_gradients_equal_unpacked_ones() -> None:
    data = sequences()
    found = []
    for batch in (one_a_row(data), pack(data, 64), pack(data, 300)):
        learner = Learner(model(), FP32)
        learner.forward_backward(batch, nll(batch.loss_mask.sum()))
        found.append(gradients(learner))
    close(found[0], found[1], atol=1e-6)
    close(found[0], found[2], atol=1e-6)


def test_masked_positions_change_no_gradient() -> None:
    batch = pack(sequences(), 64)
    found = []
    for value in (0.0, 1e9):
        learner = Learner(model(), FP32)
        for tensor in (batch.advantages, batch.old_logprobs):
            assert tensor is not None
            tensor[batch.loss_mask == 0] = value

        def ppo(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            assert micro.old_logprobs is not None and micro.advantages is not None
            loss_BT = losses.ppo_policy_loss(outputs.logprobs_BT, micro.old_logprobs, micro.advantages)
            return losses.aggregate(loss_BT, micro.loss_mask, 100.0), {}

        learner.forward_backward(batch, ppo)
        found.append(gradients(learner))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_padding_and_later_segments_do_not_reach_a_sequence() -> None:
    data = sequences(4)
    learner = Learner(model(), FP32)
    alone = learner.logprobs(one_a_row(data[:1]))[0, : len(data[0].ids)]
    packed = learner.logprobs(pack(data, 200))
    row = next(r for r in packed if torch.allclose(r[: len(alone)], alone, atol=1e-5))
    assert row is not None and torch.isfinite(packed).all()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_ratio_is_one_on_the_first_epoch(precision: str) -> None:
    learner = Learner(model(), LearnerConfig(precision=precision, micro_rows=3))  # type: ignore[arg-type]
    batch = pack(sequences(), 64)
    old_BT = learner.logprobs(batch)
    ratios: list[Tensor] = []
    at = iter(range(0, len(batch), 3))

    def read(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        start = next(at)
        ratios.append((outputs.logprobs_BT - old_BT[start : start + 3, : micro.ids.shape[1]]).exp())
        return outputs.logprobs_BT.sum(), {}

    learner.forward_backward(batch, read)
    assert all((ratio == 1).all() for ratio in ratios) and len(ratios) > 1


def test_logprobs_are_those_of_the_plain_model() -> None:
    learner = Learner(model(), FP32)
    ids = list(range(3, 30))
    with torch.no_grad():
        plain = model().eval()(torch.tensor([ids])).logits.log_softmax(-1)
    expected = [float(plain[0, t - 1, ids[t]]) for t in range(10, len(ids))]
    torch.testing.assert_close(learner.text_logprobs(ids, 10), expected, rtol=0, atol=1e-5)


@pytest.mark.filterwarnings("error:FSDP2-wrapped module")  # torch warns of outputs that are views
def test_heads_values_and_q_are_aligned_and_trained() -> None:
    config = LearnerConfig(
        lr=0.05, precision="fp32", heads={"value": "state", "q1": "action", "q2": "action"}
    )
    learner = Learner(model(), config)
    batch = pack(sequences(), 64)
    assert not learner.scalars(batch, ["value"]).any(), "heads start at 0"

    def loss(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        q_BT = losses.twin_q_loss(
            outputs.scalar_BT("q1"), outputs.scalar_BT("q2"), torch.ones_like(outputs.scalar_BT("q1"))
        )
        v_BT = (outputs.scalar_BT("value") - 0.5) ** 2
        return losses.aggregate(q_BT + v_BT, micro.loss_mask, batch.loss_mask.sum()), {}

    first = learner.forward_backward(batch, loss)["loss"]
    learner.optim_step()
    for _ in range(15):
        last = learner.forward_backward(batch, loss)["loss"]
        learner.optim_step()
    assert last < 0.3 * first
    q1, q2 = (learner.model.heads[name].get_parameter("weight") for name in ("q1", "q2"))
    assert not torch.equal(q1, q2)


@pytest.mark.parametrize("heads", [("value",), {"value": "token"}])
def test_a_head_that_does_not_say_what_it_values_is_refused(heads: Any) -> None:
    with pytest.raises(ValueError, match="must give each head's name what it values"):
        LearnerConfig(heads=heads)


def test_log_probabilities_of_the_initial_model_stay() -> None:
    learner = Learner(model(), LearnerConfig(lr=0.05, precision="fp32", reference=True))
    batch = pack(sequences(), 64)
    before = learner.logprobs(batch)
    torch.testing.assert_close(learner.logprobs(batch, "reference"), before)
    learner.forward_backward(batch, nll(float(batch.loss_mask.sum())))
    learner.optim_step()
    assert (learner.logprobs(batch) - before).abs().max() > 1e-3
    torch.testing.assert_close(learner.logprobs(batch, "reference"), before)
    fresh = Learner(model(), LearnerConfig(precision="fp32", reference=True))
    few = one_a_row([TokenSequence([5, 6, 7], [0.0, 1.0, 1.0], restricted={2: [7, 8]})])
    chosen = fresh.logprobs(few, "reference")
    torch.testing.assert_close(chosen, fresh.logprobs(few))
    assert chosen[0, 2] > fresh.logprobs(one_a_row([TokenSequence([5, 6, 7], [0.0, 1.0, 1.0])]))[0, 2]
    with pytest.raises(ValueError, match="keeps no reference model"):
        Learner(model(), LearnerConfig(precision="fp32")).logprobs(batch, "reference")


def test_scalar_heads_compute_in_float32_in_a_model_of_bfloat16() -> None:
    learner = Learner(model(), LearnerConfig(lr=0.05, precision="bf16", heads={"q1": "action"}))
    head, batch = learner.model.heads["q1"], pack(sequences(), 64)
    read: list[tuple[torch.dtype, torch.dtype]] = []
    head.register_forward_hook(lambda module, inputs, output: read.append((inputs[0].dtype, output.dtype)))

    def loss(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        error_BT = (outputs.scalar_BT("q1") - 0.7) ** 2
        return losses.aggregate(error_BT, micro.loss_mask, batch.loss_mask.sum()), {}

    values = []
    for _ in range(12):
        learner.forward_backward(batch, loss)
        learner.optim_step()
        values.append(learner.scalars(batch, ["q1"])[batch.loss_mask != 0])
    assert {output for _, output in read} == {torch.float32}
    assert (values[-1] != values[-1].bfloat16().float()).any(), "bfloat16 would have rounded them"
    assert (values[-1] - 0.7).square().mean() < 0.3 * (values[0] - 0.7).square().mean()
    assert values[0].unique().numel() > 1 and not torch.equal(values[0], values[1]), "steps reach the head"


def test_entropy_and_reference_kl() -> None:
    learner = Learner(model(), LearnerConfig(lr=0.05, precision="fp32", reference=True))
    batch = pack(sequences(), 64)
    seen: list[tuple[float, float]] = []

    def loss(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        seen.append((outputs.entropy_BT.sum().item(), outputs.reference_kl_BT.sum().item()))
        return nll(batch.loss_mask.sum())(outputs, micro)

    learner.forward_backward(batch, loss)
    learner.optim_step()
    count = len(seen)
    learner.forward_backward(batch, loss)
    assert all(abs(kl) < 1e-5 for _, kl in seen[:count]) and all(kl > 1e-3 for _, kl in seen[count:])
    assert all(entropy > 0 for entropy, _ in seen)


def test_the_reference_takes_the_memory_of_its_precision_and_is_the_initial_model() -> None:
    learner = Learner(model(), LearnerConfig(lr=0.05, precision="bf16", reference=True))
    assert learner.reference is not None
    assert {p.dtype for p in learner.reference.parameters()} == {torch.bfloat16}
    batch = pack(sequences(), 64)
    before = learner.logprobs(batch)
    assert torch.equal(before, learner.logprobs(batch, of="reference"))
    steps(learner, sequences(), 1)
    assert torch.equal(before, learner.logprobs(batch, of="reference"))
    assert not torch.equal(before, learner.logprobs(batch))


def test_moving_average() -> None:
    learner = Learner(model(), LearnerConfig(lr=0.1, precision="fp32", ema=True))
    start = weights(learner)
    steps(learner, sequences(), 1)
    learner.ema_update(0.25)
    for (name, average), (_, policy) in zip(
        learner.named_tensors("target"), learner.named_tensors(), strict=True
    ):
        torch.testing.assert_close(average, 0.75 * start[name] + 0.25 * policy)
    with pytest.raises(ValueError, match="ema=True"):
        Learner(model(), FP32).ema_update(0.1)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_average_computes_with_all_of_its_weights_and_gives_them_back(precision: Any) -> None:
    """Weights that were gathered for a forward pass are neither the policy's nor the average's."""
    batch = one_a_row([TokenSequence(list(range(20)), [0.0] * 5 + [1.0] * 15)])
    learner = Learner(model(), LearnerConfig(lr=1e-2, precision=precision, ema=True))
    assert learner.ema is not None
    start = learner.logprobs(batch)
    for _ in range(2):
        learner.forward_backward(batch, nll(batch.loss_mask.sum()))
        learner.optim_step()
        with learner.averaged():
            assert torch.equal(learner.logprobs(batch), start)
    trained = learner.logprobs(batch)
    assert not torch.allclose(trained, start)
    before = weights(learner), [shard.clone() for shard in learner.ema]
    for _ in range(2):
        with learner.averaged():
            assert torch.equal(learner.logprobs(batch), start)
        assert torch.equal(learner.logprobs(batch), trained)
    assert all(torch.equal(w, before[0][name]) for name, w in weights(learner).items())
    assert all(torch.equal(now, then) for now, then in zip(learner.ema, before[1], strict=True))
    assert {w.dtype for w in weights(learner).values()} == {torch.float32}


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    learner = Learner(model(), FP32)
    before, batch = weights(learner), pack(sequences(), 64)
    learner.forward_backward(batch, lambda outputs, _: (outputs.logprobs_BT.sum() * float("nan"), {}))
    metrics = learner.optim_step()
    assert metrics["skipped"] == 1
    assert all(torch.equal(before[name], tensor) for name, tensor in weights(learner).items())


@pytest.mark.parametrize("ema", [False, True])
def test_a_resumed_run_is_bitwise_the_uninterrupted_one(tmp_path: Path, ema: bool) -> None:
    config = LearnerConfig(
        lr=1e-2, precision="fp32", warmup_steps=5, ema=ema,
        heads={"value": "state"}, deterministic=True, seed=3,
    )  # fmt: skip

    def go_on(learner: Learner, count: int) -> list[float]:
        seen = []
        for _ in range(count):
            order = torch.randperm(13).tolist()  # the next sample drawn must be the same too
            seen += steps(learner, [sequences()[i] for i in order[:7]], 1)
            if ema:
                learner.ema_update(0.1)
        return seen

    try:
        whole = Learner(model(), config)
        go_on(whole, 3)
        checkpoint.save(whole, tmp_path / "last", lambda _: {"epoch": 3, "best": 0.5})
        expected, final = go_on(whole, 3), weights(whole)
        resumed = Learner(model(), config)
        go_on(resumed, 1)  # anything: loading must overwrite all of it
        assert checkpoint.load(resumed, tmp_path / "last") == {"epoch": 3, "best": 0.5}
        assert resumed.step == 3
        assert go_on(resumed, 3) == expected
        assert all(torch.equal(final[name], tensor) for name, tensor in weights(resumed).items())
        if ema:
            for (_, left), (_, right) in zip(
                whole.named_tensors("target"), resumed.named_tensors("target"), strict=True
            ):
                assert torch.equal(left, right)
    finally:
        torch.use_deterministic_algorithms(False)


def test_checkpoints_that_do_not_fit_are_named(tmp_path: Path) -> None:
    from nlac_bench.errors import DataError

    learner = Learner(model(), FP32)
    with pytest.raises(DataError, match="not a checkpoint"):
        checkpoint.load(learner, tmp_path / "nothing")
    checkpoint.save(learner, tmp_path / "a", lambda _: {})
    state = json.loads((tmp_path / "a" / "loop_state.json").read_text())
    (tmp_path / "a" / "loop_state.json").write_text(json.dumps({**state, "world_size": 4}))
    with pytest.raises(DataError, match="world_size is 4, but only 1 file"):
        checkpoint.load(learner, tmp_path / "a")
    checkpoint.save(learner, tmp_path / "a", lambda _: {})  # over an earlier one
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("limit", [checkpoint.EXPORT_FILE, 30_000])
def test_exported_folder_loads_anywhere(
    tmp_path: Path, tie: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoModelForCausalLM

    monkeypatch.setattr(checkpoint, "EXPORT_FILE", limit)
    learner = Learner(model(tie), FP32)
    steps(learner, sequences(), 2)
    checkpoint.export(learner, tmp_path)
    assert (tmp_path / "model.safetensors.index.json").exists() == (limit == 30_000)
    ids = list(range(5, 25))
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        logprobs = loaded(torch.tensor([ids])).logits.float().log_softmax(-1)
    expected = [float(logprobs[0, t - 1, ids[t]]) for t in range(1, len(ids))]
    torch.testing.assert_close(learner.text_logprobs(ids, 1), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("precision", "dtype"), [("bf16", torch.bfloat16), ("fp32", torch.float32)])
def test_an_export_has_the_dtype_in_which_the_learner_computes(
    tmp_path: Path, precision: Literal["bf16", "fp32"], dtype: torch.dtype
) -> None:
    from transformers import AutoModelForCausalLM

    learner = Learner(model(), LearnerConfig(precision=precision))
    checkpoint.export(learner, tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, dtype="auto").state_dict()
    for name, tensor in learner.named_tensors():
        assert loaded[name].dtype == dtype and torch.equal(loaded[name], tensor.to(dtype))


def test_lora_trains_adapters_alone_and_exports_them_merged(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    learner = Learner(model(), LearnerConfig(lr=0.05, precision="fp32", lora=Lora(rank=4, alpha=8)))
    frozen = [n for n, p in learner.model.named_parameters() if not p.requires_grad]
    assert frozen and len(learner.parameters) < len(frozen) * 3
    losses_seen = steps(learner, sequences(), 8)
    assert losses_seen[-1] < losses_seen[0]
    checkpoint.export(learner, tmp_path)
    ids = list(range(5, 25))
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        logprobs = loaded(torch.tensor([ids])).logits.float().log_softmax(-1)
    expected = [float(logprobs[0, t - 1, ids[t]]) for t in range(1, len(ids))]
    torch.testing.assert_close(learner.text_logprobs(ids, 1), expected, rtol=0, atol=1e-4)


def test_the_reference_of_adapters_is_the_model_without_them() -> None:
    lora = Lora(rank=4, alpha=8)
    learner = Learner(model(), LearnerConfig(lr=0.05, precision="fp32", lora=lora, reference=True))
    batch = pack(sequences(), 64)
    assert learner.reference_kl(batch) == 0
    steps(learner, sequences(), 3)
    assert learner.reference_kl(batch) > 1e-3
    learner.logprobs(batch)
    assert learner.reference is not None
    parameters: list[tuple[str, Any]] = list(learner.reference.named_parameters())
    kept = {name: full_tensor(parameter) for name, parameter in parameters}
    for name, parameter in model().named_parameters():
        assert torch.equal(kept[f"causal_lm.{name}"], parameter)


def test_activation_checkpointing_changes_no_gradient() -> None:
    batch, found = pack(sequences(), 64), []
    for on in (False, True):
        learner = Learner(model(), LearnerConfig(precision="fp32", activation_checkpointing=on))
        learner.forward_backward(batch, nll(batch.loss_mask.sum()))
        found.append(gradients(learner))
    close(found[0], found[1], atol=1e-7)


def test_schedule() -> None:
    config = LearnerConfig(lr=1.0, warmup_steps=4)
    assert [config.lr_at(s) for s in (0, 3, 4, 9, 14, 99)] == [0.25, 1.0, 1.0, 1.0, 1.0, 1.0]


def test_bad_sequences_are_named() -> None:
    with pytest.raises(ValueError, match="first token"):
        TokenSequence([1, 2], [1.0, 1.0])
    with pytest.raises(ValueError, match="advantages has 1"):
        TokenSequence([1, 2], [0.0, 1.0], advantages=[0.0])
    long, short = TokenSequence(list(range(9)), [0.0] * 9), TokenSequence([1, 2], [0.0, 1.0])
    assert pack([short, long, short], 8).segment_ids.tolist() == [[1] * 9, [1, 1, 2, 2] + [0] * 5]
    with pytest.raises(ValueError, match="empty list of sequences"):
        pack([], 8)


def test_tokens_are_counted_by_pass() -> None:
    """Without padding; a pass of the initial model counts wherever it is computed, checks of pushes never."""

    def penalised(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        return (outputs.reference_kl_BT * micro.loss_mask).sum(), {}

    given = sequences()
    batch, count = pack(given, 64), sum(len(s.ids) for s in given)
    assert batch.ids.numel() > count == batch.tokens
    learner = Learner(model(), LearnerConfig(lr=1e-3, precision="fp32", reference=True))
    found = []
    for compute in (
        lambda: learner.forward_backward(batch, nll(1.0)),
        lambda: learner.forward_backward(batch, penalised),
        lambda: learner.logprobs(batch),
        lambda: learner.logprobs(batch, "reference"),
        lambda: learner.text_logprobs(given[0].ids, 1),
        learner.optim_step,
    ):
        before = learner.passes()
        compute()
        after = learner.passes()
        kinds = {"forward_tokens": count, "backward_tokens": count, "examples_policy": len(given)}
        found.append(tuple((after[name] - before[name]) / most for name, most in kinds.items()))
    assert found == [(0, 1, 1), (1, 1, 1), (1, 0, 0), (2, 0, 0), (0, 0, 0), (0, 0, 0)]


def test_heads_may_have_another_learning_rate(tmp_path: Path) -> None:
    """The first step of AdamW changes each weight by its learning rate. A resumed run goes on bitwise."""

    def loss(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        return ((outputs.scalar_BT("q") - 1) * micro.loss_mask).sum() - outputs.logprobs_BT.sum(), {}

    def parameters(of: Learner) -> dict[str, Tensor]:
        sharded: Any = of.model.named_parameters()
        return {n: full_tensor(p).clone() for n, p in sharded}

    config = LearnerConfig(lr=1e-3, head_lr=1e-2, warmup_steps=2, precision="fp32", heads={"q": "action"})
    batch = pack(sequences(), 64)
    learner, resumed = Learner(model(), config), Learner(model(), config)
    before = parameters(learner)
    for _ in range(2):
        learner.forward_backward(batch, loss)
        learner.optim_step()
        if learner.step == 1:
            changes = {
                name: float((now - before[name]).abs().max()) for name, now in parameters(learner).items()
            }
            checkpoint.save(learner, tmp_path, lambda folder: {})
    heads = {name for name in changes if name.startswith("heads.")}
    assert {name: changes[name] for name in heads} == pytest.approx(dict.fromkeys(heads, 5e-3), rel=1e-3)
    assert max(change for name, change in changes.items() if name not in heads) == pytest.approx(
        5e-4, rel=1e-2
    )
    checkpoint.load(resumed, tmp_path)
    resumed.forward_backward(batch, loss)
    resumed.optim_step()
    close(parameters(resumed), parameters(learner), atol=0)


def test_the_examples_of_each_loss_are_counted() -> None:
    """A sequence without a trained token is no example; one counts in each gradient step."""
    made = [
        TokenSequence([3, 4, 5 + i], [0.0, 0.0, float(i != 1)], loss="critic" if i < 3 else "policy")
        for i in range(7)
    ]
    batch = pack(made, 8)
    assert batch.examples() == {"critic": 2, "policy": 4}
    assert pack(made[:3], 8).examples() == {"critic": 2}
    learner = Learner(model(), FP32)
    assert learner.passes()["examples_policy"] == 0
    for _ in range(2):
        learner.forward_backward(batch, nll(1.0))
        learner.logprobs(batch)
    assert {n: x for n, x in learner.passes().items() if "examples" in n} == {
        "examples_policy": 8, "examples_critic": 4,
    }  # fmt: skip
