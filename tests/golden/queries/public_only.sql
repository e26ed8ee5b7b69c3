-- No person is in it: free and exact.
SELECT country, SUM(population) FROM region GROUP BY country;

-- ----
-- outer
SELECT
  region.country AS "country",
  CAST(SUM(region.population) AS BIGINT) AS "sum"
FROM "region" AS "region"
GROUP BY
  region.country;
