"""An environment that counts. Needs gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium


class Counting(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The same environment, with the number of its ``steps``."""

    steps = 0

    def step(self, action: Any) -> Any:
        """Return what the environment's step returns, counted."""
        self.steps += 1
        return self.env.step(action)
