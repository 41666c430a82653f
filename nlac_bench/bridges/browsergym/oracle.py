"""A scripted player of many of MiniWoB++'s tasks: it reads the goal, the accessibility tree and attributes.

A rule fits every task whose goal has its form; none knows where a task's elements are.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nlac_bench.bridges.browsergym.actions import ActionCall
from nlac_bench.bridges.browsergym.page import View
from nlac_bench.errors import NlacBenchError

_FIELDS = ("textbox", "searchbox", "spinbutton", "Date", "InputTime")
_FINISH = ("submit", "login", "ok")


@dataclass(frozen=True, slots=True)
class _Element:
    id: str
    role: str
    name: str
    value: str
    state: Mapping[str, Any]


class _Screen:
    """What the player sees, and what it did before."""

    def __init__(self, view: View, calls: Sequence[ActionCall]) -> None:
        self.calls, self.dom = calls, view.dom
        self.elements: list[_Element] = []
        """In the page's order; texts have the role StaticText and no id."""
        for node in view.nodes:
            role, name = node["role"]["value"], str(node.get("name", {}).get("value", ""))
            state = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
            value = str(node.get("value", {}).get("value", ""))
            if role == "StaticText" or ("browsergym_id" in node and not node.get("ignored")):
                self.elements.append(
                    _Element(node.get("browsergym_id", ""), role, name.strip(), value, state)
                )

    @property
    def texts(self) -> list[str]:
        return [each.name for each in self.of("StaticText")]

    def of(self, *roles: str) -> list[_Element]:
        return [each for each in self.elements if each.role in roles]

    def fields(self) -> list[_Element]:
        """The fields that can be filled, each once: the parts of a date have the id of their field."""
        by_id = {each.id: each for each in reversed(self.of(*_FIELDS))}
        return [each for each in self.elements if by_id.get(each.id) is each]

    def named(self, name: str, *roles: str) -> _Element | None:
        """The first element with this name, of the first role that one has."""
        fitting = [each for role in roles for each in self.of(role)]
        return next((each for each in fitting if each.name == name), None)

    def submit(self) -> str:
        return _click(next(each for each in reversed(self.of("button")) if each.name.casefold() in _FINISH))

    def clicked(self, element: _Element) -> bool:
        return any(call.name == "click" and call.args[:1] == (element.id,) for call in self.calls)

    def attributes(self) -> dict[str, dict[str, str]]:
        """The tag (under "") and attributes of each element, by id."""
        strings, result = self.dom["strings"], {}
        for document in self.dom["documents"]:
            nodes = document["nodes"]
            for name, flat in zip(nodes["nodeName"], nodes["attributes"], strict=True):
                words = [strings[index] for index in flat]
                named = dict(zip(words[::2], words[1::2], strict=True)) | {"": strings[name].lower()}
                result[named.get("bid", "")] = named
        return result


def _click(element: _Element) -> str:
    return f"click({element.id!r})"


def _click_beside(view: View, covered: str) -> str:
    """Return a click on a point of the element ``covered`` that nothing else to click covers."""
    shown = {id_: each for id_, each in view.properties.items() if each["clickable"] and each["bbox"]}
    boxes = {id_: each["bbox"] for id_, each in shown.items()}
    left, top, width, height = boxes.pop(covered)
    shares = [step / 20 for step in range(1, 20)]
    points = ((left + width * across, top + height * down) for across in shares for down in shares)
    x, y = next(
        (x, y) for x, y in points
        if not any(x0 <= x <= x0 + w and y0 <= y <= y0 + h for x0, y0, w, h in boxes.values())
    )  # fmt: skip
    return f"mouse_click({x:.1f}, {y:.1f})"


def clickable(view: View) -> list[str]:
    """Return the ids of the elements that the observation shows as clickable."""
    return list(dict.fromkeys(re.findall(r"^\s*\[(\w+)\] .*, clickable(?:,|$)", view.text, re.M)))


def next_action(task: str, view: View, calls: Sequence[ActionCall]) -> str:
    """Return the next action in ``task`` after ``calls``.

    Raises:
        NlacBenchError: no rule fits the goal, or the page is not as the rule expects.
    """
    for pattern, rule in _RULES:
        match = re.match(pattern, view.goal)
        if match is not None:
            try:
                if view.error.startswith("TimeoutError") and calls[-1].name == "click":
                    return _click_beside(view, str(calls[-1].args[0]))
                return rule(_Screen(view, calls), match)
            except (AttributeError, IndexError, StopIteration, ValueError) as error:  # an element is missing
                raise NlacBenchError(f"the oracle of {task} does not find its way on the page") from error
    raise NlacBenchError(f"the oracle cannot play {task}: no rule fits the goal {view.goal!r:.200}")


