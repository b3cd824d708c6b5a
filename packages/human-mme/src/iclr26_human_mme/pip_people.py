"""The mini data set pip-people: questions about photos that lie in installed packages, in the official layout.

``python -m iclr26_human_mme.pip_people --out demo/``. The photos are the astronaut and the cameraman of scikit-image
and the officer of matplotlib's sample data, and two pictures put together from them; with ``bus.jpg`` and ``zidane.jpg``
of an installed ultralytics, or of ``--assets FOLDER``, there are questions about those too. Photos are read where they
are installed, never shipped. It tests plumbing and gives a small model a real score; it is not the benchmark.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Box = tuple[float, float, float, float]
STREET = ("bus", "zidane")
# Boxes in pixels of the original photos; the faces of bus and zidane are those that centerface finds.
BOXES: dict[str, dict[str, Box]] = {
    "astronaut": {
        "face": (181.5, 58.2, 269.9, 177.8), "body": (22, 14, 365, 512), "helmet": (278, 345, 510, 512),
        "left eye": (232, 96, 256, 108), "right eye": (190, 93, 212, 105), "mouth": (200, 136, 238, 154),
    },
    "camera": {
        "face": (195, 105, 265, 195), "body": (0, 62, 335, 512), "camera": (259, 139, 326, 187),
        "tripod": (230, 180, 405, 512), "right hand": (185, 204, 245, 258), "left hand": (276, 168, 332, 240),
    },
    "hopper": {
        "face": (160, 130, 370, 332), "body": (12, 22, 512, 600), "hat": (150, 22, 373, 170),
        "glasses": (172, 168, 362, 232), "name tag": (78, 483, 168, 518),
    },
    "bus": {"face": (113.8, 415.9, 154.2, 470.0), "second face": (270.7, 425.2, 307.7, 475.3)},
    "zidane": {"face": (911.0, 102.3, 1052.9, 277.4), "second face": (552.4, 258.2, 667.2, 433.9)},
}  # fmt: skip
COLLAGES = {"pair": ("astronaut", "hopper"), "trio": ("astronaut", "camera", "hopper")}
HEIGHT = 512  # of a collage
NOBODY = [-1, -1, -1, -1]


def photo_files(assets: str | Path | None = None) -> dict[str, Path]:
    """Return the photos that are there, by name; the first three are dependencies of this package.

    Raises:
        FileNotFoundError: a photo of a dependency is not where its package had it
    """
    found = {
        "astronaut": _folder("skimage") / "data" / "astronaut.png",
        "camera": _folder("skimage") / "data" / "camera.png",
        "hopper": _folder("matplotlib") / "mpl-data" / "sample_data" / "grace_hopper.jpg",
    }
    for name, path in found.items():
        if not path.is_file():
            raise FileNotFoundError(f"{name} must be at {path}: reinstall scikit-image and matplotlib")
    street = Path(assets) if assets is not None else None
    if street is None and find_spec("ultralytics") is not None:
        street = _folder("ultralytics") / "assets"
    for name in STREET:
        if street is not None and (street / f"{name}.jpg").is_file():
            found[name] = street / f"{name}.jpg"
    return found


def build(out: str | Path, *, assets: str | Path | None = None) -> Path:
    """Write the data set into a folder and return it; the same photos give the same files.

    Args:
        out: the ROOT to write
        assets: folder with bus.jpg and zidane.jpg; None looks into an installed ultralytics
    """
    root = Path(out)
    (root / "final_labeling").mkdir(parents=True, exist_ok=True)
    photos = photo_files(assets)
    sizes, files = _write_photos(root, photos)
    for number, (q_type, shown, text, a_type, gold, more) in enumerate(questions(set(photos), sizes), start=1):
        message = _message(shown, files, sizes, more.pop("bboxes", None))
        key = "answer" if isinstance(shown, tuple) else "data"
        data = {"type": q_type, "distinct": [q_type], **more}
        content = {"type": q_type, "question": [message, {"type": "text", "text": text}],
                   "answer": {"type": a_type, key: gold}, "data": data}  # fmt: skip
        folder = root / "final_qa" / q_type / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "qa.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    return root


def questions(photos: set[str], sizes: dict[str, tuple[int, int]]) -> list[tuple[str, Any, str, str, Any, dict[str, Any]]]:
    """Return (q_type, photo or four, text, a_type, gold, data) of every question about the photos there are."""
    rows: list[Any] = []

    def box(photo: str, part: str) -> list[float]:
        width, height = sizes[photo]
        x1, y1, x2, y2 = _in_collage(photo, part, sizes)
        return [x1 / width, y1 / height, min(x2 / width, 1.0), min(y2 / height, 1.0)]

    def choice(q_type: str, shown: Any, text: str, options: Sequence[str], right: str, **more: Any) -> None:
        listed = "\n".join(f"{letter}. {option}" for letter, option in zip("ABCD", options, strict=True))
        rows.append((q_type, shown, f"{text}\n\n{listed}", "choice", [right], more))

    def ground(q_type: str, photo: str, text: str, part: str, name: str, a_type: str = "bbox", **more: Any) -> None:
        width, height = sizes[photo]
        gold = box(photo, part) if part else NOBODY
        place = "question" if a_type == "bbox" else "answer" if part else "fake_answer"
        asked = f"The image is {width}x{height} pixels. {text} Give the box as x1, y1, x2, y2."
        rows.append((q_type, photo, asked, a_type, gold, {place: {"attr_type": "bbox", "attr_name": name}, **more}))

    def blank(q_type: str, photo: str, text: str, gold: str, name: str, a_type: str = "blank", **more: Any) -> None:
        place = "question" if a_type == "blank" else "fake_answer" if gold == "unknown" else "answer"
        rows.append((q_type, photo, text, a_type, gold, {place: {"attr_type": name, "attr_name": name}, **more}))

    choice("face_choice", "astronaut", "Which is true of the person's face?",
           ["She wears glasses", "She is smiling", "She has a beard", "Her eyes are closed"], "B")
    choice("face_choice", "hopper", "Which is true of the person's face?",
           ["Wears glasses", "Laughs with open mouth", "Has a mustache", "Wears sunglasses"], "A")
    choice("face_choice", "camera", "From where is the face seen?",
           ["From the front", "From behind", "It is covered by a mask", "From the side"], "D")
    for photo in ("astronaut", "hopper", "camera"):
        ground("face_grounding", photo, "Where is the person's face?", "face", "face")
    for part in ("left eye", "right eye", "mouth"):
        ground("face_grounding", "astronaut", f"Where is the person's {part}, from her own view?", part, part)
    choice("cloth_choice", "astronaut", "What does the person wear?",
           ["A green dress", "A black coat", "An orange suit", "A white shirt"], "C")
    choice("cloth_choice", "hopper", "What does the person wear on the head?",
           ["A straw hat", "A uniform hat", "A helmet", "Nothing"], "B")
    choice("cloth_choice", "camera", "What does the person wear?",
           ["A dark coat", "A bathing suit", "A white dress", "A uniform with medals"], "A")
    for photo in ("astronaut", "hopper", "camera"):
        ground("body_grounding", photo, "Where is the whole visible body of the person?", "body", "body")
    for part in ("left hand", "right hand"):
        ground("body_grounding", "camera", f"Where is the person's {part}, from his own view?", part, part)
    blank("open_clothing", "astronaut", "Name and color of the suit that the person wears?", "orange space suit",
          "clothing")
    blank("open_clothing", "camera", "Name and color of the upper clothing?", "black coat", "clothing")
    blank("open_clothing", "hopper", "What does the person wear before the eyes?", "glasses", "clothing")
    choice("hoi_choice", "camera", "What does the person do with the camera?",
           ["Looks through it", "Throws it", "Sits on it", "Repairs it"], "A")
    choice("hoi_choice", "astronaut", "Which object is in front of the person?",
           ["A bicycle", "A helmet", "A dog", "A guitar"], "B")
    ground("hoi_grounding", "camera", "Where is the object that the person looks through?", "camera", "hoi")
    ground("hoi_grounding", "astronaut", "Where is the helmet in front of the person?", "helmet", "hoi")
    blank("open_hoi", "camera", "On which object does the camera stand?", "tripod", "hoi")
    blank("open_hoi", "astronaut", "Which object is before the person's arm?", "helmet", "hoi")
    four = ("hopper", "camera", "astronaut", "tile")
    orders = [("- Wears glasses\n- Wears a hat\n- Female", four, ["A", "C", "B", "D"]),
              ("- Smiling\n- Blond hair\n- Female", ("astronaut", "hopper", "camera", "tile"), ["A", "B", "C", "D"])]
    for text, shown, gold in orders:
        rows.append(("multiface", shown, f"{text}\n\nOrder the four images by how many of these the best person in "
                     "them has, most first; a photo without a person is last.", "sequence", gold, {}))
    rows.append(("multiclothing", four, "- hat\n- black jacket\n- white shirt\n\nOrder the four images by how many of "
                 "these are worn in them, most first.", "sequence", ["A", "B", "C", "D"], {}))
    rows.append(("multihoi", four, "In which image does a person look through a camera?", "choice", "B", {}))
    rows.append(("multihoi", ("astronaut", "hopper", "tile", "camera"), "In which image is a helmet in front of a "
                 "person?", "choice", "A", {}))
    choice("identify-choice", "pair", "What does the person with the hat wear besides?",
           ["An orange suit", "Glasses", "A scarf", "A red dress"], "B")
    choice("identify-choice", "trio", "Which is true of the person who looks through a camera?",
           ["He has short dark hair", "He smiles at the viewer", "He wears an orange suit", "He wears a hat"], "A")
    choice("common_choice", "pair", "What do both persons have in common?",
           ["Both wear a hat", "Both stand before a flag", "Both hold a camera", "Both wear orange"], "B")
    ground("identify-grounding", "pair", "Where is the face of the person who wears glasses?", "hopper face", "face")
    ground("identify-grounding", "trio", "Where is the face of the person in the orange suit?", "astronaut face", "face")
    red = [["red", box("pair", "astronaut face")]]
    blank("identify-blank", "pair", "What is the emotion of the person whose face is in the red box?", "happy",
          "emotion", bboxes=red)
    blank("identify-blank", "pair", "What is the age group of the person who wears glasses?", "senior", "age")
    blank("identify-blank", "trio", "What is the gender of the person in the orange suit?", "female", "gender")
    rows.append(("identify-open_grounding", "trio", "Name the object that the person looks through, and its box.",
                 "open_hoi", {"name": "camera", "bbox": box("trio", "camera camera")}, {}))
    rows.append(("identify-open_grounding", "pair", "Name the object on the head of the older person, and its box.",
                 "open_hoi", {"name": "hat", "bbox": box("pair", "hopper hat")}, {}))
    maybe = "There might be one person that meets both conditions: {}; {}."
    for photo, one, two, part in (
        ("pair", "wears glasses", "wears a hat", "hopper face"), ("trio", "smiles", "wears orange", "astronaut face"),
        ("pair", "wears glasses", "wears orange", ""), ("trio", "wears a hat", "looks through a camera", ""),
    ):  # fmt: skip
        ground("identify-tf_grounding", photo, maybe.format(one, two) + " Where is this person's face?", part, "face",
               "tf_bbox")
    blank("identify-tf_blank", "pair", maybe.format("older", "in uniform") + " What is this person's gender?", "female",
          "gender", "tf_blank")
    blank("identify-tf_blank", "trio", maybe.format("older", "in orange") + " What is this person's emotion?",
          "unknown", "emotion", "tf_blank")
    blank("identify-tf_blank", "trio", maybe.format("bends down", "in a black coat") + " What does he look through?",
          "camera", "hoi", "tf_blank")
    choice("intention", "camera", "Why does the person bend down?",
           ["To tie a shoe", "To see through the camera", "To pick a flower", "To sleep"], "B")
    choice("intention", "astronaut", "Why does the person wear this suit?",
           ["For an official portrait before a space flight", "For cooking", "For swimming", "For a wedding"], "A")
    past = ["He set up the tripod", "He takes the picture", "He fell into water", "He cooks a meal"]
    listed = "\n".join(f"{letter}. {option}" for letter, option in zip("ABCD", past, strict=True))
    rows.append(("causal", "camera", f"What happened before, and what happens next?\n\n{listed}", "double_choice",
                 {"past": "A", "future": "B"}, {}))
    choice("emotion", "astronaut", "How does the person feel?", ["Angry", "Bored", "Proud and happy", "Afraid"], "C")
    choice("emotion", "hopper", "How does the person look?", ["Amused", "Frightened", "Crying", "Calm and earnest"], "D")
    if "zidane" in photos:
        ground("identify-grounding", "zidane", "Where is the face of the person with a bald head?", "face", "face")
        ground("identify-tf_grounding", "zidane", maybe.format("wears a hat", "is pointing") + " Where is the face?", "",
               "face", "tf_bbox")
    if "bus" in photos:
        choice("common_choice", "bus", "What do the two men in front do?",
               ["They walk", "They sleep", "They swim", "They read"], "A")
        ground("identify-grounding", "bus", "Where is the face of the man furthest to the left?", "face", "face")
    return rows


def _folder(package: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise FileNotFoundError(f"{package} is not installed: pip install {package}")
    return Path(found.origin).parent


def _write_photos(root: Path, photos: dict[str, Path]) -> tuple[dict[str, tuple[int, int]], dict[str, str]]:
    from PIL import Image

    opened = {name: Image.open(path).convert("RGB") for name, path in photos.items()}
    for name, members in COLLAGES.items():
        scaled = [opened[each].resize((_width(opened[each].size), HEIGHT)) for each in members]
        collage = Image.new("RGB", (sum(each.width for each in scaled), HEIGHT))
        for place, each in enumerate(scaled):
            collage.paste(each, (sum(before.width for before in scaled[:place]), 0))
        opened[name] = collage
    opened["tile"] = opened["camera"].crop((340, 0, 512, 172))  # a part of a photo without a person
    files = {name: f"./final_labeling/{number:06d}.jpg" for number, name in enumerate(opened, start=1)}
    for name, photo in opened.items():
        photo.save(root / files[name], quality=95)
    return {name: photo.size for name, photo in opened.items()}, files


def _width(size: tuple[int, int]) -> int:
    return round(size[0] * HEIGHT / size[1])


def _in_collage(photo: str, part: str, sizes: dict[str, tuple[int, int]]) -> Box:
    if photo not in COLLAGES:
        return BOXES[photo][part]
    member, _, name = part.partition(" ")
    place = COLLAGES[photo].index(member)
    left = sum(_width(sizes[each]) for each in COLLAGES[photo][:place])
    scale = HEIGHT / sizes[member][1]
    x1, y1, x2, y2 = (value * scale for value in BOXES[member][name])
    return x1 + left, y1, x2 + left, y2


def _message(shown: Any, files: dict[str, str], sizes: dict[str, tuple[int, int]], boxes: Any) -> dict[str, Any]:
    if isinstance(shown, tuple):
        return {"type": "multi_image", **{f"image_{x}": files[n] for x, n in zip("ABCD", shown, strict=True)}}
    width, height = sizes[shown]
    message = {"type": "image", "image": files[shown], "width": width, "height": height}
    return {**message, "type": "image_bbox", "bboxes": boxes} if boxes else message


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the data set and say what is in it."""
    parser = argparse.ArgumentParser(description="Build the mini data set pip-people in the official layout.")
    parser.add_argument("--out", required=True, help="the ROOT to write")
    parser.add_argument("--assets", help="folder with bus.jpg and zidane.jpg (from the wheel of ultralytics)")
    parsed = parser.parse_args(arguments)
    root = build(parsed.out, assets=parsed.assets)
    missing = [name for name in STREET if name not in photo_files(parsed.assets)]
    print(f"{len(list(root.glob('final_qa/*/*/qa.json')))} questions in {root}")
    if missing:
        print(f"without {' and '.join(missing)}: install ultralytics or pass --assets for more questions")


if __name__ == "__main__":
    main()
