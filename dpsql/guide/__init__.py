"""The guide: pages about one subject each, and how they are found."""

from dpsql.guide.guide_pages import CONTENTS, names, page

__all__ = ["CONTENTS", "names", "page"]
