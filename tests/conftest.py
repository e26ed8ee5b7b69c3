"""How random tests draw: the same examples in every run, so that a change is judged by what it changed.

New ones are drawn with ``pytest --hypothesis-profile=default``, and by the campaigns.
"""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
