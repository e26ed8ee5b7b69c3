"""``python -m tests.guide.write`` writes those pages of the guide that are made of the code; read the difference."""

from __future__ import annotations

from tests.guide import statement_forms
from tests.guide.blocks import GUIDE
from tests.guide.generated import GENERATED

if __name__ == "__main__":
    for name, made in GENERATED.items():
        (GUIDE / f"{name}.md").write_text(made(), encoding="utf-8")
    statement_forms.PAGE.write_text(statement_forms.page(), encoding="utf-8")
