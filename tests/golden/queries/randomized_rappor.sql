SELECT site, COUNT(*) AS n FROM survey WHERE site IN ('a', 'b') GROUP BY site;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1729, l2 √1048643
--   s0: weighted rows 1 (steps of 1/1024, at most 1729)
--   s1: weighted rows 2 (steps of 1/1024, at most 1729)
--   s2: weighted rows 3 (steps of 1/1024, at most 1729)
-- a0: COUNT(*) FILTER(WHERE ((site IN ('a', 'b'))) AND (site = 'a')) (bigint) = count by reports: 3.104 · (1/846 · s0 + 227/689490 · s1 + 126439/261661455 · s2) + -0.7549 · (1/815 · s1 + 13/26895 · s2) + -0.7549 · (1/759 · s2), of [1, 1], ±√(0 to 2.449); 1 rows a person
-- a1: COUNT(*) FILTER(WHERE ((site IN ('a', 'b'))) AND (site = 'b')) (bigint) = count by reports: -0.7549 · (1/846 · s0 + 227/689490 · s1 + 126439/261661455 · s2) + 3.51 · (1/815 · s1 + 13/26895 · s2) + -1.413 · (1/759 · s2), of [1, 1], ±√(0 to 3.033); 1 rows a person
-- note: 3 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
-- note: people randomized this column themselves, and answers are freed of it (site: RAPPOR of 16 bits in 2 cohorts, ε = 2.04 a report)
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 392 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 619 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * 619 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS INT128) * 846 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * (
        -454
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 5) AS INT128) * (
        -227
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 6) AS INT128) * (
        -227
      )
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 516 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 815 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * (
        -299
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 516 + CAST(COUNT(*) FILTER(WHERE
        g0 = 5) AS INT128) * 815 + CAST(COUNT(*) FILTER(WHERE
        g0 = 6) AS INT128) * (
        -299
      )
    ) AS s1,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 759 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * 759 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS INT128) * 759 + CAST(COUNT(*) FILTER(WHERE
        g0 = 6) AS INT128) * 759
    ) AS s2
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE
        WHEN (
          t1."site" LIKE '0:________1_1_____'
        ) OR (
          t1."site" LIKE '1:_____1_____1____'
        )
        THEN CASE
          WHEN (
            t1."site" LIKE '0:____11__________'
          ) OR (
            t1."site" LIKE '1:____________1_1_'
          )
          THEN CASE WHEN (
            t1."site" LIKE '0:_________1____1_'
          ) OR (
            t1."site" LIKE '1:____1_________1_'
          ) THEN 0 ELSE 1 END
          WHEN (
            t1."site" LIKE '0:_________1____1_'
          ) OR (
            t1."site" LIKE '1:____1_________1_'
          )
          THEN 2
          ELSE 3
        END
        WHEN (
          t1."site" LIKE '0:____11__________'
        ) OR (
          t1."site" LIKE '1:____________1_1_'
        )
        THEN CASE WHEN (
          t1."site" LIKE '0:_________1____1_'
        ) OR (
          t1."site" LIKE '1:____1_________1_'
        ) THEN 4 ELSE 5 END
        WHEN (
          t1."site" LIKE '0:_________1____1_'
        ) OR (
          t1."site" LIKE '1:____1_________1_'
        )
        THEN 6
      END AS g0
    FROM "main"."survey" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM released;

-- outer
SELECT
  dpsql_by_value.dpsql_k0 AS "site",
  dpsql_by_value.dpsql_a0 AS "n"
FROM (
  SELECT
    CAST('a' AS TEXT) AS dpsql_k0,
    dpsql_release_0.a0 AS dpsql_a0
  FROM dpsql_release_0
  UNION ALL
  SELECT
    CAST('b' AS TEXT) AS dpsql_k0,
    dpsql_release_0.a1 AS dpsql_a0
  FROM dpsql_release_0
) AS dpsql_by_value;
