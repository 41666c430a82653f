"""The area under the ROC curve."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Return the chance that a score with a true label exceeds one with a false label; ties count half.

    Returns:
        None if all labels are the same.
    """
    scores_N, labels_N = np.asarray(scores, float), np.asarray(labels, bool)
    won: NDArray[np.float64] = scores_N[labels_N]
    lost: NDArray[np.float64] = scores_N[~labels_N]
    if not len(won) or not len(lost):
        return None
    difference_WL = won[:, None] - lost[None, :]
    return float((difference_WL > 0).mean() + (difference_WL == 0).mean() / 2)
