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
        FROM "public"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t3
    OFFSET 0
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
  ON ARRAY[CAST(keys.k0 AS BIGINT)] = ARRAY[CAST(released.k0 AS BIGINT)]
ORDER BY
  keys.k0;
