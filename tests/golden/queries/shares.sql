-- Shares beside counts are quotients of counts: all of them are one family.
SELECT AVG(CASE WHEN height_cm > 180 THEN 1 ELSE 0 END) AS tall, AVG(smoker::int), 100.0 * COUNT_IF(smoker) / COUNT(*) AS percent FROM patient

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1947, l2 √1048577
--   s0: weighted rows 1 (steps of 1/1024, at most 1947)
--   s1: weighted rows 2 (steps of 1/1024, at most 1947)
--   s2: weighted rows 3 (steps of 1/1024, at most 1947)
--   s3: weighted rows 4 (steps of 1/1024, at most 1947)
-- a0: the rows with it of AVG(CASE WHEN height_cm > 180 THEN 1 ELSE 0 END) (bigint) = 1/863 · s0 + 191/390076 · s1 + 211/3110252 · s2 + 30349350/65283411917 · s3, rounded, at least 0
-- a1: the rows of AVG(CASE WHEN height_cm > 180 THEN 1 ELSE 0 END) (bigint) = 1/904 · s1 + 1/7208 · s2 + 67383/75647059 · s3, rounded, at least 0
-- a2: the rows with it of AVG(CAST(smoker AS INT)) (bigint) = 1/901 · s2 + 409/669443 · s3, rounded, at least 0
-- a3: the rows of AVG(CAST(smoker AS INT)) (bigint) = 1/743 · s3, rounded, at least 0
-- a4: COUNT(*) (bigint) = 1/904 · s1 + 1/7208 · s2 + 67383/75647059 · s3, rounded, at least 0
-- a5: SUM(CASE WHEN smoker THEN 1 ELSE 0 END) (bigint) = 1/901 · s2 + 409/669443 · s3, rounded, at least 0
-- note: 4 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 433 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 438 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * 481 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * (
        -430
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * (
        -425
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 5) AS INT128) * (
        -382
      )
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 244 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 357 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * 904 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 244 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 357 + CAST(COUNT(*) FILTER(WHERE
        g0 = 5) AS INT128) * 904
    ) AS s1,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 492 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * (
        -409
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 492 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * (
        -409
      )
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 743 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 743 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 743 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 743
    ) AS s3
  FROM (
    SELECT
      t1."id" AS u,
      CASE
        WHEN t1."height_cm" > 180
        THEN CASE WHEN t1."smoker" THEN 0 WHEN NOT t1."smoker" IS NULL THEN 1 ELSE 2 END
        WHEN t1."smoker"
        THEN 3
        WHEN NOT t1."smoker" IS NULL
        THEN 4
        ELSE 5
      END AS g0
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3
FROM released;

-- outer
SELECT
  (
    CAST(dpsql_release_0.a0 AS DOUBLE) / NULLIF(dpsql_release_0.a1, 0)
  ) AS "tall",
  (
    CAST(dpsql_release_0.a2 AS DOUBLE) / NULLIF(dpsql_release_0.a3, 0)
  ) AS "avg",
  100.0 * dpsql_release_0.a5 / dpsql_release_0.a4 AS "percent"
FROM dpsql_release_0;
