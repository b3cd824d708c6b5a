"""The potentials' contract accepts a potential and rejects broken ones, each at the test that is meant for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import ase
import numpy as np
import pytest
from ase.calculators.calculator import Calculator, all_changes
from ase.neighborlist import neighbor_list
from ase.stress import full_3x3_to_voigt_6_stress, voigt_6_to_full_3x3_stress
from iclr26_core.testing import PotentialContract
from verdict import failing, names_of

CUTOFF = 3.5


class SoftSpheres(Calculator):
    """Atoms that repel one another with the pair energy (1 - r / 3.5 Å)³ eV."""

    implemented_properties: ClassVar[list[str]] = ["energy", "forces", "stress"]

    def calculate(self, atoms: Any = None, properties: Any = ("energy",), system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        i, distance, vector = neighbor_list("idD", self.atoms, CUTOFF)
        overlap = 1 - distance / CUTOFF
        pull = (-3 * overlap**2 / CUTOFF / distance)[:, None] * vector
        forces = np.zeros((len(self.atoms), 3))
        np.add.at(forces, i, pull)
        stress = vector.T @ pull / (2 * self.atoms.get_volume())
        voigt = full_3x3_to_voigt_6_stress(stress)
        self.results = {"energy": float((overlap**3).sum() / 2), "forces": forces, "stress": voigt}


class SoftPotential:
    """Energy, forces and stress of soft spheres."""

    sphere: ClassVar[type[Calculator]] = SoftSpheres

    def calculator(self) -> Calculator:
        return self.sphere()

    def compute(self, atoms: ase.Atoms) -> dict[str, Any]:
        if len(atoms) == 0 or not (np.isfinite(atoms.positions).all() and np.isfinite(atoms.cell.array).all()):
            raise ValueError(f"atoms must be at least one, with finite positions and cell (got {atoms})")
        calculator = self.calculator()
        calculator.calculate(atoms.copy())
        return calculator.results


class TestSoftPotential(PotentialContract):
    method = "soft-spheres"

    def make(self) -> Any:
        return SoftPotential()


class InSinglePrecision(SoftPotential):
    class Sphere(SoftSpheres):
        def calculate(self, atoms: Any = None, properties: Any = (), system_changes: Any = all_changes) -> None:
            super().calculate(atoms, properties, system_changes)
            self.results = {name: np.float32(value) for name, value in self.results.items()}
            self.results["energy"] = float(self.results["energy"])

    sphere = Sphere


class TestInSinglePrecision(PotentialContract):
    method = "soft-spheres-float32"
    precision = "float32"

    def make(self) -> Any:
        return InSinglePrecision()


class ActsLikeACalculator(SoftPotential):
    def calculator(self) -> Any:
        class Delegate:
            def __init__(self, inner: Any) -> None:
                self.inner = inner

            def __getattr__(self, name: str) -> Any:
                return getattr(self.inner, name)

        return Delegate(super().calculator())


class GivesAnArrayForEnergy(SoftPotential):
    def compute(self, atoms: Any) -> dict[str, Any]:
        found = super().compute(atoms)
        return {**found, "energy": np.array(found["energy"])}


class ComputesInOtherUnits(SoftPotential):
    def compute(self, atoms: Any) -> dict[str, Any]:
        return {name: value * 1.00001 for name, value in super().compute(atoms).items()}


class NeverRecomputes(SoftPotential):
    class Sphere(SoftSpheres):
        def get_property(self, name: str, atoms: Any = None, allow_calculation: bool = True) -> Any:
            if not self.results:
                self.calculate(atoms)
            return self.results[name]

    sphere = Sphere


class Changed(SoftPotential):
    """Soft spheres whose results pass through ``change``."""

    def calculator(self) -> Calculator:
        change = self.change

        class Sphere(SoftSpheres):
            def calculate(self, atoms: Any = None, properties: Any = (), system_changes: Any = all_changes) -> None:
                super().calculate(atoms, properties, system_changes)
                change(self.results, self.atoms)

        return Sphere()

    def change(self, results: dict[str, Any], atoms: Any) -> None:
        raise NotImplementedError


class HasStrongForces(Changed):
    def change(self, results: dict[str, Any], atoms: Any) -> None:
        results["forces"] *= 1.001


class HasStrongStress(Changed):
    def change(self, results: dict[str, Any], atoms: Any) -> None:
        results["stress"] *= 1.01


class OrdersStressOtherwise(Changed):
    def change(self, results: dict[str, Any], atoms: Any) -> None:
        results["stress"] = results["stress"][[0, 1, 2, 5, 4, 3]]


class FeelsAField(Changed):
    """Adds an energy of the scaled x coordinate, with the forces that belong to it."""

    def change(self, results: dict[str, Any], atoms: Any) -> None:
        to_scaled = np.linalg.inv(atoms.cell.array)
        phase = 2 * np.pi * (atoms.positions @ to_scaled)[:, 0]
        results["energy"] += 0.01 * float(np.cos(phase).sum())
        results["forces"] += 0.01 * 2 * np.pi * np.sin(phase)[:, None] * to_scaled[:, 0]


class IsNotIsotropic(SoftPotential):
    """Measures z with another rod, in energy, forces and stress."""

    class Sphere(SoftSpheres):
        def calculate(self, atoms: Any = None, properties: Any = (), system_changes: Any = all_changes) -> None:
            scale = np.array([1.0, 1.0, 1.05])
            stretched = atoms.copy()
            stretched.set_cell(atoms.cell.array * scale, scale_atoms=True)
            super().calculate(stretched, properties, system_changes)
            self.atoms = atoms.copy()
            full = scale[:, None] ** -1 * voigt_6_to_full_3x3_stress(self.results["stress"]) * scale * scale.prod()
            self.results["forces"] *= scale
            self.results["stress"] = full_3x3_to_voigt_6_stress((full + full.T) / 2)

    sphere = Sphere


class FavoursTheFirstAtom(Changed):
    def change(self, results: dict[str, Any], atoms: Any) -> None:
        results["forces"][0] *= 1 + 1e-6


class IsNotExtensive(Changed):
    def change(self, results: dict[str, Any], atoms: Any) -> None:
        results["energy"] += 1.0


class IsNoisy(SoftPotential):
    def compute(self, atoms: Any) -> dict[str, Any]:
        found = super().compute(atoms)
        return {**found, "energy": found["energy"] + 1e-10 * float(np.random.random())}  # noqa: NPY002


class LeavesItsCalculator(SoftPotential):
    def compute(self, atoms: Any) -> dict[str, Any]:
        atoms.calc = self.calculator()
        return super().compute(atoms)


class WrapsInPlace(SoftPotential):
    def compute(self, atoms: Any) -> dict[str, Any]:
        found = super().compute(atoms)
        atoms.wrap()
        return found


class TakesNaN(SoftPotential):
    def compute(self, atoms: Any) -> dict[str, Any]:
        if not np.isfinite(atoms.positions).all():
            return {"energy": np.nan}
        return super().compute(atoms)


CHECKED_BY_DIFFERENCES = {"test_forces_are_minus_the_slope_of_the_energy", "test_stress_is_the_slope_under_strain"}
BROKEN: dict[type[SoftPotential], set[str]] = {
    ActsLikeACalculator: {"test_calculator_is_one_of_ase"},
    GivesAnArrayForEnergy: {"test_numbers_have_their_shapes"},
    ComputesInOtherUnits: {"test_calculator_agrees_with_compute", "test_calculator_follows_moved_atoms"},
    NeverRecomputes: {"test_calculator_follows_moved_atoms", *CHECKED_BY_DIFFERENCES},
    HasStrongForces: {"test_forces_are_minus_the_slope_of_the_energy"},
    HasStrongStress: {"test_stress_is_the_slope_under_strain"},
    OrdersStressOtherwise: {"test_stress_is_the_slope_under_strain", "test_rotation_turns_forces_and_stress"},
    FeelsAField: {"test_place_in_space_does_not_matter"},
    IsNotIsotropic: {"test_rotation_turns_forces_and_stress"},
    FavoursTheFirstAtom: {"test_order_of_atoms_does_not_matter", "test_two_cells_have_twice_the_energy"},
    IsNotExtensive: {"test_two_cells_have_twice_the_energy"},
    IsNoisy: {"test_same_atoms_give_the_same_numbers"},
    LeavesItsCalculator: {"test_atoms_are_not_changed"},
    WrapsInPlace: {"test_atoms_are_not_changed"},
    TakesNaN: {"test_bad_atoms_are_refused"},
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_broken_potential_fails_where_it_is_broken(broken: type[SoftPotential], tmp_path: Path) -> None:
    class Broken(TestSoftPotential):
        def make(self) -> Any:
            return broken()

    assert failing(Broken, tmp_path).keys() == BROKEN[broken]


def test_single_precision_has_to_be_said(tmp_path: Path) -> None:
    class Broken(TestSoftPotential):
        def make(self) -> Any:
            return InSinglePrecision()

    assert "test_forces_are_minus_the_slope_of_the_energy" in failing(Broken, tmp_path)


def test_every_test_of_the_contract_rejects_something() -> None:
    assert set().union(*BROKEN.values()) == names_of(PotentialContract)
