"""GroupTransfer: a backend of vLLM's weight transfer that gets weights by broadcast or from a file.

It runs in vLLM's worker processes, on GPUs over NCCL and on CPUs over Gloo. Its rank 0 is a ``Fanout``.
"""

from dataclasses import dataclass
from typing import Any

from nlac_bench.rollout.engines.vllm.group import GroupError, Invitation, Member
from nlac_bench.rollout.engines.vllm.transfer import FileTransfer, FileUpdate


@dataclass
class BufferUpdate:
    """The buffer ``number``, and the fields of the ``Part`` of each of its tensors."""

    number: int
    parts: list[list[object]]


class GroupTransfer(FileTransfer):
    """Receives weights in buffers, one for each request, and loads each.

    Tensors that are not those that were sent, or that the model refuses, are reported at the end of the
    update: until then the worker takes part in all collectives, so that the others are not blocked.
    """

    init_info_cls: Any = Invitation
    _member: Member | None = None
    _failure: Exception | None = None

    def init_transfer_engine(self, init_info: Invitation) -> None:
        """Join the process group of ``init_info``; leave an earlier one.

        Raises:
            GroupError: the group is not formed.
        """
        self.shutdown()
        parallel = self.parallel_config  # the worker's number among those of all data-parallel engines
        number = parallel.data_parallel_index * parallel.world_size + parallel.rank
        self._member = Member(init_info, number, self.device)

    def parse_update_info(self, update_dict: dict[str, Any]) -> FileUpdate | BufferUpdate:
        """Return the description of a file, or of a buffer."""
        if "path" in update_dict:
            file: FileUpdate = super().parse_update_info(update_dict)
            return file
        return BufferUpdate(**update_dict)

    def start_weight_update(self) -> None:
        """See ``FileTransfer``."""
        self._failure = None
        super().start_weight_update()

    def receive_weights(self, update_info: FileUpdate | BufferUpdate) -> None:
        """Receive and load a buffer, or load a file.

        Raises:
            GroupError: the group cannot be used.
            ValueError: as ``FileTransfer``, with a file.
        """
        if isinstance(update_info, FileUpdate):
            super().receive_weights(update_info)
            return
        if self._member is None:
            raise GroupError("this worker has not joined a group; it was restarted")
        tensors = self._member.receive(update_info.number, update_info.parts)
        if self._failure is None:
            try:
                self._loading.load((name, tensor.to(self.device)) for name, tensor in tensors)
            except Exception as error:
                self._failure = error

    def finish_weight_update(self) -> None:
        """See ``FileTransfer``.

        Raises:
            ValueError: also if a buffer was refused.
        """
        if self._failure is not None:
            reason = f"{type(self._failure).__name__}: {self._failure}"
            raise ValueError(
                reason if "digests:" in reason else f"digests: the model refused a tensor ({reason})"
            )
        super().finish_weight_update()

    def shutdown(self) -> None:
        """Leave the process group."""
        if self._member is not None:
            self._member.close()
            self._member = None
