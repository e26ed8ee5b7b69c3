WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS DECIMAL) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS DECIMAL) * 397
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS DECIMAL) * 944
    ) AS s1,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS DECIMAL) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS DECIMAL) * 397
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS DECIMAL) * 944
    ) AS s3
  FROM (
    SELECT
      t2."id" AS u,
      CASE
        WHEN (
          t1."drinks" COLLATE "C"
        ) = 'yes'
        THEN CASE WHEN t2."smoker" AND (
          (
            t1."drinks" COLLATE "C"
          ) = 'yes'
        ) THEN 0 ELSE 1 END
        WHEN NOT (
          (
            t1."drinks" COLLATE "C"
          ) = 'no'
        )
        THEN NULL
        WHEN t2."smoker" AND (
          (
            t1."drinks" COLLATE "C"
          ) = 'no'
        )
        THEN 2
        ELSE 3
      END AS g0
    FROM "public"."survey" AS t1
    JOIN "public"."patient" AS t2
      ON t1."patient_id" = t2."id"
    OFFSET 0
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3
FROM released;
