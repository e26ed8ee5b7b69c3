SELECT COUNT(*) FROM patient
WHERE REGEXP_REPLACE(region, '^(.)([^-]*)-.*$', '\2\1', 'i') = 'orthn' AND SUBSTRING(region FROM '[0-9]+') IS NULL AND INITCAP(region) > 'A';

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
      CASE WHEN STRLEN(t1."region") <= 21845 THEN REGEXP_REPLACE(t1."region", '^(.)([^-]*)-.*$', '\2\1', 'si') END = 'orthn'
      AND LIST_EXTRACT(REGEXP_EXTRACT_ALL(t1."region", '([0-9]+)', 1, 's'), 1) IS NULL
      AND ARRAY_TO_STRING(
        LIST_TRANSFORM(
          REGEXP_EXTRACT_ALL(t1."region", '[\p{L}\p{N}]+|[^\p{L}\p{N}]+'),
          LAMBDA w : UPPER(LEFT(w, 1)) || LOWER(SUBSTRING(w, 2))
        ),
        ''
      ) > 'A'
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
