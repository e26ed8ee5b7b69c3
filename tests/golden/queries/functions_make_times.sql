SELECT COUNT(*) FROM patient
WHERE MAKE_TIMESTAMP(birth_year, 1, 31, 12, 0, 0.5) < '1980-01-01' AND TO_DATE(region || '2020', 'Mon DD YYYY') IS NULL;

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
      TRY_CAST(REGEXP_EXTRACT(
        CASE
          WHEN t1."birth_year" BETWEEN 1 AND 9999 AND 0 BETWEEN 0 AND 59
          THEN LPAD(CAST(t1."birth_year" AS TEXT), 4, '0') || '-' || CAST(1 AS TEXT) || '-' || CAST(31 AS TEXT) || ' ' || CAST(12 AS TEXT) || ':' || LPAD(CAST(0 AS TEXT), 2, '0') || ':' || CASE
            WHEN CAST(CAST(0.5 AS DECIMAL(2, 1)) AS DECIMAL(8, 6)) >= 0
            AND CAST(CAST(0.5 AS DECIMAL(2, 1)) AS DECIMAL(8, 6)) < 60
            THEN LPAD(CAST(CAST(CAST(0.5 AS DECIMAL(2, 1)) AS DECIMAL(8, 6)) AS TEXT), 9, '0')
          END
        END,
        '^(\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{2}:\d{2}[.]\d{6})$',
        1
      ) AS TIMESTAMP) < CAST('1980-01-01 00:00:00' AS TIMESTAMP)
      AND TRY_CAST(REGEXP_EXTRACT(
        CASE
          WHEN STRLEN(t1."region") <= 32731
          THEN LIST_EXTRACT(
            REGEXP_EXTRACT_ALL(
              CASE WHEN STRLEN(t1."region") <= 65532 THEN t1."region" || '2020' END,
              '^ *[A-Za-z]{3}[^0-9A-Za-z][0-9]{1,2}[^0-9A-Za-z]([0-9]{4})',
              1,
              's'
            ),
            1
          ) || '-' || CAST((
            CAST(STRPOS(
              'jan feb mar apr may jun jul aug sep oct nov dec',
              LOWER(
                LEFT(
                  LIST_EXTRACT(
                    REGEXP_EXTRACT_ALL(
                      CASE WHEN STRLEN(t1."region") <= 65532 THEN t1."region" || '2020' END,
                      '^ *([A-Za-z]{3})[^0-9A-Za-z][0-9]{1,2}[^0-9A-Za-z][0-9]{4}',
                      1,
                      's'
                    ),
                    1
                  ),
                  3
                )
              )
            ) AS BIGINT) + 3
          ) // 4 AS TEXT) || '-' || LIST_EXTRACT(
            REGEXP_EXTRACT_ALL(
              CASE WHEN STRLEN(t1."region") <= 65532 THEN t1."region" || '2020' END,
              '^ *[A-Za-z]{3}[^0-9A-Za-z]([0-9]{1,2})[^0-9A-Za-z][0-9]{4}',
              1,
              's'
            ),
            1
          )
        END,
        '^\s*((?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d\d\d)-\d{1,2}-\d{1,2})(?:[ T](?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)?\s*$',
        1
      ) AS DATE) IS NULL
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
