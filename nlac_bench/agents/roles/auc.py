"""The area under the ROC curve, and its interval."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

_RESAMPLES = 1000


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Return the chance that a score with a true label exceeds one with a false label; ties count half.

    Returns:
        None if all labels are the same.
    """
    return _area(np.asarray(scores, float), np.asarray(labels, bool))


def _area(scores_N: NDArray[np.float64], labels_N: NDArray[np.bool_]) -> float | None:
    won: NDArray[np.float64] = scores_N[labels_N]
    lost: NDArray[np.float64] = scores_N[~labels_N]
    if not len(won) or not len(lost):
        return None
    difference_WL = won[:, None] - lost[None, :]
    return float((difference_WL > 0).mean() + (difference_WL == 0).mean() / 2)


def auc_interval(
    scores: Sequence[float], labels: Sequence[bool], groups: Sequence[Hashable]
) -> tuple[float, float] | None:
    """Return the 95 % bootstrap interval of ``auc``; whole groups are resampled (all states of a task).

    Resamples whose labels are all the same have no area and are left out.

    Returns:
        None with fewer than two groups, or if all labels are the same.
    """
    names = list(dict.fromkeys(groups))
    members = [[i for i, group in enumerate(groups) if group == name] for name in names]
    if len(names) < 2 or len(set(labels)) < 2:
        return None
    rng, areas = np.random.default_rng(0), []
    scores_N, labels_N = np.asarray(scores, float), np.asarray(labels, bool)
    for _ in range(_RESAMPLES):
        rows = np.concatenate([members[j] for j in rng.integers(len(names), size=len(names))])
        area = _area(scores_N[rows], labels_N[rows])
        areas += [] if area is None else [area]
    low, high = np.quantile(areas, [0.025, 0.975])
    return float(low), float(high)
