-- The distribution of visits per patient.
SELECT n, COUNT(*) AS patients FROM (SELECT patient_id, COUNT(*) AS n FROM visit GROUP BY patient_id) AS t GROUP BY n ORDER BY n;

-- ----
-- release 0
-- groups: public, at most 40
--   k0: n (bigint)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows whose n is beyond what the declared bounds allow for are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t3.u AS u,
      t3.c1 AS k0
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          COUNT(*) AS a0
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t3
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(e0.x AS BIGINT) AS k0
  FROM (
    SELECT
      CAST(g.n AS BIGINT) AS x
    FROM GENERATE_SERIES(1, 40) AS g(n)
  ) AS e0
  WHERE
    NOT e0.x IS NULL
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "n",
  dpsql_release_0.a0 AS "patients"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0
ORDER BY
  "n";
