WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS DECIMAL) * 68719476736
    ) AS s0,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * 381774870
    ) AS s1,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * 68719476736
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS DECIMAL) * 83751861600 + COALESCE(SUM(d2) FILTER(WHERE
        f2), 0) * (
        -2584934
      )
    ) AS s3,
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS DECIMAL) * 83751862272 + COALESCE(SUM(d3) FILTER(WHERE
        f2), 0) * (
        -83751862272
      )
    ) AS s4,
    (
      COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * 381774870
    ) AS s5
  FROM (
    SELECT
      u,
      v0,
      v1,
      f2,
      (
        2 * v0 - 260
      ) AS d0,
      (
        2 * v1 - 1
      ) AS d1,
      (
        2 * v0 - 260
      ) * (
        2 * v0 - 260
      ) AS d2,
      (
        2 * v1 - 1
      ) * (
        2 * v1 - 1
      ) AS d3,
      (
        2 * v0 - 260
      ) * (
        2 * v1 - 1
      ) AS d4
    FROM (
      SELECT
        t1."id" AS u,
        CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0,
        CASE
          WHEN CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END < 0
          THEN 0
          WHEN CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END > 1
          THEN 1
          ELSE CAST(CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END AS BIGINT)
        END AS v1,
        NOT t1."height_cm" IS NULL AND NOT CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END IS NULL AS f2
      FROM "public"."patient" AS t1
      WHERE
        (
          t1."sex" COLLATE "C"
        ) = 'F'
      OFFSET 0
    ) AS x
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3,
  COALESCE(released.s4, 0) AS s4,
  COALESCE(released.s5, 0) AS s5
FROM released;

WITH released AS (
  SELECT
    (
      COALESCE(SUM(d15) FILTER(WHERE
        f2), 0) * 8388608
    ) AS s10,
    (
      COALESCE(SUM(d16) FILTER(WHERE
        f2), 0) * 46603
    ) AS s11,
    (
      COALESCE(SUM(d17) FILTER(WHERE
        f2), 0) * 134217728
    ) AS s12,
    (
      COALESCE(SUM(d18) FILTER(WHERE
        f2), 0) * 745654
    ) AS s13,
    (
      COALESCE(SUM(d19) FILTER(WHERE
        f2), 0) * 4142
    ) AS s14
  FROM (
    SELECT
      u,
      v0,
      v1,
      f2,
      d0,
      d1,
      d13,
      d14,
      d15,
      d17,
      d16,
      d18,
      d18 * d0 AS d19
    FROM (
      SELECT
        u,
        v0,
        v1,
        f2,
        d0,
        d1,
        d13,
        d14,
        d15,
        d17,
        d15 * d0 AS d16,
        d17 * d0 AS d18
      FROM (
        SELECT
          u,
          v0,
          v1,
          f2,
          d0,
          d1,
          d13,
          d14,
          (
            (
              d1 + 1
            ) * 8192 - LEAST(GREATEST(CAST(TRUNC(CAST(16384e0 AS DOUBLE PRECISION) / (
              1e0 + EXP(-d14)
            ) + 0.5e0) AS BIGINT), 0), 16384)
          ) AS d15,
          LEAST(
            GREATEST(CAST(TRUNC(CAST(2048e0 AS DOUBLE PRECISION) / (
              2e0 + EXP(d14) + EXP(-d14)
            ) + 0.5e0) AS BIGINT), 0),
            512
          ) AS d17
        FROM (
          SELECT
            u,
            v0,
            v1,
            f2,
            d0,
            d1,
            d13,
            CAST(CASE WHEN d13 > 128849018880 THEN 128849018880 WHEN d13 < (
              -128849018880
            ) THEN (
              -128849018880
            ) ELSE d13 END AS DOUBLE PRECISION) * 2.3283064365386963e-10 AS d14
          FROM (
            SELECT
              u,
              v0,
              v1,
              f2,
              d0,
              d1,
              CAST((
                dpsql_point_4 + dpsql_point_5 * d0
              ) AS BIGINT) AS d13
            FROM (
              SELECT
                u,
                v0,
                v1,
                f2,
                (
                  2 * v0 - 260
                ) AS d0,
                (
                  2 * v1 - 1
                ) AS d1
              FROM (
                SELECT
                  t1."id" AS u,
                  CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0,
                  CASE
                    WHEN CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END < 0
                    THEN 0
                    WHEN CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END > 1
                    THEN 1
                    ELSE CAST(CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END AS BIGINT)
                  END AS v1,
                  NOT t1."height_cm" IS NULL AND NOT CASE WHEN t1."smoker" THEN 1 WHEN NOT t1."smoker" THEN 0 END IS NULL AS f2
                FROM "public"."patient" AS t1
                WHERE
                  (
                    t1."sex" COLLATE "C"
                  ) = 'F'
                OFFSET 0
              ) AS x
              OFFSET 0
            ) AS x
            OFFSET 0
          ) AS x
          OFFSET 0
        ) AS x
        OFFSET 0
      ) AS x
      OFFSET 0
    ) AS x
  ) AS r
)
SELECT
  COALESCE(released.s10, 0) AS s10,
  COALESCE(released.s11, 0) AS s11,
  COALESCE(released.s12, 0) AS s12,
  COALESCE(released.s13, 0) AS s13,
  COALESCE(released.s14, 0) AS s14
FROM released;
