"""Where the private part of a statement ends: releases, and the outer SELECT over them."""

from rewriter.split.columns_over_groups import over_groups
from rewriter.split.other_groups import label
from rewriter.split.presence import Empty
from rewriter.split.previews import MADE_UP, PREVIEWED, is_preview
from rewriter.split.splitter import split

__all__ = ["MADE_UP", "PREVIEWED", "Empty", "is_preview", "label", "over_groups", "split"]
