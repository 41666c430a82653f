"""Computes the value of an expression to a given precision, with its free symbols at fixed points.

The size of a number is checked before it is computed, so that `e^{e^{e^{e^e}}}` raises at no cost.
"""

import hashlib
import threading
from collections.abc import Mapping
from functools import cache
from typing import Protocol

from nlac_bench.simulators.math_grader.evaluate.exact import Undefined, rational
from nlac_bench.simulators.math_grader.read.nodes import Node, TooComplex, key, names, symbols, walk

MAX_MAGNITUDE = 2**40  # binary exponent of a number
MAX_TERMS = 2_000  # maximal length of a finite sum or product
WIDE = 1_000
"""First of the points whose values cover several orders of magnitude."""


class Number(Protocol):
    """A real or complex number of mpmath, which declares no types; complex numbers raise when compared."""

    def __add__(self, other: object, /) -> "Number": ...
    def __sub__(self, other: object, /) -> "Number": ...
    def __mul__(self, other: object, /) -> "Number": ...
    def __rmul__(self, other: object, /) -> "Number": ...
    def __truediv__(self, other: object, /) -> "Number": ...
    def __rtruediv__(self, other: object, /) -> "Number": ...
    def __pow__(self, other: object, /) -> "Number": ...
    def __neg__(self) -> "Number": ...
    def __abs__(self) -> "Number": ...
    def __int__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __lt__(self, other: object, /) -> bool: ...
    def __le__(self, other: object, /) -> bool: ...
    def __gt__(self, other: object, /) -> bool: ...


