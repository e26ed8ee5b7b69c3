-- Listed keys cost nothing.
SELECT DISTINCT sex FROM patient;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH keys AS (
  SELECT DISTINCT
    CAST(d_t1_1.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('F' AS TEXT)),
      (CAST('M' AS TEXT))) AS v(x)
  ) AS d_t1_1
)
SELECT
  keys.k0
FROM keys
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "sex"
FROM dpsql_release_0;
