"""A pass over the tree of prefixes is the masked pass over the rows, gradients included."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from nlac_bench.learner import attention
from nlac_bench.learner.batch import TokenBatch, TokenSequence, pack
from nlac_bench.learner.model import Forward, PolicyModel
from nlac_bench.learner.prefixes import PrefixTree, micro_batch_starts, prefix_tree
from tests.learner.small_model import model


def sequence(*ids: int) -> TokenSequence:
    return TokenSequence(list(ids), [0.0] + [1.0] * (len(ids) - 1))


def branching(seed: int, count: int = 12) -> TokenBatch:
    """Sequences that begin like earlier ones, up to anywhere; some are another's beginning, or its double."""
    draw = torch.Generator().manual_seed(seed)
    made: list[list[int]] = []
    for _ in range(count):
        base = made[int(torch.randint(len(made), (1,), generator=draw))] if made else []
        kept = int(torch.randint(len(base) + 1, (1,), generator=draw))
        tail = torch.randint(0, 60, (int(torch.randint(0, 12, (1,), generator=draw)),), generator=draw)
        made.append([*base[:kept], *tail.tolist()] or [1, 2])
    return pack([sequence(*ids) for ids in made], 40)


def test_the_tree_by_hand() -> None:
    batch = pack([sequence(5, 6, 7, 8), sequence(5, 6, 9), sequence(5, 6), sequence(4, 4)], 12)
    tree = prefix_tree(batch.ids, batch.segment_ids)
    # sorted: 4 4 | 5 6 | 5 6 7 8 | 5 6 9
    assert tree.new == [2, 2, 2, 1] and tree.lengths == [2, 2, 4, 3]
    assert tree.paths is not None and tree.paths.tolist() == [0, 1, 2, 3, 2, 3, 4, 5, 2, 3, 6]
    assert tree.node_BT[0, :11].tolist() == [2, 3, 4, 5, 2, 3, 6, 2, 3, 0, 1]
    assert batch.ids.flatten()[tree.first_N].tolist() == [4, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("seed", range(4))
def test_every_node_is_one_prefix(seed: int) -> None:
    batch = branching(seed)
    tree = prefix_tree(batch.ids, batch.segment_ids)
    prefixes: dict[int, tuple[int, ...]] = {}
    for ids, segments, nodes in zip(batch.ids, batch.segment_ids, tree.node_BT, strict=True):
        for t in segments.nonzero().flatten().tolist():
            begin = int((segments == segments[t]).nonzero()[0])
            prefix = tuple(ids[begin : t + 1].tolist())
            assert prefixes.setdefault(int(nodes[t]), prefix) == prefix
    assert len(set(prefixes.values())) == len(prefixes) == len(tree.first_N) == sum(tree.new)


def test_a_tree_without_shared_nodes_has_each_token_once() -> None:
    batch = branching(0)
    tree = prefix_tree(batch.ids, batch.segment_ids, shared=False)
    used = batch.segment_ids != 0
    assert tree.paths is None and tree.new == tree.lengths and sum(tree.new) == int(used.sum())
    assert sorted(tree.node_BT[used].tolist()) == list(range(sum(tree.new)))
    assert torch.equal(batch.ids.flatten()[tree.first_N][tree.node_BT][used], batch.ids[used])


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_pass_over_the_tree_equals_the_mask(
    seed: int, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GPUs compute a tree without shared nodes."""
    trees: list[PrefixTree] = []

    def tree_of(ids_BT: Tensor, segment_ids_BT: Tensor, **_: bool) -> PrefixTree:
        trees.append(prefix_tree(ids_BT, segment_ids_BT, shared))
        return trees[-1]

    monkeypatch.setattr("nlac_bench.learner.model.prefix_tree", tree_of)
    batch = branching(seed)
    wanted = batch.loss_mask.roll(-1, 1) != 0
    wanted[:, -1] = False
    used = batch.segment_ids != 0
    found = []
    for by_tree in (True, False):
        policy = PolicyModel(model().double(), {"value": "state", "q1": "action"}).double()
        if by_tree:
            attention.replace_sdpa(policy.causal_lm)
        torch.manual_seed(1)
        for head in policy.heads.values():
            torch.nn.init.normal_(head.weight)  # type: ignore[arg-type]
        forward = policy(batch.ids, batch.position_ids, batch.segment_ids, wanted)
        found.append([*outcomes(forward, used), *gradients(policy, forward, used)])
    assert [tree.paths is not None for tree in trees] == [shared]
    for tree, masked in zip(*found, strict=True):
        assert torch.linalg.norm(tree - masked) <= 1e-5 * torch.linalg.norm(masked)  # norms are in float32


def outcomes(forward: Forward, used: Tensor) -> list[Tensor]:
    return [forward.hidden_MH, *(head[used] for head in forward.heads_BT.values())]


def gradients(policy: PolicyModel, forward: Forward, used: Tensor) -> list[Tensor]:
    torch.manual_seed(2)
    loss = sum((o * torch.randn(o.shape, dtype=o.dtype)).sum() for o in outcomes(forward, used))
    return list(torch.autograd.grad(loss, list(policy.parameters())))  # type: ignore[arg-type]


def test_no_mask_of_all_pairs_of_nodes_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transformers sees from the positions that several sequences are in one row, and would build one."""
    built: list[Any] = []

    def mask(*arguments: Any, **others: Any) -> Any:
        built.append(arguments)
        return sdpa_mask(*arguments, **others)

    monkeypatch.setitem(AttentionMaskInterface._global_mapping, attention.NAME, mask)
    policy = PolicyModel(model())
    attention.replace_sdpa(policy.causal_lm)
    batch = branching(0)
    policy(batch.ids, batch.position_ids, batch.segment_ids, batch.loss_mask != 0)
    assert not built
    policy.causal_lm(input_ids=batch.ids, attention_mask=(batch.segment_ids != 0).long())
    assert built, "other callers of the model still get one"


def test_micro_batches_grow_where_rows_begin_alike() -> None:
    alike = pack([sequence(*range(30), i) for i in range(30, 36)], 40)  # six rows, 36 different prefixes
    assert micro_batch_starts(alike.ids, alike.segment_ids, 2) == [0]
    different = pack([sequence(*range(i, i + 31)) for i in range(6)], 40)
    assert micro_batch_starts(different.ids, different.segment_ids, 2) == [0, 2, 4]
    assert micro_batch_starts(different.ids, different.segment_ids, 4) == [0, 4]
