"""The scalar heads of trained weights that value actions, as they are used at test time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import torch

from nlac_bench.errors import DataError
from nlac_bench.learner import tensor_file
from nlac_bench.learner.batch import TokenSequence, one_a_row
from nlac_bench.learner.model import PolicyModel, load_causal_lm
from nlac_bench.rollout.engines.model_files import HEADS


class ActionHeads:
    """Values actions with the heads that ``checkpoint.export`` wrote beside a policy.

    It holds a copy of the policy in float32, on a GPU if there is one.

    Args:
        model: the policy with its heads.
    """

    def __init__(self, model: PolicyModel) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model.eval().to(self.device)

    @classmethod
    def read(cls, folder: Path, names: Sequence[str]) -> Self | None:
        """Read the heads ``names`` in ``folder``, a Hugging Face folder; None if it has no heads.

        Raises:
            DataError: the file of the heads is damaged, or has other heads or shapes.
        """
        if not (path := folder / HEADS).is_file():
            return None
        tensors, _ = tensor_file.read(path)
        model = PolicyModel(load_causal_lm(folder), dict.fromkeys(names, "action"))
        wanted = {name: list(tensor.shape) for name, tensor in model.heads.state_dict().items()}
        found = {name: list(tensor.shape) for name, tensor in tensors.items()}
        if found != wanted:
            raise DataError(
                f"{path} has the tensors {found!s:.300}, expected {wanted}; name the method that trained it "
                "with --agent"
            )
        model.heads.load_state_dict(tensors)
        return cls(model)

    @torch.no_grad()
    def values(self, sequences: Sequence[Sequence[int]]) -> list[float]:
        """Return the value of each action: the smallest output of its heads at its last token.

        Args:
            sequences: the tokens of a prompt and the action.
        """
        batch = one_a_row([TokenSequence(list(ids), [0.0] * len(ids)) for ids in sequences]).to(self.device)
        outputs = self.model(batch.ids, batch.position_ids, batch.segment_ids, batch.loss_mask != 0)
        lowest_BT = torch.stack(list(outputs.heads_BT.values())).amin(dim=0)
        return [float(lowest_BT[row, len(ids) - 1]) for row, ids in enumerate(sequences)]
