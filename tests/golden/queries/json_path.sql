-- Parts of a document are read by literal keys; a clamp has its own bounds.
SELECT answers -> 'sleep' ->> 'quality' AS quality, COUNT(*) AS n,
    SUM(LEAST(GREATEST((answers #>> '{sleep,hours}')::int, 0), 24)) AS hours
FROM diary WHERE answers @> '{"smoker": true}' AND JSONB_ARRAY_LENGTH(answers -> 'drugs') > 1 GROUP BY 1

-- ----
-- release 0
-- groups: selected
--   k0: answers -> 'sleep' ->> 'quality' (text)
-- selection: weight w in 1/1048576, at most 4 groups
-- one unit moves: l1 None, l2 1610612736
--   s0: Σ(LEAST(GREATEST(CAST((answers #>> '{sleep,hours}') AS INT), 0), 24) - 0) (steps of 1/16777216, at most 1610612736)
--   s1: Σ(24 - LEAST(GREATEST(CAST((answers #>> '{sleep,hours}') AS INT), 0), 24)) (steps of 1/16777216, at most 1610612736)
-- a0: COUNT(*) (bigint) = 1/402653184 · s0 + 1/402653184 · s1, rounded, at least 0
-- a1: SUM(LEAST(GREATEST(CAST((answers #>> '{sleep,hours}') AS INT), 0), 24)) (bigint) = 1/16777216 · s0, rounded
-- note: each person counts with at most 4 rows (max_rows of diary)
-- note: LEAST(GREATEST(CAST((answers #>> '{sleep,hours}') AS INT), 0), 24) is clipped into [0, 24]
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 24
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t1."patient_id" AS u,
      (
        CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END -> '$.sleep'
      ) ->> '$.quality' AS k0,
      CASE
        WHEN LEAST(
          GREATEST(
            TRY_CAST(REGEXP_EXTRACT((
              CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END -> '$.sleep'
            ) ->> '$.hours', '^\s*([+-]?\d+)\s*$', 1) AS INT),
            0
          ),
          24
        ) < 0
        THEN 0
        WHEN LEAST(
          GREATEST(
            TRY_CAST(REGEXP_EXTRACT((
              CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END -> '$.sleep'
            ) ->> '$.hours', '^\s*([+-]?\d+)\s*$', 1) AS INT),
            0
          ),
          24
        ) > 24
        THEN 24
        ELSE CAST(LEAST(
          GREATEST(
            TRY_CAST(REGEXP_EXTRACT((
              CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END -> '$.sleep'
            ) ->> '$.hours', '^\s*([+-]?\d+)\s*$', 1) AS INT),
            0
          ),
          24
        ) AS BIGINT)
      END AS v0
    FROM "main"."diary" AS t1
    WHERE
      CASE
        WHEN NOT CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END IS NULL
        THEN COALESCE(
          (
            CASE
              WHEN NOT CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END IS NULL
              THEN CASE JSON_TYPE(CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END)
                WHEN 'OBJECT'
                THEN 'object'
                WHEN 'ARRAY'
                THEN 'array'
                WHEN 'VARCHAR'
                THEN 'string'
                WHEN 'BOOLEAN'
                THEN 'boolean'
                WHEN 'NULL'
                THEN 'null'
                ELSE 'number'
              END
            END = 'object'
            AND CASE
              WHEN NOT (
                CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END -> '$.smoker'
              ) IS NULL
              THEN CASE JSON_TYPE(CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END -> '$.smoker')
                WHEN 'OBJECT'
                THEN 'object'
                WHEN 'ARRAY'
                THEN 'array'
                WHEN 'VARCHAR'
                THEN 'string'
                WHEN 'BOOLEAN'
                THEN 'boolean'
                WHEN 'NULL'
                THEN 'null'
                ELSE 'number'
              END
            END = 'boolean'
            AND (
              CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END ->> '$.smoker'
            ) = 'true'
          ),
          FALSE
        )
      END
      AND CASE
        WHEN CASE
          WHEN NOT (
            CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END -> '$.drugs'
          ) IS NULL
          THEN CASE JSON_TYPE(CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END -> '$.drugs')
            WHEN 'OBJECT'
            THEN 'object'
            WHEN 'ARRAY'
            THEN 'array'
            WHEN 'VARCHAR'
            THEN 'string'
            WHEN 'BOOLEAN'
            THEN 'boolean'
            WHEN 'NULL'
            THEN 'null'
            ELSE 'number'
          END
        END = 'array'
        THEN CAST(JSON_ARRAY_LENGTH(CASE WHEN JSON_VALID(t1."answers") THEN t1."answers" END -> '$.drugs') AS INT)
      END > 1
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 98304 THEN 98304 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 98304 THEN 98304 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 16
      THEN (
        3.999999999996362e0 / SQRT(CAST(SUM(CAST(clamped.n0 AS INT128) * clamped.n0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor,
    COUNT(*) AS t
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 16 OR COUNT(*) > 1
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 16777216e0) AS BIGINT)
        ELSE clamped.s0 * 16777216
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 16777216e0) AS BIGINT)
        ELSE clamped.s1 * 16777216
      END
    ) AS s1,
    SUM(
      CASE
        WHEN scale.t IS NULL
        THEN 1048576
        WHEN scale.t > 4
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
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "quality",
  dpsql_release_0.a0 AS "n",
  dpsql_release_0.a1 AS "hours"
FROM dpsql_release_0;
