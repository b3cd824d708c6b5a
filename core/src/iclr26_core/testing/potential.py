# mypy: disable-error-code="no-untyped-call"
"""The contract of potentials: energy, forces and stress that belong to one another. Needs ase and numpy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

import ase.build
import numpy as np
import pytest
from ase.calculators.calculator import Calculator
from ase.calculators.fd import calculate_numerical_forces, calculate_numerical_stress
from ase.stress import full_3x3_to_voigt_6_stress, voigt_6_to_full_3x3_stress

from iclr26_core.interfaces import Potential
from iclr26_core.testing.contract import Contract
from iclr26_core.testing.gpu import require_gpu
from iclr26_core.testing.unchanged import fingerprint

PROPERTIES = ("energy", "forces", "stress")
STEP = {"float64": 1e-4, "float32": 1e-2}  # of finite differences, in Å and in strain
SLOPE = {"float64": 1e-5, "float32": 2e-2}  # the error of finite differences, eV/Å and eV/Å³
INVARIANCE = {"float64": 1e-8, "float32": 1e-3}  # where only rounding differs, eV per atom, eV/Å and eV/Å³


class PotentialContract(Contract, sealed=True):
    """Checks energy against forces and stress, and all three against the symmetries of space.

    Override ``make``, and ``example`` for other elements or larger cells. N atoms cost 6 N + 20 energies.

    Attributes:
        precision: what the potential computes in; float32 has wider tolerances and longer finite steps
    """

    precision: ClassVar[Literal["float64", "float32"]] = "float64"

    def make(self) -> Potential:
        """Return a new potential. With a GPU path: ``make(self, device="cpu")``."""
        raise NotImplementedError(f"{type(self).__name__} must define make(self)")

    def example(self) -> ase.Atoms:
        """Return N >= 2 atoms in a cell that is periodic in three directions, not at rest; the same at every call."""
        atoms = ase.build.bulk("Cu", cubic=True)
        atoms.rattle(0.1, seed=0)
        return atoms

    def test_calculator_is_one_of_ase(self) -> None:
        calculator = self.make().calculator()
        self.check(isinstance(calculator, Calculator), f"calculator() must return ase's (got {type(calculator)})")
        missing = set(PROPERTIES) - set(calculator.implemented_properties)
        self.check(not missing, f"the calculator does not implement {sorted(missing)}")

    def test_numbers_have_their_shapes(self) -> None:
        atoms = self.example()
        found = self.make().compute(atoms)
        self.check(isinstance(found["energy"], float), f"energy must be a float (got {type(found['energy']).__name__})")
        for name, shape in zip(PROPERTIES, ((), (len(atoms), 3), (6,)), strict=True):
            value = np.asarray(found[name])
            self.check(value.shape == shape, f"{name} must have shape {shape} (got {value.shape})")
            self.check(value.dtype.kind == "f" and np.isfinite(value).all(), f"{name} must be finite floats ({value})")

    def test_calculator_agrees_with_compute(self) -> None:
        atoms = self._with_calculator()
        there = {name: atoms.calc.get_property(name, atoms) for name in PROPERTIES}
        self._check_close(there, self._compute(self.example()), "the calculator and compute")

    def test_calculator_follows_moved_atoms(self) -> None:
        atoms, moved = self._with_calculator(), self.example()
        atoms.get_potential_energy()
        for each in (atoms, moved):
            each.positions[0] += 0.1
        there = {"energy": atoms.get_potential_energy(), "forces": atoms.get_forces()}
        self._check_close(there, self._compute(moved), "after a move, the calculator and a new one")

    def test_forces_are_minus_the_slope_of_the_energy(self) -> None:
        atoms, step = self._with_calculator(), STEP[self.precision]
        self._check_slope(calculate_numerical_forces(atoms, eps=step), atoms.get_forces(), "forces")

    def test_stress_is_the_slope_under_strain(self) -> None:
        atoms, step = self._with_calculator(), STEP[self.precision]
        slope = calculate_numerical_stress(atoms, eps=step, force_consistent=False)
        self._check_slope(slope, atoms.get_stress(), "stress")

    def test_place_in_space_does_not_matter(self) -> None:
        shifted, wrapped = self.example(), self.example()
        shifted.positions += (0.3, -1.1, 2.7)
        wrapped.positions[0] += wrapped.cell[1] - wrapped.cell[0]
        expected = self._compute(self.example())
        self._check_close(self._compute(shifted), expected, "shifted atoms and the original ones")
        self._check_close(self._compute(wrapped), expected, "atoms with one in another cell and the original ones")

    def test_rotation_turns_forces_and_stress(self) -> None:
        atoms, expected = self.example(), self._compute(self.example())
        atoms.rotate(37, (1, 2, 3), rotate_cell=True)
        turn = np.linalg.solve(self.example().cell.array, atoms.cell.array)
        stress = turn.T @ voigt_6_to_full_3x3_stress(expected["stress"]) @ turn
        turned = {"forces": expected["forces"] @ turn, "stress": full_3x3_to_voigt_6_stress(stress)}
        self._check_close(self._compute(atoms), {**expected, **turned}, "rotated atoms and rotated numbers")

    def test_order_of_atoms_does_not_matter(self) -> None:
        expected = self._compute(self.example())
        backward = {**expected, "forces": expected["forces"][::-1]}
        self._check_close(self._compute(self.example()[::-1]), backward, "atoms in another order and the original ones")

    def test_two_cells_have_twice_the_energy(self) -> None:
        atoms, expected = self.example(), self._compute(self.example())
        twice = {**expected, "energy": 2 * expected["energy"], "forces": np.tile(expected["forces"], (2, 1))}
        self._check_close(self._compute(atoms * (1, 1, 2)), twice, "two cells and one cell twice")

    def test_same_atoms_give_the_same_numbers(self) -> None:
        first, second = self._compute(self.example()), self._compute(self.example())
        self.check(all(np.array_equal(first[name], second[name]) for name in PROPERTIES), "two potentials differ")

    def test_atoms_are_not_changed(self) -> None:
        atoms = self.example()
        before = fingerprint((atoms.todict(), atoms.calc))
        self.make().compute(atoms)
        self.check(fingerprint((atoms.todict(), atoms.calc)) == before, "compute changed the atoms or their calculator")

    def test_bad_atoms_are_refused(self) -> None:
        nan, infinite = self.example(), self.example()
        nan.positions[0, 0], infinite.cell[0, 0] = np.nan, np.inf
        for what, atoms in {"no atoms": ase.Atoms(), "NaN positions": nan, "an infinite cell": infinite}.items():
            self.check_refused(partial(self.make().compute, atoms), ValueError, what)

    @pytest.mark.gpu
    def test_gpu_agrees_with_cpu(self) -> None:
        there = self.make(device=require_gpu(self.make)).compute(self.example())  # type: ignore[call-arg]
        self._check_close(there, self._compute(self.example()), "the GPU and the CPU")

    def _compute(self, atoms: ase.Atoms) -> dict[str, Any]:
        return dict(self.make().compute(atoms))

    def _with_calculator(self) -> ase.Atoms:
        atoms = self.example()
        atoms.calc = self.make().calculator()
        return atoms

    def _check_slope(self, numerical: Any, given: Any, what: str) -> None:
        error = np.abs(numerical - given).max()
        self.check(error <= SLOPE[self.precision], f"{what} and finite differences of the energy differ by {error}")

    def _check_close(self, here: Mapping[str, Any], there: Mapping[str, Any], what: str) -> None:
        for name, value in here.items():
            atoms = len(there["forces"]) if name == "energy" else 1
            error = np.abs(value - there[name]).max() / atoms
            self.check(error <= INVARIANCE[self.precision], f"{what} differ in {name} by {error}")