Rule = Callable[[_Screen, re.Match[str]], str]
_RULES: list[tuple[str, Rule]] = []


def _goal(pattern: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        _RULES.append((pattern, rule))
        return rule

    return register


def _fill(screen: _Screen, wanted: Sequence[tuple[_Element, str]]) -> str:
    """Fill the first field that lacks its value; submit when all have it."""
    for field, value in wanted:
        typed = any(call.name == "fill" and call.args == (field.id, value) for call in screen.calls)
        hidden = bool(field.value) or field.role in ("Date", "InputTime")  # such as a password
        if field.value != value and not (typed and hidden):
            return f"fill({field.id!r}, {value!r})"
    return screen.submit()


@_goal(r"Click button \w+")
def _buttons(screen: _Screen, goal: re.Match[str]) -> str:
    names = re.findall(r"click button (\w+)", goal.string, re.I)
    buttons = [screen.named(name, "button") for name in names]
    return _click(next(each for each in buttons if each is not None and not screen.clicked(each)))


@_goal(r"Click the button\.")
def _the_button(screen: _Screen, _: re.Match[str]) -> str:
    return _click(screen.of("button")[0])


@_goal(r"Click on (Tab #\d+)\.")
def _tab(screen: _Screen, goal: re.Match[str]) -> str:
    return _click(screen.named(goal[1], "link"))  # type: ignore[arg-type]


@_goal(r'Click on a "(.+)" widget')
def _widget(screen: _Screen, goal: re.Match[str]) -> str:
    for id_, named in screen.attributes().items():
        kind = named.get("type", "") if named[""] == "input" else named[""]
        if kind == goal[1]:
            return f"click({id_!r})"
    raise IndexError


@_goal(r"Click on the (\w+) colored box")
def _colour(screen: _Screen, goal: re.Match[str]) -> str:
    styles = {id_: named.get("style", "") for id_, named in screen.attributes().items()}
    return (
        f"click({next(id_ for id_, style in styles.items() if f'background-color: {goal[1]};' in style)!r})"
    )


@_goal(r"Expand the section below and click submit")
def _expand(screen: _Screen, _: re.Match[str]) -> str:
    section = screen.of("tab")[0]
    return screen.submit() if section.state.get("expanded") else _click(section)


@_goal(r'(?:Click (?:on )?the|Close|Expand|Switch|Navigate)[^"]* "([^"]+)"( button|)\.')
def _find(screen: _Screen, goal: re.Match[str]) -> str:
    """Click on what has the name; while it is not shown, open the next tab, section or folder."""
    name = "Close" if goal[1] == "x" and screen.of("dialog") else goal[1]
    target = screen.named(name, "button", "link", "element", "listitem")
    if target is not None:
        return _click(target)
    folders = {
        id_ for id_, named in screen.attributes().items() if "folder" in named.get("class", "").split()
    }
    tabs = [screen.named(each.name, "link") or each for each in screen.of("tab")]
    tabs += [each for each in screen.of("element") if each.id in folders]
    return _click(next(each for each in tabs if not screen.clicked(each) and not each.state.get("selected")))


@_goal(r"Select (?!words similar)(.+?)(?: from the (?:scroll )?list)? and click Submit\.")
def _select(screen: _Screen, goal: re.Match[str]) -> str:
    wanted = [] if goal[1] == "nothing" else goal[1].split(", ")
    for box in screen.of("checkbox", "radio"):
        if (box.state.get("checked") == "true") is not (box.name in wanted):
            return _click(box)
    for choice in screen.of("combobox", "listbox"):
        chosen = [each.name for each in screen.of("option") if each.state.get("selected")]
        if set(chosen) != set(wanted):
            return f"select_option({choice.id!r}, {wanted!r})"
    return screen.submit()


@_goal(r'Choose (.+) from the dropdown, then click the button labeled "(.+)"\.')
def _choose(screen: _Screen, goal: re.Match[str]) -> str:
    if not any(each.name == goal[1] and each.state.get("selected") for each in screen.of("option")):
        return f"select_option({screen.of('combobox')[0].id!r}, {goal[1]!r})"
    return _click(screen.named(goal[2], "button"))  # type: ignore[arg-type]


@_goal(r'(?:Enter|Type) (?:the (?:username|password) )?"')
def _type(screen: _Screen, goal: re.Match[str]) -> str:
    if (cancel := screen.named("Cancel", "button")) is not None:
        return _click(cancel)  # of a dialog in front of the form
    values, fields = re.findall(r'"([^"]*)"', goal.string), screen.fields()
    case = re.search(r"all (upper|lower) case", goal.string)
    change = {"upper": str.upper, "lower": str.lower}[case[1]] if case else str
    repeated = values * len(fields) if len(values) == 1 else values
    return _fill(screen, [(field, change(value)) for field, value in zip(fields, repeated, strict=False)])


@_goal(r"Enter (\d+)/(\d+)/(\d+) as the date")
def _date(screen: _Screen, goal: re.Match[str]) -> str:
    return _fill(screen, [(screen.fields()[0], f"{goal[3]}-{goal[1]}-{goal[2]}")])


@_goal(r"Enter (\d+):(\d+) (AM|PM) as the time")
def _time(screen: _Screen, goal: re.Match[str]) -> str:
    hour = int(goal[1]) % 12 + (12 if goal[3] == "PM" else 0)
    return _fill(screen, [(screen.fields()[0], f"{hour:02d}:{goal[2]}")])


@_goal(r"Enter the value of (.+) into the text field")
def _cell(screen: _Screen, goal: re.Match[str]) -> str:
    cells = [each.name for each in screen.of("cell", "gridcell")]
    return _fill(screen, [(screen.fields()[0], cells[cells.index(goal[1]) + 1])])


@_goal(r"Enter the value that corresponds with each label")
def _cells(screen: _Screen, _: re.Match[str]) -> str:
    cells = [each.name for each in screen.of("cell", "gridcell")]
    labels = [text.removesuffix(":") for text in screen.texts if text.endswith(":")]
    values = [cells[cells.index(label) + 1] for label in labels]
    return _fill(screen, list(zip(screen.fields(), values, strict=True)))


@_goal(r"Focus into the (?:(\d)\w\w )?(?:input )?textbox")
def _focus(screen: _Screen, goal: re.Match[str]) -> str:
    return f"focus({screen.fields()[int(goal[1] or 1) - 1].id!r})"


@_goal(r"Find the (\d+)\w\w word in the paragraph")
def _word(screen: _Screen, goal: re.Match[str]) -> str:
    words = " ".join(screen.texts).split()
    return _fill(screen, [(screen.fields()[0], words[int(goal[1]) - 1].strip(".,"))])


@_goal(r"Copy the text (?:from|in) the (?:(\d)\w\w )?text ?area")
def _copy(screen: _Screen, goal: re.Match[str]) -> str:
    fields = screen.fields()
    areas = [each for each in fields if each.state.get("multiline")]
    target = next(each for each in fields if each not in areas)
    return _fill(screen, [(target, areas[int(goal[1] or 1) - 1].value)])


@_goal(r"Solve (?:the math problem|for x)")
def _solve(screen: _Screen, _: re.Match[str]) -> str:
    text = " ".join(screen.texts)
    operators = {"+": operator.add, "-": operator.sub, "x": operator.mul, "×": operator.mul}
    if (sum_ := re.search(r"(\d+) ([-+x×]) (\d+) =", text)) is not None:
        return _fill(screen, [(screen.fields()[0], str(operators[sum_[2]](int(sum_[1]), int(sum_[3]))))])
    left, sign, right, total = re.search(r"(\w+) ([-+]) (\w+) = (-?\d+)", text).groups()  # type: ignore[union-attr]
    apply = operators[sign]
    unknown = next(
        x for x in range(-1000, 1000)
        if apply(*(x if side == "x" else int(side) for side in (left, right))) == int(total)
    )  # fmt: skip
    return _fill(screen, [(screen.fields()[0], str(unknown))])


@_goal(r"Mark the numbers below as odd or even")
def _parity(screen: _Screen, _: re.Match[str]) -> str:
    numbers = [int(text) for text in screen.texts if re.fullmatch(r"-?\d+", text)]
    buttons = {name: [each for each in screen.of("button") if each.name == name] for name in ("Even", "Odd")}
    wanted = [buttons["Odd" if number % 2 else "Even"][i] for i, number in enumerate(numbers)]
    return next((_click(each) for each in wanted if not screen.clicked(each)), screen.submit())


@_goal(r"Find the email by (\w+) and click the (trash|star) icon")
def _icon(screen: _Screen, goal: re.Match[str]) -> str:
    classes = {id_: named.get("class", "") for id_, named in screen.attributes().items()}
    names = [each.name for each in screen.elements]
    after = screen.elements[names.index(goal[1]) :]
    return _click(next(each for each in after if goal[2] in classes.get(each.id, "").split()))
