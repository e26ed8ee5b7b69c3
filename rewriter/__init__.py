"""How far can one person move each number? SQL text in, plans with sensitivities out; no data, no noise, no ε.

:mod:`rewriter.front_door` is the way in.
"""
