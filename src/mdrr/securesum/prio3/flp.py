"""The fully linear proof system of the draft (section 7.3; Boneh et al. 2019, theorem 4.3).

A circuit is linear but for one gadget, called several times: g(x) = Σ_j x_2j·x_2j+1, the draft's
ParallelSum of Mul. Put the values of each input wire over the calls, after a random one, on a
polynomial W_j through the P-th roots of unity. Then G = g(W_1, W_2, …) has degree 2(P − 1), its
values at the roots are the gadget's outputs, and the proof is the random values and G. Those who
hold shares of vector and proof evaluate the circuit on their shares, taking outputs from G; the
sums of what they find show whether the outputs are zero, and whether G(t) = g(W(t)) at a random t.

Polynomials are given by their values at roots of unity. All functions work on a batch of reports.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mdrr.securesum.prio3.field import Elements, Field


class Circuit(Protocol):
    """What a measurement must satisfy, and how it is encoded and summed.

    `joint` is public randomness (n, joint_rands, 2) that nobody chose; `shares` is by how many
    the vectors are shared, so that constants are added once in all.
    """

    @property
    def field(self) -> Field:
        """Where the numbers lie."""

    @property
    def algorithm(self) -> int:
        """The draft's number of the algorithm; part of every tag."""

    @property
    def length(self) -> int:
        """Numbers of an encoded measurement."""

    @property
    def sums(self) -> int:
        """Numbers of what is summed."""

    @property
    def joint_rands(self) -> int:
        """Numbers of public randomness."""

    @property
    def outputs(self) -> int:
        """How many outputs must be zero."""

    @property
    def calls(self) -> int:
        """How often the gadget is called."""

    @property
    def products(self) -> int:
        """Products in one call of the gadget."""

    def encode(self, measurements: Any) -> Elements:
        """Measurements as vectors: (n, length, 2)."""

    def wires(self, vectors: Elements, joint: Elements, shares: int) -> Elements:
        """What goes into the gadget: (n, calls, 2·products, 2), linear in the vectors."""

    def check(self, vectors: Elements, joint: Elements, gadget: Elements, shares: int) -> Elements:
        """The outputs (n, outputs, 2), linear in the vectors and the gadget's (n, calls, 2)."""

    def truncate(self, vectors: Elements) -> Elements:
        """What is summed: (n, sums, 2), linear in the vectors."""

    def decode(self, totals: list[int]) -> Any:
        """The result, from the totals."""


def points(circuit: Circuit) -> int:
    """P: the smallest power of two above the number of calls."""
    return 1 << circuit.calls.bit_length()


def proof_length(circuit: Circuit) -> int:
    """Numbers of a proof: one per wire and 2(P − 1) + 1 for the gadget's polynomial."""
    return prove_rands(circuit) + 2 * points(circuit) - 1


def prove_rands(circuit: Circuit) -> int:
    """Numbers of the prover's randomness: one per wire."""
    return 2 * circuit.products


def query_rands(circuit: Circuit) -> int:
    """Numbers of the verifiers' randomness: a factor per output if there are several, and t."""
    return 1 + (circuit.outputs if circuit.outputs > 1 else 0)


def verifier_length(circuit: Circuit) -> int:
    """Numbers of a verifier share: output, wires at t, gadget's polynomial at t."""
    return 2 + prove_rands(circuit)


def prove(circuit: Circuit, vectors: Elements, rands: Elements, joint: Elements) -> Elements:
    """Proofs that encoded measurements are valid; they convince nobody if one is not.

    Arguments:
        circuit: what is proved.
        vectors: (n, length, 2).
        rands: (n, prove_rands, 2), the prover's own.
        joint: (n, joint_rands, 2).

    Returns:
        (n, proof_length, 2).
    """
    field = circuit.field
    wires = _through_roots(circuit, rands, circuit.wires(vectors, joint, 1)).swapaxes(1, 2)
    between = transform(field, transform(field, wires, inverse=True), shifted=True)
    at_roots, at_others = (
        field.dot(w[:, ::2].swapaxes(1, 2), w[:, 1::2].swapaxes(1, 2)) for w in (wires, between)
    )
    gadget = np.stack([at_roots, at_others], axis=2).reshape(len(vectors), 2 * points(circuit), 2)
    return np.concatenate([rands, gadget[:, :-1]], axis=1)


def _through_roots(circuit: Circuit, rands: Elements, inputs: Elements) -> Elements:
    """The wires' values at all roots, random ones first and zeros last: (n, P, 2·products, 2)."""
    wires = np.zeros((len(inputs), points(circuit), *inputs.shape[2:]), np.uint64)
    wires[:, 0] = rands
    wires[:, 1 : 1 + circuit.calls] = inputs
    return wires


