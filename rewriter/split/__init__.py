"""Where the private part of a statement ends: releases, and the outer SELECT over them."""

from rewriter.split.columns_over_groups import over_groups
from rewriter.split.other_groups import label
from rewriter.split.presence import Empty
from rewriter.split.previews import PREVIEWED
from rewriter.split.splitter import split

__all__ = ["PREVIEWED", "Empty", "label", "over_groups", "split"]
