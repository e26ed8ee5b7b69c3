-- Rows that the statement writes: each row of people meets one of them, since they differ by the name.
SELECT v.n, COUNT(*) AS people FROM (VALUES ('north', 1), ('south', 2)) AS v(name, n)
JOIN patient AS p ON p.region = v.name GROUP BY v.n

-- ----
-- release 0
-- groups: public, at most 2
--   k0: n (integer)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t3."id" AS u,
      t2.c1 AS k0
    FROM (
      SELECT
        t1.c0 AS c0,
        t1.c1 AS c1
      FROM (
        SELECT
          CAST(v.c0 AS TEXT) AS c0,
          CAST(v.c1 AS INT) AS c1
        FROM (VALUES
          ('north', 1),
          ('south', 2)) AS v(c0, c1)
      ) AS t1
    ) AS t2
    JOIN "main"."patient" AS t3
      ON t2.c0 = t3."region"
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(e0.x AS INT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (1),
      (2)) AS v(x)
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
  dpsql_release_0.a0 AS "people"
FROM dpsql_release_0;
