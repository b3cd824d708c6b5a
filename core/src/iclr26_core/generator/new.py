"""What ``new`` does: a complete package of one kind, whose tests pass at once, to be changed into one's own method."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import keyword
import os
import re
import shutil
import tempfile
from pathlib import Path

from iclr26_core.catalogue import CATALOGUE
from iclr26_core.errors import OutputError, UsageError, did_you_mean
from iclr26_core.generator import template, workspace
from iclr26_core.kinds import KINDS
from iclr26_core.plugins import discovered
from iclr26_core.record import write_atomically

SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST = 30


def create(
    slug: str, kind: str, *, folder: Path | None = None, author: str | None = None, federation: bool = False
) -> tuple[Path, list[str]]:
    """Return the folder of a new package and the commands to go on with.

    Args:
        slug: the method's name, lower case with dashes
        kind: one of the eleven kinds
        folder: where to write: the workspace's root for a member of it, any other for a third party's; None is here
        author: goes into the package's pyproject
        federation: fail unless ``folder`` is the workspace's root

    Raises:
        UsageError: the name, the kind or the folder cannot be used; nothing is written then
        OutputError: the folder cannot be written
    """
    folder = (folder or Path()).absolute()
    member = _is_member(folder, federation)
    _require_kind(kind)
    names = _names(slug, kind, member) | {"author": author or ""}
    target = folder / "packages" / slug if member else folder / slug
    if os.path.lexists(target):
        raise UsageError(f"{target} is there already: choose another name or folder")
    _require_free(slug, names, member)
    files = template.render(kind, names, licensed=member)
    try:
        _write(target, files, names["package"], root=folder if member else None)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error}") from error
    return target, _next(slug, target, member)


def _is_member(folder: Path, federation: bool) -> bool:
    """Return whether the package is to be a member of the workspace.

    Raises:
        UsageError: the folder is none, lies inside of the workspace, or is not its root where it has to be
    """
    if not folder.is_dir():
        raise UsageError(f"--in must be a folder that is there (got {folder})")
    member = workspace.is_root(folder)
    if federation and not member:
        raise UsageError(f"--federation needs the root of the workspace, with core/ and packages/ (got {folder})")
    if not member and (root := workspace.root_above(folder)):
        raise UsageError(f"{folder} is inside of the workspace: --in {root} for a member of it, or a folder outside")
    return member


def _require_kind(kind: str) -> None:
    if kind not in KINDS:
        raise UsageError(f"there is no kind {kind!r}{did_you_mean(kind, KINDS) or ': there are ' + ', '.join(KINDS)}")


def _names(slug: str, kind: str, member: bool) -> dict[str, str]:
    """Return the names of the package's parts.

    Raises:
        UsageError: the slug makes no good names
    """
    if not SLUG.fullmatch(slug) or len(slug) > LONGEST:
        form = f"lower-case words joined by dashes, a letter first, at most {LONGEST} characters, like 'my-method'"
        raise UsageError(f"the name must be {form} (got {slug!r})")
    if slug == "iclr26" or slug.startswith("iclr26-"):
        raise UsageError(f"the name must be the method's, without iclr26 (got {slug!r})")
    words = "".join(word.capitalize() for word in slug.split("-"))
    module = slug.replace("-", "_")
    names = {
        "slug": slug,
        "module": module,
        "class_name": words if words.endswith(kind.capitalize()) else words + kind.capitalize(),
        "package": f"iclr26-{slug}" if member else slug,
        "import_name": f"iclr26_{module}" if member else module,
    }
    if keyword.iskeyword(module):
        raise UsageError(f"{module!r} is a word of Python's and cannot be imported: choose another name")
    return names


def _require_free(slug: str, names: dict[str, str], member: bool) -> None:
    """Raise UsageError if the method, the distribution or the module is there already."""
    if not member and slug in CATALOGUE:
        raise UsageError(f"{slug!r} is a method of the federation (pip install iclr26-{slug}): choose another name")
    plugins = discovered()
    if slug in plugins.installed or slug in {broken.name for broken in plugins.broken}:
        raise UsageError(f"a method {slug!r} is installed already: choose another name")
    try:
        version = importlib.metadata.version(names["package"])
    except importlib.metadata.PackageNotFoundError:
        version = None
    if version is not None or importlib.util.find_spec(names["import_name"]) is not None:
        raise UsageError(f"a package {names['import_name']!r} is installed already: choose another name")


def _write(target: Path, files: dict[str, str], package: str, *, root: Path | None) -> None:
    """Write everything or nothing: the folder beside its place, then a rename, then the root's pyproject."""
    pyproject = workspace.with_member((root / "pyproject.toml").read_text(encoding="utf-8"), package) if root else ""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as temporary:
        staged = Path(temporary) / target.name
        for path, text in files.items():
            (staged / path).parent.mkdir(parents=True, exist_ok=True)
            (staged / path).write_text(text, encoding="utf-8", newline="")
        staged.rename(target)
    if root:
        try:
            write_atomically(root / "pyproject.toml", pyproject)
        except BaseException:
            shutil.rmtree(target)
            raise


def _next(slug: str, target: Path, member: bool) -> list[str]:
    run = f"iclr26 run {slug}"
    if member:
        return ["uv lock", "uv run iclr26 registry --write", f"uv run pytest packages/{slug}", f"uv run {run}"]
    return [f"cd {target}", 'pip install -e . "iclr26-core[testing]"', "pytest", run]
