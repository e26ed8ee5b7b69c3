WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."dpsql_unit" AS u
    FROM (
      SELECT
        t1."id",
        t1."visit_id",
        t1."patient_id",
        t1."batch_id",
        t1."result",
        t1_0."patient_id" AS "dpsql_unit"
      FROM "public"."sample" AS t1
      JOIN "public"."visit" AS t1_0
        ON t1."visit_id" = t1_0."id"
    ) AS t1
    JOIN "public"."referral" AS t2
      ON t1."visit_id" = t2."visit_id" AND t1."dpsql_unit" = t2."patient_id"
    WHERE
      NOT t1."dpsql_unit" IS NULL
    OFFSET 0
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 4000 THEN 4000 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;
