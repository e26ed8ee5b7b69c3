SELECT id, diagnosis FROM patient LIMIT 10;

-- ----
-- outer
SELECT
  CAST(NULL AS INT) AS "id",
  CAST(NULL AS TEXT) AS "diagnosis"
WHERE
  FALSE;
