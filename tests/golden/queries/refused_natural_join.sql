SELECT COUNT(*) FROM patient NATURAL JOIN visit;

-- ----
-- refused: 0A000: NATURAL JOIN is not answered | write the join condition with ON or USING
