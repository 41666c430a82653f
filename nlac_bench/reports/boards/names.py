"""Names the entries of a board by what distinguishes them: the agent, the model, the settings, or a hash."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from nlac_bench.leaderboards.entry import Entry

_LONGEST = 60
"""Characters of the settings in a name."""


def entry_names(entries: Sequence[Entry]) -> dict[str, str]:
    """Return a name for each entry id.

    It is the agent. Entries of one agent also have the model, and those of one agent and model the settings
    in which they differ from most of these: ``nlac``, ``nlac (kl_coef=0.3)``, ``nlac (world 1010,
    steps=300)``. Where these are too long, or equal, they have a hash.
    """
    agents = Counter(entry.subject.label for entry in entries)
    alike: dict[tuple[str, str | None], list[Entry]] = {}
    for entry in entries:
        alike.setdefault((entry.subject.label, entry.subject.model), []).append(entry)
    names: dict[str, str] = {}
    for (agent, model), group in alike.items():
        if agents[agent] == 1:
            details = [""]
        elif len(group) == 1:
            details = [model or "no model"]
        else:
            details = _differences([_facts(entry) for entry in group])
            if agents[agent] > len(group):
                details = [", ".join(filter(None, (model or "no model", each))) for each in details]
        shared = Counter(details)
        for entry, detail in zip(group, details, strict=True):
            unclear = shared[detail] > 1 or len(detail) > _LONGEST
            known = entry.entry_id.rsplit("-", 1)[-1][:6] if unclear else detail
            names[entry.entry_id] = f"{agent} ({known})" if known else agent
    return names


def _facts(entry: Entry) -> dict[str, str]:
    """Return what an entry may differ in, in words, by its name."""
    subject, training = entry.subject, entry.subject.training
    worlds = " ".join(map(str, subject.worlds or ()))
    facts = {"worlds": f"world{'s' * (' ' in worlds)} {worlds}"} if worlds else {}
    if training is not None:
        facts["budget"] = training.budget or "no budget"
        facts |= {name: f"{name}={_text(value)}" for name, value in sorted(training.settings.items())}
    measured = {"temperature": subject.temperature, "max_tokens": subject.max_tokens}
    return facts | {name: f"{name}={_text(value)}" for name, value in measured.items()}


def _differences(facts: Sequence[Mapping[str, str]]) -> list[str]:
    """Return in what each differs from the most frequent; of equally frequent words, from the first."""
    usual = {
        name: max(sorted(words), key=words.__getitem__)
        for name in dict.fromkeys(name for each in facts for name in each)
        for words in [Counter(each.get(name, f"no {name}") for each in facts)]
    }
    return [
        ", ".join(word for name in usual if (word := each.get(name, f"no {name}")) != usual[name])
        for each in facts
    ]


def _text(value: object) -> str:
    return f"{value:g}" if type(value) is float else json.dumps(value)[:_LONGEST]
