WITH released AS (
  SELECT
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t4.u AS u
    FROM (
      SELECT
        t3.c0 AS c0,
        t3.u AS u
      FROM (
        SELECT
          t1."id" AS c0,
          t1."id" AS u
        FROM "public"."patient" AS t1
        EXCEPT
        SELECT
          t2."patient_id" AS c0,
          t2."patient_id" AS u
        FROM "public"."visit" AS t2
      ) AS t3
    ) AS t4
    OFFSET 0
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;
