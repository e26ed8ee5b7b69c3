"""The guide: pages about one subject each, and how they are found."""

from dpsql.guide.guide_pages import CONTENTS, names, page, without_links

__all__ = ["CONTENTS", "names", "page", "without_links"]
