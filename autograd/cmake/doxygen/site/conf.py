"""The settings of Sphinx for the target docs: README, docs/ and a page for each public header, as one site with one search.

CMake makes the folder of sources (autograd/cmake/GradusReference.cmake). Pages of headers come from Doxygen's XML by Breathe.
"""
import glob
import logging
import os
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.domains.cpp import CPPDomain, _keywords

project = "gradus"
extensions = ["myst_parser", "breathe"]
root_doc = "README"
exclude_patterns = ["**/*.py"]
myst_heading_anchors = 4
breathe_default_project = "gradus"
breathe_show_include = False
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
highlight_language = "text"
add_function_parentheses = False

PARTS = {
    "The book": ["docs/book/*"],
    "Guides": ["docs/install", "docs/glossary", "docs/coming-from-pytorch", "docs/own-models", "docs/operations-and-gradient-checks", "docs/training",
               "docs/sampling", "docs/tokenizers", "docs/export", "docs/lessons", "examples/README"],
    "Internals": ["docs/how-it-is-built", "docs/design", "docs/recipe", "docs/speed", "docs/run-folder", "annexes/cases/README",
                  "data/README", "CONTRIBUTING", "CHANGELOG", "docs/changes-since-0.1"],
    "Reference": ["reference/*/index"],
}
HIDDEN = set(_keywords) | {"gradus", "nn", "train", "data", "models", "files"}  # not linked


def table_of_contents(app, page, source):
    """Appends the pages of the site to README, which is its first page."""
    if page != root_doc:
        return
    listed = sum(PARTS.values(), [])
    others = [f"docs/{name[:-3]}" for name in sorted(os.listdir(f"{app.srcdir}/docs")) if name.endswith(".md")]
    for caption, pages in PARTS.items():
        if caption == "Guides":
            pages = pages + [page for page in others if page not in listed]
        there = [p for p in pages if "*" in p or os.path.exists(f"{app.srcdir}/{p}.md")]
        source[0] += "\n\n```{toctree}\n:hidden:\n:glob:\n:caption: " + caption + "\n\n" + "\n".join(there) + "\n```\n"


def write_reference(app):
    """Writes a page for each public header, and one for each folder, into reference/."""
    with open(f"{app.srcdir}/gradus.hpp", encoding="utf-8") as file:
        headers = re.findall(r'^#include "gradus/(.*)\.hpp"', file.read(), re.M)
    folders = {}
    for header in headers:
        folders.setdefault(header.split("/")[0], []).append(header)
        text = f"{header}.hpp\n{'=' * 80}\n\n``#include <gradus/{header}.hpp>``\n\n"
        text += f".. doxygenfile:: gradus/{header}.hpp\n"
        write(f"{app.srcdir}/reference/{header}.rst", text)
    for folder, headers in folders.items():
        pages = [header.split("/", 1)[1] for header in headers]
        text = f"{folder}\n{'=' * 80}\n\n.. doxygengroup:: {folder}\n   :desc-only:\n\n.. toctree::\n   :maxdepth: 1\n\n   "
        write(f"{app.srcdir}/reference/{folder}/index.rst", text + "\n   ".join(f"{p}.hpp <{p}>" for p in pages) + "\n")


def prepare_xml(app):
    """Takes out of Doxygen's XML private members, which it always has, and code that Sphinx cannot parse."""
    for path in glob.glob(app.config.breathe_projects["gradus"] + "/*.xml"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r'<sectiondef kind="(private|friend).*?</sectiondef>', "", text, flags=re.S)
        text = re.sub(r"<initializer>= \[.*?</initializer>", "", text, flags=re.S)
        write(path, re.sub(r"\{\.(\w+ ?=)", r"{\1", text))


def write(path, text):
    """Writes a file, unless it has this text already: then its page need not be made again."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def change_nodes(app, doctree):
    """Takes what is declared in namespaces out of them, and links names in the text to the reference."""
    for desc in list(doctree.findall(addnodes.desc)):
        signature, content = desc.children
        if signature.astext().startswith("namespace "):
            declared = [node for node in content if not isinstance(node, nodes.paragraph)]
            desc.parent.replace(desc, [nodes.inline(ids=signature["ids"])] + declared)
        elif signature.astext().startswith("group "):
            desc.parent.replace(desc, content.children)
    if not app.env.docname.startswith("reference/"):
        for literal in list(doctree.findall(nodes.literal)):
            name = literal.astext()
            if re.fullmatch(r"((nn|train|data|models|files)::)?[A-Za-z]\w+", name) and name not in HIDDEN and not in_link(literal):
                literal.replace_self(addnodes.pending_xref(
                    "", literal.deepcopy(), refdomain="cpp", reftype="any", reftarget="gradus::" + name))


def in_link(node):
    """Whether a node is inside of a link or a heading."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, (nodes.reference, addnodes.pending_xref, nodes.title)):
            return True
    return False


def setup(app):
    """Connects the functions above."""
    # Each header opens the namespaces again.
    logging.getLogger("sphinx.sphinx.domains.cpp").addFilter(lambda r: "Duplicate C++ declaration" not in r.getMessage())
    # A search finds functions, not their parameters.
    objects = CPPDomain.get_objects
    CPPDomain.get_objects = lambda self: (found for found in objects(self) if not found[2].endswith("Param"))
    app.connect("builder-inited", prepare_xml)
    app.connect("builder-inited", write_reference)
    app.connect("source-read", table_of_contents)
    app.connect("doctree-read", change_nodes)
