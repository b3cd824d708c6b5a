"""What the model is shown: scaled to 1080p, with boxes drawn, or four photos side by side."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from .question import Question

COLORS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0),
          "white": (255, 255, 255)}  # fmt: skip
TILE, LETTER_AT, LETTER_SIZE = 1024, (10, 10), 60
White = (255, 255, 255)


def view_size(width: int, height: int, *, factor: float = 1.0) -> tuple[int, int]:
    """Return the size in which a model sees a photo: at most 1920 long and 1080 short, never enlarged.

    Example:
        >>> view_size(4000, 3000)
        (1440, 1080)
    """
    scale = min(1080 / min(width, height), 1920 / max(width, height), 1.0) * factor
    return int(width * scale), int(height * scale)


def render(question: Question, *, font: str | None = None) -> Image.Image:
    """Return the picture of a question.

    Args:
        question: with its photos on disk
        font: a TrueType file for the letters of four photos; None takes Pillow's own

    Raises:
        FileNotFoundError: a photo is missing; the message has its path
        ValueError: a photo cannot be decoded, or a box has a colour that is not drawn
    """
    if len(question.images) == 4:
        return _four([open_photo(path) for path in question.images], font)
    photo = open_photo(question.images[0])
    shown = photo.resize(view_size(*photo.size))
    draw = ImageDraw.Draw(shown)
    for color, box in question.bboxes:
        if color not in COLORS:
            raise ValueError(f"{question.key}: a box must be {', '.join(COLORS)} (got {color!r})")
        width, height = shown.size
        corners = (box[0] * width, box[1] * height, box[2] * width, box[3] * height)
        draw.rectangle(corners, outline=COLORS[color], width=1)
    return shown


def open_photo(path: Path) -> Image.Image:
    """Return a photo as RGB; FileNotFoundError and ValueError (truncated, no picture) name the path."""
    try:
        with Image.open(path) as opened:
            return opened.convert("RGB")
    except FileNotFoundError:
        raise FileNotFoundError(f"photo {path} is missing: unpack final_labeling again") from None
    except (OSError, SyntaxError) as error:
        raise ValueError(f"photo {path} cannot be decoded ({error}): unpack it again") from error


def _four(photos: list[Image.Image], font: str | None) -> Image.Image:
    letters = ImageFont.truetype(font, LETTER_SIZE) if font else ImageFont.load_default(LETTER_SIZE)
    canvas = Image.new("RGB", (4 * TILE, TILE))
    for place, photo in enumerate(photos):
        canvas.paste(_tile(photo, "ABCD"[place], letters), (place * TILE, 0))
    draw = ImageDraw.Draw(canvas)
    for place in (1, 2, 3):
        draw.line((place * TILE, 0, place * TILE, TILE), fill=White, width=3)
    return canvas.resize(view_size(*canvas.size, factor=2))


def _tile(photo: Image.Image, letter: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> Image.Image:
    ratio = min(TILE / photo.width, TILE / photo.height)
    scaled = photo.resize((int(photo.width * ratio), int(photo.height * ratio)))
    tile = Image.new("RGB", (TILE, TILE))
    tile.paste(scaled, ((TILE - scaled.width) // 2, (TILE - scaled.height) // 2))
    ImageDraw.Draw(tile).text(LETTER_AT, letter, fill=White, font=font, stroke_width=2, stroke_fill=(0, 0, 0))
    return tile
