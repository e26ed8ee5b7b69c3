WITH released AS (
  SELECT
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      (
        t1."sex" COLLATE "C"
      ) AS k0,
      CASE
        WHEN t1."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308
        THEN CASE
          WHEN t1."weight_kg" < 2e0
          THEN 8192
          WHEN t1."weight_kg" > 300e0
          THEN 1228800
          ELSE CAST(t1."weight_kg" * 4096e0 AS BIGINT)
        END
      END AS v0
    FROM "public"."patient" AS t1
    OFFSET 0
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    (
      CAST(d_t1_1.x AS TEXT) COLLATE "C"
    ) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      ((
          CAST('F' AS TEXT) COLLATE "C"
      )),
      ((
          CAST('M' AS TEXT) COLLATE "C"
      ))) AS v(x)
  ) AS d_t1_1
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON ARRAY[keys.k0] = ARRAY[released.k0]
ORDER BY
  keys.k0;