class Evaluator:
    """Evaluates trees at one precision with free symbols at fixed points.

    `lost` is the number of bits lost to cancellation, `scale` the largest binary exponent, and `dropped` is
    True if a term was too small for this precision: together they bound the error. `real` is True if no
    number was complex.
    """

    def __init__(self, bits: int, point: int) -> None:
        self.mp = _contexts().mp
        self.bits, self.point = bits, point
        self.mp.prec = bits
        self.lost = self.scale = 0.0
        self.dropped = False
        self.real = True
        self.bound: dict[str, Number] = {}

    def __call__(self, node: Node) -> Number:
        """Return the value of `node`, a real or complex mpmath number.

        Raises:
            Undefined: `node` has no value.
            TooComplex: the value is out of range.
        """
        mp = self.mp
        mp.prec = self.bits
        try:
            value = self._value(node)
        except (ZeroDivisionError, ValueError, TypeError, NotImplementedError, mp.NoConvergence) as error:
            raise Undefined(str(error) or type(error).__name__) from None
        except OverflowError as error:
            raise TooComplex(f"a number out of range ({error})") from None
        if mp.isnan(value):
            raise Undefined("not a number")
        return value

    def _value(self, node: Node) -> Number:
        exact = rational(node)
        if exact is not None:
            return self.mp.mpf(exact.numerator) / exact.denominator
        method = getattr(self, f"_{node.op}", None)
        if method is None:
            raise Undefined(f"a {node.op} has no value")
        value = method(node)
        mp = self.mp
        if mp.isnormal(value):
            size = mp.mag(value)
            if abs(size) > MAX_MAGNITUDE:
                raise TooComplex("a number out of range")
            self.scale = max(self.scale, float(size))
            self.real = self.real and not mp.im(value)
        return value

    def _add(self, node: Node) -> Number:
        terms = [self._value(arg) for arg in node.args]
        total = self.mp.fsum(terms)
        sizes = [self.mp.mag(t) for t in terms if self.mp.isnormal(t)]
        largest = max(sizes, default=0)
        self.dropped |= largest - min(sizes, default=0) > self.bits - 64
        if not self.mp.isnormal(total):
            self.lost += 0 if self.mp.isinf(total) else self.bits
        elif (cost := largest - self.mp.mag(total)) > 0:
            self.lost += float(cost)
        return total

    def _mul(self, node: Node) -> Number:
        result = self.mp.mpf(1)
        for arg in node.args:
            result *= self._value(arg)
        return result

    def _div(self, node: Node) -> Number:
        return self._value(node.args[0]) / self._value(node.args[1])

    def _ratio(self, node: Node) -> Number:
        if len(node.args) != 2:
            raise Undefined("a ratio of more than two")
        return self._div(node)

    def _neg(self, node: Node) -> Number:
        return -self._value(node.args[0])

    def _pct(self, node: Node) -> Number:
        return self._value(node.args[0]) / 100

    def _deg(self, node: Node) -> Number:
        return self._value(node.args[0]) * self.mp.pi / 180

    def _const(self, node: Node) -> Number:
        mp = self.mp
        if node.value in self.bound:
            return self.bound[node.value]
        return {"pi": +mp.pi, "e": +mp.e, "i": mp.mpc(0, 1), "oo": mp.inf}[node.value]

    def _sym(self, node: Node) -> Number:
        if node.value in self.bound:
            return self.bound[node.value]
        return self._pick(node.value)

    def _pick(self, name: str) -> Number:
        """Return a free symbol's value: 0.5 to 2.5 at points 0, 3, 6 …, negative at point 1, else either.

        From point WIDE on a symbol may also be ten or a hundred times as large, a tenth as small, or whole.
        """
        seed = hashlib.blake2b(f"{name}|{self.point}".encode(), digest_size=16).digest()
        size = self.mp.mpf(int.from_bytes(seed, "big")) / 2**127 + self.mp.mpf(1) / 2
        if self.point >= WIDE:
            size = size * (1, 10, 100, self.mp.mpf(1) / 10)[seed[1] % 4]
            if self.point % 4 == 0:  # distinguishes the ceiling from the floor plus 1
                size = self.mp.ceil(size)
        return -size if self.point == 1 or (self.point % 3 and seed[0] & 1) else size

    def _pow(self, node: Node) -> Number:
        mp = self.mp
        base, exponent = self._value(node.args[0]), self._value(node.args[1])
        if not mp.isnormal(base) or not mp.isnormal(exponent):
            return base**exponent
        growth = abs(exponent) * max(1, abs(mp.mag(base)))
        if growth > MAX_MAGNITUDE:
            raise TooComplex("a power out of range")
        self.lost += max(0.0, float(mp.log(growth, 2))) if growth > 1 else 0
        if mp.im(base) == 0 and mp.re(base) < 0 and node.args[1].op == "div":
            bottom = rational(node.args[1].args[1])
            if bottom is not None and bottom.denominator == 1 and bottom % 2 == 1 and mp.im(exponent) == 0:
                top = rational(node.args[1].args[0])
                if top is not None and top.denominator == 1:  # (-8)^{1/3} is -2 if numbers are real
                    return (-1 if top % 2 else 1) * (-base) ** exponent
        return base**exponent

    def _root(self, node: Node) -> Number:
        radicand, index = self._value(node.args[0]), self._value(node.args[1])
        if index == 2:
            return self.mp.sqrt(radicand)
        odd = self.mp.isint(index) and int(index) % 2 == 1
        if odd and self.mp.im(radicand) == 0 and self.mp.re(radicand) < 0:
            return (
                -self.mp.root(-radicand, int(index)) if abs(index) < 10_000 else -((-radicand) ** (1 / index))
            )
        return radicand ** (1 / index)

    def _fact(self, node: Node) -> Number:
        argument = self._value(node.args[0])
        if self.mp.mag(argument) > 34:
            raise TooComplex("a factorial out of range")
        return self.mp.gamma(argument + 1)

    def _fn(self, node: Node) -> Number:
        mp, name = self.mp, node.value
        arguments = [self._value(arg) for arg in node.args]
        for argument in arguments:
            if mp.isnormal(argument):
                self.lost += max(0.0, float(mp.mag(argument)))
                if mp.mag(argument) > 10_000:
                    raise TooComplex(f"the argument of {name} is too large")
        if name in ("abs", "norm"):
            return abs(arguments[0])
        if name in ("floor", "ceil"):
            nearest = mp.nint(arguments[0])
            if abs(arguments[0] - nearest) < mp.mpf(2) ** (-self.bits // 2):
                return nearest
            return mp.floor(arguments[0]) if name == "floor" else mp.ceil(arguments[0])
        if name in ("log", "ln", "lg"):
            base = 10 if name == "lg" else arguments[1] if len(arguments) > 1 else None
            result = mp.log(arguments[0]) if base is None else mp.log(arguments[0]) / mp.log(base)
            if mp.isnormal(result):
                self.lost += max(0.0, -float(mp.mag(result)))
            return result
        if name == "exp":
            if abs(arguments[0]) > MAX_MAGNITUDE:
                raise TooComplex("a power out of range")
            return mp.exp(arguments[0])
        if name == "binom" and len(arguments) == 2:
            if max(mp.mag(a) for a in arguments) > 34:
                raise TooComplex("a binomial out of range")
            return mp.binomial(*arguments)
        if name in ("max", "min"):
            return (max if name == "max" else min)(arguments)
        if name in ("Re", "Im", "arg") and len(arguments) == 1:
            return {"Re": mp.re, "Im": mp.im, "arg": mp.arg}[name](arguments[0])
        known = _FUNCTIONS.get(name)
        if known is None or len(arguments) != 1:
            return self._unknown(name, arguments)
        result = getattr(mp, known)(arguments[0])
        if mp.isnormal(result) and mp.mag(result) < 0:
            self.lost += -float(mp.mag(result))
        return result

    def _unknown(self, name: str, arguments: list[Number]) -> Number:
        """Evaluate an unknown function as a fixed smooth one, so that f(a + b) equals f(b + a)."""
        total = self._pick(f"function {name}")
        for index, argument in enumerate(arguments):
            if self.mp.isnormal(argument) and self.mp.mag(argument) > 1_000:
                raise TooComplex(f"the argument of {name}")
            total += self.mp.cos(argument * self._pick(f"{name} {index}") + index)
        return total

    def _opaque(self, node: Node) -> Number:
        name = node.value
        if name.startswith("call "):
            return self._unknown(name, [self._value(arg) for arg in node.args])
        if name in ("sum", "prod"):
            value = self._series(node)
            if value is not None:
                return value
        return self._pick(key(node))

    def _series(self, node: Node) -> Number | None:
        """Evaluate a sum or product over a finite range; return None if the bounds are not two integers."""
        lower, upper, body = node.args
        if lower.op != "rel" or lower.value != ("=",) or lower.args[0].op not in ("sym", "const"):
            return None
        first, last = rational(lower.args[1]), rational(upper)
        if first is None or last is None or first.denominator != 1 or last.denominator != 1:
            return None
        if last - first > MAX_TERMS:
            raise TooComplex(f"a series of {last - first + 1} terms")
        name = lower.args[0].value
        outer = self.bound.get(name)
        terms = []
        for index in range(int(first), int(last) + 1):
            self.bound[name] = self.mp.mpf(index)
            terms.append(self._value(body))
        if outer is None:
            self.bound.pop(name, None)
        else:
            self.bound[name] = outer
        return self.mp.fsum(terms) if node.value == "sum" else self.mp.fprod(terms)


_FUNCTIONS: Mapping[str, str] = {
    "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "coth": "coth", "sign": "sign", "sgn": "sign", "arcsin": "asin",
    "arccos": "acos", "arctan": "atan", "arccot": "acot", "arcsec": "asec", "arccsc": "acsc",
}  # fmt: skip


class _Contexts(threading.local):
    """One mpmath context per thread, since the precision is a setting of the context."""

    def __init__(self) -> None:
        from mpmath.ctx_mp import MPContext  # type: ignore[import-untyped]

        self.mp = MPContext()


@cache
def _contexts() -> _Contexts:
    return _Contexts()


def has_imaginary(node: Node) -> bool:
    return any(one.op == "const" and one.value == "i" for one in walk(node))


def is_piecewise(node: Node) -> bool:
    """Return whether another formula may hold elsewhere: `|x - 3|` is `3 - x` below 3."""
    for one in walk(node):
        if one.op == "fn" and (one.value in _PIECEWISE or one.value.startswith("arc")):
            return True
        index = one.args[1] if one.op in ("root", "pow") else None
        if index is not None and symbols(one.args[0]):
            exponent = rational(index)
            if one.op == "root" or (exponent is not None and exponent.denominator != 1):
                return True
    return False


_PIECEWISE = names("abs norm floor ceil max min sign sgn Re Im arg")
