"""The contract of agents, by the convention of stable-baselines3. Needs gymnasium >= 1.0 and numpy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces.utils import flatten
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from iclr26_core.interfaces import Agent
from iclr26_core.testing.contract import Contract
from iclr26_core.testing.counting import Counting
from iclr26_core.testing.gpu import require_gpu
from iclr26_core.testing.randomness import disturb
from iclr26_core.testing.unchanged import fingerprint

OBSERVATIONS = 16


class AgentContract(Contract, sealed=True):
    """Checks an agent in a small environment: how it acts before and after a little learning.

    Override ``make``; ``example`` for another environment; ``damaged`` where its observations are no array.

    Attributes:
        timesteps: how long to learn; enough for at least one update, and about a second
    """

    timesteps: ClassVar[int] = 64

    def make(self, env: gymnasium.Env[Any, Any]) -> Agent:
        """Return a new agent for this environment, with a fixed seed. GPU: ``make(self, env, device="cpu")``."""
        raise NotImplementedError(f"{type(self).__name__} must define make(self, env)")

    def example(self) -> gymnasium.Env[Any, Any]:
        """Return a new environment; here CartPole-v1."""
        return gymnasium.make("CartPole-v1")

    def damaged(self) -> Mapping[str, Any]:
        """Return observations to be refused, by what is wrong with them; made here where they are float arrays."""
        space = self.example().observation_space
        if not (isinstance(space, gymnasium.spaces.Box) and space.dtype.kind == "f"):
            raise NotImplementedError(f"{type(self).__name__} must define damaged(self): observations are {space}")
        return {
            "an observation of NaN": np.full(space.shape, np.nan, space.dtype),
            "an observation with two axes too many": np.zeros((1, 1, *space.shape), space.dtype),
            "a batch of no observations": np.zeros((0, *space.shape), space.dtype),
        }

    def test_learn_takes_its_steps_and_returns_self(self) -> None:
        env = Counting(self.example())
        agent = self.make(env)
        self.check(agent.learn(self.timesteps) is agent, "learn must return self")
        self.check(env.steps >= self.timesteps, f"learn({self.timesteps}) took {env.steps} steps of the environment")

    def test_actions_lie_in_the_action_space(self) -> None:
        space = self.example().action_space
        for agent in (self.make(self.example()), self._learned()):
            for observation in self._observations():
                for deterministic in (True, False):
                    answer = agent.predict(observation, deterministic=deterministic)
                    pair = isinstance(answer, tuple) and len(answer) == 2
                    self.check(pair, f"predict must return (action, state) (got {answer!r})")
                    self.check(space.contains(answer[0]), f"the action must lie in {space} (got {answer[0]!r})")

    def test_deterministic_actions_are_the_same_again(self) -> None:
        agent = self._learned()
        self._check_same_actions(agent, agent, "asked again, deterministic=True")

    def test_same_seed_learns_the_same(self) -> None:
        self._check_same_actions(self._learned(disturbed=1), self._learned(disturbed=2), "with the same seed, learning")

    def test_batch_equals_each_observation_alone(self) -> None:
        env, agent, observations = self.example(), self._learned(), self._observations()
        empty: Any = create_empty_array(env.observation_space, len(observations))
        batch = concatenate(env.observation_space, observations, empty)
        together, _ = agent.predict(batch, deterministic=True)
        actions = list(iterate(batch_space(env.action_space, len(observations)), together))
        self.check(len(actions) == len(observations), f"{len(observations)} observations give {len(actions)} actions")
        for action, observation in zip(actions, observations, strict=True):
            alone, _ = agent.predict(observation, deterministic=True)
            here, there = (np.asarray(flatten(env.action_space, each)) for each in (action, alone))
            close = np.allclose(here, there, rtol=1e-5, atol=1e-5)
            self.check(close, f"an observation gives {action!r} in a batch, {alone!r} alone")

    def test_saved_agent_acts_the_same(self, tmp_path: Path) -> None:
        agent = self._learned()
        agent.save(tmp_path / "agent")
        for env in (None, self.example()):
            loaded = type(agent).load(tmp_path / "agent", env=env)
            self._check_same_actions(loaded, agent, f"loaded with env={env}, the agent")

    def test_loaded_agent_learns_on(self, tmp_path: Path) -> None:
        self._learned().save(tmp_path / "agent")
        env = Counting(self.example())
        loaded = type(self.make(self.example())).load(tmp_path / "agent", env=env)
        loaded.learn(self.timesteps)
        self.check(env.steps >= self.timesteps, f"loaded with an environment, learn took {env.steps} steps of it")

    def test_observations_are_not_changed(self) -> None:
        agent = self._learned()
        for observation in self._observations():
            before = fingerprint(observation)
            agent.predict(observation, deterministic=False)
            self.check(fingerprint(observation) == before, "predict changed the observation")

    def test_damaged_observations_are_refused(self) -> None:
        agent = self._learned()
        self.check(self.damaged(), "damaged() must name at least one observation to refuse")
        for what, observation in self.damaged().items():
            self.check_refused(partial(agent.predict, observation), ValueError, what)

    @pytest.mark.gpu
    def test_learns_and_acts_on_the_gpu(self, tmp_path: Path) -> None:
        env = self.example()
        agent = self.make(env, device=require_gpu(self.make))  # type: ignore[call-arg]
        agent.learn(self.timesteps).save(tmp_path / "agent")
        for observation in self._observations():
            action, _ = agent.predict(observation)
            self.check(env.action_space.contains(action), f"the action must lie in {env.action_space} (got {action!r})")
        self._check_same_actions(type(agent).load(tmp_path / "agent"), agent, "saved on the GPU and loaded, the agent")

    def _learned(self, *, disturbed: int = 0) -> Agent:
        env = self.example()
        disturb(disturbed)
        return self.make(env).learn(self.timesteps)

    def _observations(self) -> list[Any]:
        """Return observations of a random walk, the same ones at every call."""
        env = self.example()
        env.action_space.seed(0)
        seen = [env.reset(seed=0)[0]]
        while len(seen) < OBSERVATIONS:
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            seen.append(env.reset()[0] if terminated or truncated else observation)
        return seen

    def _check_same_actions(self, here: Agent, there: Agent, what: str) -> None:
        for observation in self._observations():
            a, b = (agent.predict(observation, deterministic=True)[0] for agent in (here, there))
            self.check(fingerprint(a) == fingerprint(b), f"{what} acts differently: {a!r}, not {b!r}")
