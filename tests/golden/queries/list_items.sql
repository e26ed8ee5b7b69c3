-- A row of each item of a list: as many as the owner says, of the same person.
SELECT s.symptom, COUNT(*) AS n FROM diary AS v, UNNEST(v.symptoms) AS s(symptom)
WHERE 7 = ANY(v.codes) AND NOT v.symptoms @> ARRAY['none'] GROUP BY s.symptom

-- ----
-- release 0
-- groups: selected
--   k0: symptom (text)
-- selection: weight w in 1/1048576, at most 12 groups
-- one unit moves: l1 None, l2 1610612736
--   s0: COUNT(*) (steps of 1/134217728, at most 1610612736)
-- a0: COUNT(*) (bigint) = 1/134217728 · s0, rounded, at least 0
-- note: each person counts with at most 12 rows
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2.u AS u,
      t2.c5 AS k0
    FROM (
      SELECT
        t1."patient_id" AS c0,
        CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c1,
        CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END AS c2,
        t1."symptoms" AS c3,
        t1."codes" AS c4,
        UNNEST(t1."symptoms") AS c5,
        t1."patient_id" AS u
      FROM "main"."diary" AS t1
    ) AS t2
    WHERE
      CASE
        WHEN LENGTH(t2.c4) = 0
        THEN FALSE
        WHEN (
          CASE WHEN NOT 7 IS NULL THEN ARRAY_CONTAINS(t2.c4, 7) END
        )
        THEN TRUE
        WHEN LIST_COUNT(t2.c4) < LENGTH(t2.c4)
        THEN NULL
        ELSE (
          CASE WHEN NOT 7 IS NULL THEN ARRAY_CONTAINS(t2.c4, 7) END
        )
      END
      AND NOT CASE
        WHEN NOT t2.c3 IS NULL
        THEN (
          COALESCE(
            CASE
              WHEN LENGTH(t2.c3) = 0
              THEN FALSE
              WHEN (
                CASE WHEN NOT 'none' IS NULL THEN ARRAY_CONTAINS(t2.c3, 'none') END
              )
              THEN TRUE
              WHEN LIST_COUNT(t2.c3) < LENGTH(t2.c3)
              THEN NULL
              ELSE (
                CASE WHEN NOT 'none' IS NULL THEN ARRAY_CONTAINS(t2.c3, 'none') END
              )
            END,
            FALSE
          )
        )
      END
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 144
      THEN (
        11.999999999989086e0 / SQRT(CAST(SUM(CAST(clamped.s0 AS INT128) * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor,
    COUNT(*) AS t
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 144 OR COUNT(*) > 1
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 134217728e0) AS BIGINT)
        ELSE LEAST(clamped.s0, 12) * 134217728
      END
    ) AS s0,
    SUM(
      CASE
        WHEN scale.t IS NULL
        THEN 1048576
        WHEN scale.t > 12
        THEN 0
        ELSE CAST(TRUNC(1048575.9999990463e0 / SQRT(CAST(scale.t AS DOUBLE))) AS BIGINT)
      END
    ) AS w
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
)
SELECT
  released.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "symptom",
  dpsql_release_0.a0 AS "n"
FROM dpsql_release_0;
