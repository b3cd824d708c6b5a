"""Models behind an OpenAI-compatible endpoint, asked through the openai client."""

from __future__ import annotations

import base64
import io
import os
import random
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from .chat import Reply, ReplyError

if TYPE_CHECKING:
    from PIL.Image import Image

LOCAL = ("127.0.0.1", "localhost", "::1", "0.0.0.0")
CONTROL = re.compile(r"<\|.*?\|>")


class OpenAIVisionChat:
    """A served vision-language model.

    Args:
        base_url: e.g. ``http://127.0.0.1:8000/v1``; None is OpenAI's
        model: name that the server knows
        api_key_env: environment variable with the key; a server on this machine needs none
        image_format: ``png`` or ``jpeg``
        extra_body: further fields of the request
        max_new_tokens: of a reply
        temperature: 0 is greedy
        timeout: seconds of a call; a call that exceeds it is an error row
        retries: further tries after 429, 5xx and lost connections
        backoff: seconds that the waiting min(60, 2^n) is multiplied with

    Raises:
        ValueError: no key, or an image format that there is not
    """

    def __init__(
        self,
        base_url: str | None,
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        image_format: str = "png",
        extra_body: dict[str, Any] | None = None,
        max_new_tokens: int = 2048,
        temperature: float = 0.0,
        timeout: float = 1000.0,
        retries: int = 10,
        backoff: float = 1.0,
    ) -> None:
        if image_format not in ("png", "jpeg"):
            raise ValueError(f"image_format must be png or jpeg (got {image_format!r})")
        key = os.environ.get(api_key_env)
        if not key and (base_url is None or urlparse(base_url).hostname not in LOCAL):
            raise ValueError(f"no API key: set the environment variable {api_key_env} before the run")
        from openai import OpenAI

        self.name = model
        self.settings = {"max_new_tokens": max_new_tokens, "temperature": temperature, "image_format": image_format,
                         "extra_body": extra_body or {}}  # fmt: skip
        self._format, self._retries, self._backoff = image_format, retries, backoff
        self._client = OpenAI(base_url=base_url, api_key=key or "none", timeout=timeout, max_retries=0)

    def generate(self, image: Image, text: str) -> Reply:
        """Return the reply; ReplyError after the last try, with what the server said."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        message = {"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": data_url(image, self._format)}},
            {"type": "text", "text": text},
        ]}  # fmt: skip
        for attempt in range(1, self._retries + 2):
            try:
                return self._reply(message, attempt)
            except APITimeoutError as error:
                raise ReplyError(f"timed out: {error}", attempts=attempt) from error
            except (APIConnectionError, APIStatusError) as error:
                status = getattr(error, "status_code", 500)
                if attempt > self._retries or not (status == 429 or status >= 500):
                    raise ReplyError(f"{type(error).__name__}: {error}", attempts=attempt) from error
            time.sleep(self._backoff * (min(60, 2 ** (attempt - 1)) + random.random()))
        raise AssertionError("unreachable")

    def _reply(self, message: dict[str, Any], attempt: int) -> Reply:
        done: Any = self._client.chat.completions.create(
            model=self.name,
            messages=[message],  # type: ignore[list-item]
            temperature=self.settings["temperature"],  # type: ignore[arg-type]
            max_tokens=self.settings["max_new_tokens"],  # type: ignore[arg-type]
            extra_body=self.settings["extra_body"] or None,
        )
        try:
            choice = done.choices[0]
            said, reason = choice.message.content, choice.finish_reason
        except (AttributeError, IndexError, TypeError) as error:
            raise ReplyError(f"the server's reply has no choices: {str(done)[:200]!r}", attempts=attempt) from error
        usage = {} if done.usage is None else {"prompt": done.usage.prompt_tokens, "reply": done.usage.completion_tokens}
        return Reply(None if said is None else CONTROL.sub("", said), reason, usage, attempt)


def data_url(image: Image, image_format: str = "png") -> str:
    """Return a picture as a data URL."""
    buffer = io.BytesIO()
    image.save(buffer, format=image_format.upper())
    return f"data:image/{image_format};base64,{base64.b64encode(buffer.getvalue()).decode()}"
