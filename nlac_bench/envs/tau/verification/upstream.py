"""Reads data from τ-bench's repository or installed package; its modules are parsed and never executed.

Upstream, task lists, rules and tool schemas are Python source. They are literals, so ``ast`` is sufficient to
read them; anything other than a literal is rejected.
"""

import ast
import hashlib
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path

from nlac_bench.envs.datasets import read_bytes
from nlac_bench.envs.pinned import TAU, TAU_COMMIT, TAU_UPSTREAM
from nlac_bench.errors import DataError

PACKAGE = "tau_bench"
_TASK_LISTS = {
    "retail/tasks_test.json": ("retail/tasks_test.py", "TASKS_TEST"),
    "retail/tasks_dev.json": ("retail/tasks_dev.py", "TASKS_DEV"),
    "retail/tasks_train.json": ("retail/tasks_train.py", "TASKS_TRAIN"),
    "airline/tasks_test.json": ("airline/tasks_test.py", "TASKS"),
}
_MAX_SOURCE_BYTES = 2**20
"""Maximal size of a tool module. These have no pinned hash; larger ones are rejected without parsing."""


def find_installed() -> Path:
    """Return the folder of the installed package ``tau_bench`` without importing it.

    Raises:
        DataError: the package is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            f"the package {PACKAGE!r} is not installed. It is not on the package index; run: "
            f"pip install git+https://github.com/sierra-research/tau-bench@{TAU_COMMIT[:7]}"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def convert_upstream(source_dir: Path, target_dir: Path) -> None:
    """Convert upstream's files to the compact data files; the hashes of both are checked.

    Args:
        source_dir: a checkout of the repository, a folder that contains one, or the installed package.
        target_dir: where ``retail/`` and ``airline/`` are written, after all checks have passed.

    Raises:
        DataError: a file is missing, altered, or does not have its pinned hash; the message names each.
    """
    envs = _find_envs(source_dir)
    sources = {name: read_bytes(envs / name) for name in TAU_UPSTREAM}
    altered = [name for name, raw in sources.items() if _sha256(raw) != TAU_UPSTREAM[name]]
    if altered:
        raise DataError(
            f"{envs}: {', '.join(altered)} differ from τ-bench {TAU_COMMIT[:7]}, the version "
            "for which scores are "
            "comparable; check out that commit (with core.autocrlf off)"
        )
    files = {name: _converted(name, sources, envs) for name in TAU}
    wrong = [name for name, raw in files.items() if _sha256(raw) != TAU[name]]
    if wrong:
        raise DataError(
            f"{envs}: {', '.join(wrong)} do not have the expected content; its tools/ may have been altered"
        )
    licence = next(
        (p for p in (envs.parent.parent / "LICENSE", envs.parent / "LICENSE") if p.is_file()), None
    )
    if licence:
        files["LICENSE"] = read_bytes(licence)
    try:
        for name, raw in files.items():
            (target_dir / name).parent.mkdir(parents=True, exist_ok=True)
            (target_dir / name).write_bytes(raw)
    except OSError as error:
        raise DataError(f"cannot write τ-bench's data to {target_dir}: {error.strerror or error}") from error


def _find_envs(source_dir: Path) -> Path:
    """Return upstream's folder ``envs``, which contains the domains."""
    marker = "retail/tasks_test.py"
    for envs in (source_dir / PACKAGE / "envs", source_dir / "envs", source_dir):
        if (envs / marker).is_file():
            return envs
    unpacked = next(source_dir.glob(f"*/{PACKAGE}/envs/{marker}"), None)  # an unpacked archive
    if unpacked:
        return unpacked.parent.parent
    raise DataError(
        f"{source_dir} contains no {PACKAGE}/envs/{marker}; pass a checkout of sierra-research/tau-bench"
    )


def _converted(name: str, sources: Mapping[str, bytes], envs: Path) -> bytes:
    domain, file = name.split("/")
    if name in _TASK_LISTS:
        module, variable = _TASK_LISTS[name]
        content = _assigned(_parse(sources[module], envs / module), variable, envs / module)
        return _compact(content, envs / module)
    if file == "wiki.md":
        return sources[name]
    if file == "rules.json":
        module = f"{domain}/rules.py"
        content = _assigned(_parse(sources[module], envs / module), "RULES", envs / module)
        return _compact(content, envs / module)
    if file == "tools.json":
        return _compact(_tool_schemas(envs / domain / "tools"), envs / domain / "tools")
    return _compact(json.loads(sources[f"{domain}/data/{file}"]), envs / domain / "data" / file)


def _tool_schemas(folder: Path) -> list[object]:
    """Return what each tool's ``get_info`` returns, in the order of ``ALL_TOOLS``."""
    path = folder / "__init__.py"
    tree = _parse(_source(path), path)
    modules = {
        alias.asname or alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
        for alias in node.names
    }
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) and _names(node, "ALL_TOOLS"):
            classes = [item.id for item in node.value.elts if isinstance(item, ast.Name)]
            unknown = [c for c in classes if not modules.get(c, "").isidentifier()]
            if unknown or len(classes) != len(node.value.elts):
                raise DataError(f"{path}: ALL_TOOLS is not a list of imported classes")
            return [_get_info(folder / f"{modules[c]}.py", c) for c in classes]
    raise DataError(f"{path} does not assign a list ALL_TOOLS")


def _get_info(path: Path, class_name: str) -> object:
    for node in ast.walk(_parse(_source(path), path)):
        if isinstance(node, ast.ClassDef) and node.name == class_name:
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "get_info":
                    returned = method.body[-1]
                    if isinstance(returned, ast.Return) and returned.value is not None:
                        return _literal(returned.value, path)
    raise DataError(f"{path}: class {class_name} has no get_info() that returns a literal")


def _assigned(tree: ast.Module, variable: str, path: Path) -> object:
    for node in tree.body:
        if isinstance(node, ast.Assign) and _names(node, variable):
            return _literal(node.value, path)
    raise DataError(f"{path} does not assign {variable}")


def _names(node: ast.Assign, variable: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == variable for target in node.targets)


def _literal(node: ast.expr, path: Path) -> object:
    """Return the value of a literal, with ``Task(…)`` and ``Action(…)`` as dicts of their keywords."""
    if isinstance(node, ast.List):
        return [_literal(item, path) for item in node.elts]
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
        return dict(zip(keys, (_literal(value, path) for value in node.values), strict=True))
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("Task", "Action")
        and not node.args
        and all(keyword.arg for keyword in node.keywords)
    ):
        return {str(keyword.arg): _literal(keyword.value, path) for keyword in node.keywords}
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise DataError(f"{path}, line {node.lineno}: not a literal; only literals are read") from error


def _source(path: Path) -> bytes:
    raw = read_bytes(path)
    if len(raw) > _MAX_SOURCE_BYTES:
        raise DataError(f"{path} has {len(raw):,} bytes, which is too large for a tool's module")
    return raw


def _parse(raw: bytes, path: Path) -> ast.Module:
    try:
        return ast.parse(raw, filename=str(path))
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise DataError(f"{path} is not Python source: {error}") from error


def _compact(value: object, path: Path) -> bytes:
    """Return ``value`` as UTF-8 JSON; raise DataError for bytes, sets, NaN and lone surrogates."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{path} contains a value that JSON cannot represent: {error}") from error


def _sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