def transform(
    field: Field, values: Elements, *, inverse: bool = False, shifted: bool = False
) -> Elements:
    """The number-theoretic transform over the last axis of numbers, a power of two long.

    Arguments:
        field: where the numbers lie.
        values: (…, P, 2), coefficients; or values at the P-th roots of unity if `inverse`.
        inverse: go back from values to coefficients.
        shifted: evaluate at the 2P-th roots of unity that are no P-th roots.

    Returns:
        (…, P, 2).
    """
    size = values.shape[-2]
    roots = field.roots(2 * size)
    if shifted:
        values = field.multiply(values, field.elements(roots[:size]))
    bits = size.bit_length() - 1
    order = [int(f"{k:0{bits}b}"[::-1], 2) for k in range(size)]
    out = values[..., order, :]
    for half in (1 << level for level in range(bits)):
        pairs = out.reshape(*out.shape[:-2], size // (2 * half), 2, half, 2)
        twiddles = field.elements(roots[:: size // half][:half])
        first, second = pairs[..., 0, :, :], field.multiply(pairs[..., 1, :, :], twiddles)
        both = [field.add(first, second), field.subtract(first, second)]
        out = np.stack(both, axis=-3).reshape(values.shape)
    if inverse:
        backwards = [-k % size for k in range(size)]
        out = field.multiply(out[..., backwards, :], field.elements([pow(size, -1, field.modulus)]))
    return out


def query(
    circuit: Circuit,
    vectors: Elements,
    proofs: Elements,
    rands: Elements,
    joint: Elements,
    shares: int,
) -> tuple[Elements, npt.NDArray[np.bool_]]:
    """One holder's verifier shares, from her shares of vectors and proofs.

    Arguments:
        circuit: what is proved.
        vectors: shares (n, length, 2).
        proofs: shares (n, proof_length, 2).
        rands: (n, query_rands, 2), the same for all holders and unknown to the prover.
        joint: (n, joint_rands, 2).
        shares: how many holders there are.

    Returns:
        The verifier shares (n, verifier_length, 2), and which reports have a t that may be used:
        at a root of unity the shares would show a wire's value.
    """
    field, size = circuit.field, points(circuit)
    seeds, gadget = proofs[:, : prove_rands(circuit)], proofs[:, prove_rands(circuit) :]
    gadget = np.concatenate([gadget, _last_value(field, gadget)], axis=1)
    wires = _through_roots(circuit, seeds, circuit.wires(vectors, joint, shares))
    called = gadget[:, 2 : 2 * circuit.calls + 2 : 2]
    checked = circuit.check(vectors, joint, called, shares)
    output = field.dot(checked, rands[:, :-1]) if circuit.outputs > 1 else checked[:, 0]
    t = rands[:, -1]
    weights, is_root = _basis(field, t, size)
    wires_at_t = field.dot(wires.swapaxes(1, 2), weights[:, None])
    gadget_at_t = field.dot(gadget, _basis(field, t, 2 * size)[0])
    verifier = np.concatenate([output[:, None], wires_at_t, gadget_at_t[:, None]], axis=1)
    return verifier, ~is_root


def _last_value(field: Field, values: Elements) -> Elements:
    """The value at the last root of a polynomial of lower degree: its top coefficient is zero."""
    roots = field.roots(values.shape[1] + 1)
    weights = field.elements(-roots[1] * root for root in roots[:-1])
    return field.dot(values, weights)[:, None]


def _basis(field: Field, t: Elements, size: int) -> tuple[Elements, npt.NDArray[np.bool_]]:
    """How a value at t follows from those at the roots: weights (n, size, 2); and if t is a root.

    L_k(t) = ω^k / size · Π_{j≠k} (t − ω^j).
    """
    roots = field.elements(field.roots(size))
    gaps = field.subtract(t[:, None], roots)
    scale = field.multiply(roots, field.elements([pow(size, -1, field.modulus)]))
    weights = np.broadcast_to(scale, gaps.shape).copy()
    for order in (range(size), range(size - 1, -1, -1)):
        product = np.broadcast_to(field.elements([1]), t.shape)
        for k in order:
            weights[:, k] = field.multiply(weights[:, k], product)
            product = field.multiply(product, gaps[:, k])
    return weights, np.asarray(~product.any(axis=-1))


def decide(circuit: Circuit, verifiers: Elements) -> npt.NDArray[np.bool_]:
    """Which reports are valid, from the sums of all verifier shares (n, verifier_length, 2)."""
    wires, gadget = verifiers[:, 1:-1], verifiers[:, -1]
    holds = circuit.field.dot(wires[:, ::2], wires[:, 1::2]) == gadget
    return np.asarray(~verifiers[:, 0].any(axis=-1) & holds.all(axis=-1))
