"""The proof system once more, in Python's integers and by the definitions alone.

One report at a time; polynomials have coefficients, lowest first; nothing is transformed. Only what
is public in the draft and in the docstring of `mdrr.securesum.prio3.pairs` is used.
"""

from itertools import combinations

Polynomial = list[int]
Tables = dict[tuple[int, int], list[list[int]]]


def product(a: Polynomial, b: Polynomial, p: int) -> Polynomial:
    out = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] = (out[i + j] + x * y) % p
    return out


def value(polynomial: Polynomial, x: int, p: int) -> int:
    return sum(c * pow(x, k, p) for k, c in enumerate(polynomial)) % p


def through(xs: list[int], ys: list[int], p: int) -> Polynomial:
    """Lagrange's interpolation."""
    out = [0] * len(xs)
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        basis, scale = [1], 1
        for j, other in enumerate(xs):
            if j != i:
                basis = product(basis, [-other % p, 1], p)
                scale = scale * (x - other) % p
        factor = y * pow(scale, -1, p)
        out = [(a + factor * b) % p for a, b in zip(out, basis, strict=True)]
    return out


def linear_and_quadratic(tables: Tables, s: list[list[int]], p: int) -> tuple[int, int, int]:
    """L, Q and the sum of all margins, of one group of attributes 0 to m − 1."""
    margins = [[sum(row) for row in tables[0, 1]]]
    margins += [[sum(column) for column in zip(*tables[0, j], strict=True)]
                for j in range(1, len(s))]  # fmt: skip
    linear = sum(x * u for r, m in zip(s, margins, strict=True) for x, u in zip(r, m, strict=True))
    quadratic = sum(
        x * x * u for r, m in zip(s, margins, strict=True) for x, u in zip(r, m, strict=True)
    )
    for i, j in combinations(range(len(s)), 2):
        for a, row in enumerate(tables[i, j]):
            for b, cell in enumerate(row):
                quadratic += 2 * s[i][a] * s[j][b] * cell
    return linear % p, quadratic % p, sum(map(sum, margins)) % p


def gadget(linear: int, seeds: tuple[int, int], p: int) -> Polynomial:
    """G for one call: both wires run through a seed at 1 and L at −1."""
    wires = [through([1, p - 1], [seed, linear], p) for seed in seeds]
    return product(*wires, p)
