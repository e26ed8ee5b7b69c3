WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0,
    (
      COUNT(*)
    ) AS s1
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM (
      SELECT
        t1."id",
        t1."visit_id",
        t1."patient_id",
        t1."batch_id",
        t1."result"
      FROM "public"."sample" AS t1
      JOIN "public"."visit" AS t1_0
        ON t1."visit_id" = t1_0."id" AND t1_0."patient_id" = t1."patient_id"
    ) AS t1
    WHERE
      NOT t1."patient_id" IS NULL
    OFFSET 0
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CASE WHEN s0 > 0 THEN 1 ELSE 0 END AS s0,
    CAST(CASE WHEN s1 > 200 THEN 200 ELSE s1 END AS BIGINT) AS s1
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0,
    SUM(clamped.s1) AS s1
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;
