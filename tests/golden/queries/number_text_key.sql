-- Numbers printed by a format are public keys where the numbers are.
SELECT TO_CHAR(birth_year, 'FM0000') AS year, COUNT(*) FROM patient WHERE birth_year > 2020 GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 6
--   k0: TO_CHAR(birth_year, 'FM0000') (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows whose birth_year is above 2026 are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      LIST_EXTRACT(
        LIST_TRANSFORM(
          [CAST(t1."birth_year" AS TEXT)],
          LAMBDA dpsql_digits : CASE
            WHEN LENGTH(LTRIM(LTRIM(dpsql_digits, '-'), '0')) > 4
            THEN (
              CASE WHEN LEFT(dpsql_digits, 1) = '-' THEN '-' ELSE '' END || '####'
            )
            ELSE (
              CASE WHEN LEFT(dpsql_digits, 1) = '-' THEN '-' ELSE '' END || SUBSTRING(
                SUBSTRING(LPAD(LTRIM(LTRIM(dpsql_digits, '-'), '0'), 4, '0'), 1, 4),
                LIST_EXTRACT([1, 1, 1, 1, 1], LENGTH(LTRIM(LTRIM(dpsql_digits, '-'), '0')) + 1)
              )
            )
          END
        ),
        1
      ) AS k0
    FROM "main"."patient" AS t1
    WHERE
      CAST(t1."birth_year" AS INT) > 2020
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(LIST_EXTRACT(
      LIST_TRANSFORM(
        [CAST(d_t1_2.x AS TEXT)],
        LAMBDA dpsql_digits : CASE
          WHEN LENGTH(LTRIM(LTRIM(dpsql_digits, '-'), '0')) > 4
          THEN (
            CASE WHEN LEFT(dpsql_digits, 1) = '-' THEN '-' ELSE '' END || '####'
          )
          ELSE (
            CASE WHEN LEFT(dpsql_digits, 1) = '-' THEN '-' ELSE '' END || SUBSTRING(
              SUBSTRING(LPAD(LTRIM(LTRIM(dpsql_digits, '-'), '0'), 4, '0'), 1, 4),
              LIST_EXTRACT([1, 1, 1, 1, 1], LENGTH(LTRIM(LTRIM(dpsql_digits, '-'), '0')) + 1)
            )
          )
        END
      ),
      1
    ) AS TEXT) AS k0
  FROM (
    SELECT
      CAST(g.n AS SMALLINT) AS x
    FROM GENERATE_SERIES(2021, 2026) AS g(n)
  ) AS d_t1_2
  WHERE
    CAST(d_t1_2.x AS INT) > 2020
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
  dpsql_release_0.k0 AS "year",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
