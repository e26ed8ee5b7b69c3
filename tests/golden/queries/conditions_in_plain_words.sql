SELECT COUNT(*) FROM patient
WHERE (sex, birth_year) IN (('F', 1980), ('M', 1981)) AND birth_year & 3 = 1 AND region SIMILAR TO '(n|s)%' AND birth_year <> ALL('{1990,1991}');

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u
    FROM "main"."patient" AS t1
    WHERE
      (
        (
          (
            t1."sex" = 'F'
          ) AND (
            CAST(t1."birth_year" AS INT) = 1980
          )
        )
        OR (
          (
            t1."sex" = 'M'
          ) AND (
            CAST(t1."birth_year" AS INT) = 1981
          )
        )
      )
      AND (
        CAST(t1."birth_year" AS INT) & 3
      ) = 1
      AND REGEXP_MATCHES(t1."region", '^(?:(?:n|s).*)$', 's')
      AND NOT (
        t1."birth_year" IN (CAST(1990 AS SMALLINT), CAST(1991 AS SMALLINT))
      )
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
