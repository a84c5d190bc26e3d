#!/usr/bin/env python3
"""site_links.py FOLDER: prints each link in the HTML pages below FOLDER that leads to no file, or to no place in it, and
exits 1 if there is one. Links to other sites are not followed."""
import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urlparse


class Page(HTMLParser):
    """The links and the places of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places = set(), {"", "top"}
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


pages = {}
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.endswith(".html"):
            path = os.path.normpath(os.path.join(folder, name))
            pages[path] = Page(path)

bad = not pages
for path, page in sorted(pages.items()):
    for link in sorted(page.links):
        if urlparse(link).scheme or link.startswith("//"):
            continue
        file, place = urldefrag(link)
        target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(file.split("?")[0]))) if file else path
        if not os.path.exists(target):
            print(f"{path}: links to {link}, which is not there")
            bad = True
        elif target in pages and unquote(place) not in pages[target].places:
            print(f"{path}: links to {link}, which is no place in it")
            bad = True
sys.exit(bad)
