WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS DECIMAL) * 392 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS DECIMAL) * 619 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS DECIMAL) * 619 + CAST(COUNT(*) FILTER(WHERE
        g0 = 3) AS DECIMAL) * 846 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS DECIMAL) * (
        -454
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 5) AS DECIMAL) * (
        -227
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 6) AS DECIMAL) * (
        -227
      )
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS DECIMAL) * 516 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS DECIMAL) * 815 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS DECIMAL) * (
        -299
      ) + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS DECIMAL) * 516 + CAST(COUNT(*) FILTER(WHERE
        g0 = 5) AS DECIMAL) * 815 + CAST(COUNT(*) FILTER(WHERE
        g0 = 6) AS DECIMAL) * (
        -299
      )
    ) AS s1,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS DECIMAL) * 759 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS DECIMAL) * 759 + CAST(COUNT(*) FILTER(WHERE
        g0 = 4) AS DECIMAL) * 759 + CAST(COUNT(*) FILTER(WHERE
        g0 = 6) AS DECIMAL) * 759
    ) AS s2
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE
        WHEN (
          (
            t1."site" COLLATE "C"
          ) LIKE '0:________1_1_____'
        )
        OR (
          (
            t1."site" COLLATE "C"
          ) LIKE '1:_____1_____1____'
        )
        THEN CASE
          WHEN (
            (
              t1."site" COLLATE "C"
            ) LIKE '0:____11__________'
          )
          OR (
            (
              t1."site" COLLATE "C"
            ) LIKE '1:____________1_1_'
          )
          THEN CASE
            WHEN (
              (
                t1."site" COLLATE "C"
              ) LIKE '0:_________1____1_'
            )
            OR (
              (
                t1."site" COLLATE "C"
              ) LIKE '1:____1_________1_'
            )
            THEN 0
            ELSE 1
          END
          WHEN (
            (
              t1."site" COLLATE "C"
            ) LIKE '0:_________1____1_'
          )
          OR (
            (
              t1."site" COLLATE "C"
            ) LIKE '1:____1_________1_'
          )
          THEN 2
          ELSE 3
        END
        WHEN (
          (
            t1."site" COLLATE "C"
          ) LIKE '0:____11__________'
        )
        OR (
          (
            t1."site" COLLATE "C"
          ) LIKE '1:____________1_1_'
        )
        THEN CASE
          WHEN (
            (
              t1."site" COLLATE "C"
            ) LIKE '0:_________1____1_'
          )
          OR (
            (
              t1."site" COLLATE "C"
            ) LIKE '1:____1_________1_'
          )
          THEN 4
          ELSE 5
        END
        WHEN (
          (
            t1."site" COLLATE "C"
          ) LIKE '0:_________1____1_'
        )
        OR (
          (
            t1."site" COLLATE "C"
          ) LIKE '1:____1_________1_'
        )
        THEN 6
      END AS g0
    FROM "public"."survey" AS t1
    OFFSET 0
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM released;
