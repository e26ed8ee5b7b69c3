-- Patients without a visit are in it.
SELECT n, COUNT(*) AS patients FROM (SELECT p.id, COUNT(v.id) AS n FROM patient p LEFT JOIN visit v ON v.patient_id = p.id GROUP BY p.id) AS t GROUP BY n;

-- ----
-- release 0
-- groups: public, at most 41
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
      t4.u AS u,
      t4.c1 AS k0
    FROM (
      SELECT
        t3.k0 AS c0,
        t3.a0 AS c1,
        t3.u AS u
      FROM (
        SELECT
          t1."id" AS u,
          t1."id" AS k0,
          COUNT(t2."id") AS a0
        FROM "main"."patient" AS t1
        LEFT JOIN "main"."visit" AS t2
          ON t2."patient_id" = t1."id"
        GROUP BY
          t1."id"
      ) AS t3
    ) AS t4
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(e0.x AS BIGINT) AS k0
  FROM (
    SELECT
      CAST(g.n AS BIGINT) AS x
    FROM GENERATE_SERIES(0, 40) AS g(n)
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
  dpsql_release_0.dpsql_shown_0;
