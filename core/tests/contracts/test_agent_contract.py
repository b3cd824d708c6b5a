"""The agents' contract accepts an agent and rejects broken ones, each at the test that is meant for it."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, Self

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from iclr26_core.testing import AgentContract
from verdict import failing, names_of


class RandomSearch:
    """Acts by the signs of a linear map, and keeps the map with the best return of those it tried."""

    def __init__(self, env: Any = None, *, seed: int = 0) -> None:
        self.env, self.random = env, np.random.default_rng(seed)
        self.weights = self.random.normal(size=4)
        self.best = -np.inf

    def learn(self, total_timesteps: int) -> Self:
        steps = 0
        while steps < total_timesteps:
            kept, self.weights = self.weights, self.weights + self.random.normal(size=4)
            gained = self._episode()
            steps += int(gained)
            if gained > self.best:
                self.best = gained
            else:
                self.weights = kept
        return self

    def _episode(self) -> float:
        observation, _ = self.env.reset(seed=int(self.random.integers(1 << 30)))
        gained, over = 0.0, False
        while not over:
            action, _ = self.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, _ = self.env.step(action)
            gained, over = gained + reward, terminated or truncated
        return gained

    def predict(self, obs: Any, deterministic: bool = False) -> tuple[Any, None]:
        obs = np.asarray(obs)
        if obs.shape[-1:] != (4,) or obs.ndim > 2 or obs.size == 0 or not np.isfinite(obs).all():
            raise ValueError(f"obs must be (4,) or (B, 4) finite numbers (got {obs})")
        noise = 0.0 if deterministic else self.random.normal(size=obs.shape[:-1])
        return (obs @ self.weights + noise > 0).astype(np.int64), None

    def save(self, path: Any) -> None:
        Path(path).write_bytes(pickle.dumps((self.weights, self.best)))

    @classmethod
    def load(cls, path: Any, env: Any = None) -> Self:
        agent = cls(env)
        agent.weights, agent.best = pickle.loads(Path(path).read_bytes())
        return agent


class TestRandomSearch(AgentContract):
    method = "random-search"

    def make(self, env: Any) -> Any:
        return RandomSearch(env)


class Reach(gymnasium.Env[Any, Any]):
    """A point to be moved to the origin; the observation is a mapping, the action a vector."""

    observation_space = Dict({"place": Box(-10, 10, (2,), np.float64), "round": Discrete(8)})
    action_space = Box(-1, 1, (2,), np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.round = self.np_random.normal(size=2), 0
        return {"place": self.place, "round": self.round}, {}

    def step(self, action: Any) -> Any:
        self.place, self.round = self.place + action, self.round + 1
        reward = -float(np.linalg.norm(self.place))
        return {"place": self.place, "round": self.round}, reward, self.round == 7, False, {}


class ProportionalControl:
    """Moves against the place by a gain that it doubles until the way is over."""

    gain = 0.5

    def __init__(self, env: Any = None) -> None:
        self.env = env

    def learn(self, total_timesteps: int) -> Self:
        self.env.reset(seed=0)
        for step in range(total_timesteps):
            action, _ = self.predict({"place": np.ones(2), "round": 0})
            if self.env.step(action)[2]:
                self.env.reset(seed=step)
        self.gain = 1.0
        return self

    def predict(self, obs: Any, deterministic: bool = False) -> tuple[Any, None]:
        if not np.isfinite(obs["place"]).all():
            raise ValueError("place must be finite")
        return np.clip(-self.gain * obs["place"], -1, 1), None

    def save(self, path: Any) -> None:
        Path(path).write_text(str(self.gain))

    @classmethod
    def load(cls, path: Any, env: Any = None) -> Self:
        agent = cls(env)
        agent.gain = float(Path(path).read_text())
        return agent


class TestProportionalControl(AgentContract):
    """Spaces may be mappings, and actions vectors."""

    method = "proportional-control"

    def make(self, env: Any) -> Any:
        return ProportionalControl(env)

    def example(self) -> Any:
        return Reach()

    def damaged(self) -> Any:
        return {"a place of NaN": {"place": np.full(2, np.nan), "round": 0}}


class LearnReturnsACopy(RandomSearch):
    def learn(self, total_timesteps: int) -> Self:
        return copy.copy(super().learn(total_timesteps))


class LearnsNothing(RandomSearch):
    def learn(self, total_timesteps: int) -> Self:
        return self


class ActsBeyondTheSpace(RandomSearch):
    def predict(self, obs: Any, deterministic: bool = False) -> tuple[Any, None]:
        action, state = super().predict(obs, deterministic)
        return (action if deterministic else action + 2), state


class GivesTheActionAlone(RandomSearch):
    def predict(self, obs: Any, deterministic: bool = False) -> Any:
        action, state = super().predict(obs, deterministic)
        return (action, state) if deterministic else action


class IgnoresDeterministic(RandomSearch):
    def predict(self, obs: Any, deterministic: bool = False) -> tuple[Any, None]:
        return super().predict(obs, deterministic=False)


class LearnsUnseeded(RandomSearch):
    def __init__(self, env: Any = None) -> None:
        super().__init__(env, seed=np.random.randint(1 << 30))  # noqa: NPY002


class ActsByTheFirstOfABatch(RandomSearch):
    def predict(self, obs: Any, deterministic: bool = False) -> tuple[Any, None]:
        action, state = super().predict(obs, deterministic)
        return (np.full_like(action, action[0]) if np.ndim(action) else action), state


class ForgetsWhenSaved(RandomSearch):
    def save(self, path: Any) -> None:
        Path(path).write_bytes(pickle.dumps((-self.weights, self.best)))


class LoadsWithoutItsEnvironment(RandomSearch):
    @classmethod
    def load(cls, path: Any, env: Any = None) -> Self:
        return super().load(path, gymnasium.make("CartPole-v1"))


class NormalisesInPlace(RandomSearch):
    def predict(self, obs: Any, deterministic: bool = False) -> tuple[Any, None]:
        answer = super().predict(obs, deterministic)
        np.round(obs, 6, out=obs)
        return answer


class TakesNaN(RandomSearch):
    def predict(self, obs: Any, deterministic: bool = False) -> tuple[Any, None]:
        return super().predict(np.nan_to_num(obs), deterministic)


BROKEN: dict[type[RandomSearch], set[str]] = {
    LearnReturnsACopy: {"test_learn_takes_its_steps_and_returns_self"},
    LearnsNothing: {"test_learn_takes_its_steps_and_returns_self", "test_loaded_agent_learns_on"},
    ActsBeyondTheSpace: {"test_actions_lie_in_the_action_space"},
    GivesTheActionAlone: {"test_actions_lie_in_the_action_space"},
    IgnoresDeterministic: {
        "test_deterministic_actions_are_the_same_again",
        "test_batch_equals_each_observation_alone",
        "test_saved_agent_acts_the_same",
    },
    LearnsUnseeded: {"test_same_seed_learns_the_same"},
    ActsByTheFirstOfABatch: {"test_batch_equals_each_observation_alone"},
    ForgetsWhenSaved: {"test_saved_agent_acts_the_same"},
    LoadsWithoutItsEnvironment: {"test_loaded_agent_learns_on"},
    NormalisesInPlace: {"test_observations_are_not_changed"},
    TakesNaN: {"test_damaged_observations_are_refused"},
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_broken_agent_fails_where_it_is_broken(broken: type[RandomSearch], tmp_path: Path) -> None:
    class Broken(TestRandomSearch):
        def make(self, env: Any) -> Any:
            return broken(env)

    assert failing(Broken, tmp_path).keys() == BROKEN[broken]


def test_every_test_of_the_contract_rejects_something() -> None:
    assert set().union(*BROKEN.values()) == names_of(AgentContract)


def test_observations_that_are_no_arrays_need_a_damaged_one(tmp_path: Path) -> None:
    class Broken(TestProportionalControl):
        damaged = AgentContract.damaged

    message = failing(Broken, tmp_path, only={"test_damaged_observations_are_refused"})
    assert "must define damaged(self)" in str(message)
