"""What the site has more than the pages: source files that they link to, and notes in comments."""

from __future__ import annotations

import os
import posixpath
import re
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import nn_opt

LINK = re.compile(r"(?<=\]\()(?P<path>(?:\.\./)+[^)#\s]+)(?P<anchor>#[^)\s]*)?(?=\))")
SESSION = re.compile(r"^( *```)console$", re.MULTILINE)
NOT_RUN = re.compile(r"^<!-- not run: (.*?) -->$", re.MULTILINE)
LANGUAGES = {".py": "python", ".mlir": "mlir", ".md": "markdown", ".ll": "llvm", ".toml": "toml"}
EXAMPLE = re.compile(r"^<!-- explored: (?P<path>\S+) -->$", re.MULTILINE)
TOP_PAGES = ("CONTRIBUTING.md",)  # pages outside docs/ that are pages here, too


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add a page for each file outside docs/ that a page links to."""
    root = Path(config.config_file_path).parent
    for name in TOP_PAGES:
        text = (root / name).read_text().replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    wanted: set[str] = set()
    for file in files.documentation_pages():
        for match in EXAMPLE.finditer(file.content_string):
            page = explored(root / match["path"])
            files.append(File.generated(config, explored_name(match["path"]), content=page))
        for match in LINK.finditer(file.content_string):
            wanted.add(target_of(file.src_uri, match["path"]))
    for path in sorted(wanted - set(TOP_PAGES)):
        if (root / path).exists():
            files.append(File.generated(config, page_of(path), content=listing(root / path, path)))
    return files


def explored_name(path: str) -> str:
    """Return the file of the site with the explorer's page of a module."""
    return f"explored-{Path(path).stem}.html"


def explored(path: Path) -> str:
    """Return the explorer's page of a module, all passes."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        nn_opt.explore(os.path.relpath(path), path=page)  # the page shows that name
        return page.read_text(encoding="utf-8")


def target_of(page: str, link: str) -> str:
    """Return the file of the repository that a link of a page leads to."""
    return posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))


def page_of(path: str) -> str:
    """Return the page of the site that shows a file."""
    return path if path in TOP_PAGES else f"source/{path.rstrip('/')}.md"


def listing(file: Path, path: str) -> str:
    """Return the text of the page of a file or folder."""
    head = (
        f"---\ntitle: {path}\nsearch:\n  exclude: true\nhide: [navigation, toc]\n---\n# {path}\n\n"
    )
    if file.is_dir():
        names = sorted(f.name for f in file.iterdir() if not f.name.startswith(("_", ".")))
        return head + "".join(f"- `{name}`\n" for name in names)
    language = LANGUAGES.get(file.suffix, "text")
    return f"{head}````{language}\n{file.read_text().rstrip()}\n````\n"


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to files of the repository to their pages, and show why a block is not run."""
    here = posixpath.dirname(page.file.src_uri)

    def to_page(match: re.Match[str]) -> str:
        target = page_of(target_of(page.file.src_uri, match["path"]))
        if files.get_file_from_path(target) is None:
            return match[0]  # for the check of links to complain about
        return os.path.relpath(target, here or ".") + (match["anchor"] or "")

    text = LINK.sub(to_page, markdown) if not page.file.src_uri.startswith("source/") else markdown
    text = EXAMPLE.sub(
        lambda m: f"[Open such a page]({explored_name(m['path'])}){{ .md-button }}", text
    )
    text = SESSION.sub(r"\1nn-opt-console", text)  # git hosts know the other name
    return NOT_RUN.sub(r'<p class="not-run">Not run by the tests: \1.</p>', text)
