"""The SQL of a ledger in PostgreSQL: its tables, and the one message that adds to them."""

from __future__ import annotations

from typing import LiteralString

FORMAT: LiteralString = "1"

SCHEMA: LiteralString = """
CREATE SCHEMA dpsql_ledger;
CREATE TABLE dpsql_ledger.fact (fact text PRIMARY KEY, value text NOT NULL);
CREATE TABLE dpsql_ledger.charge (
    number bigint PRIMARY KEY,
    id text NOT NULL UNIQUE,
    time timestamptz NOT NULL,
    analyst text COLLATE "C" NOT NULL CHECK (analyst <> ''),
    -- above the infinite there is NaN
    epsilon numeric NOT NULL CHECK (epsilon >= 0 AND epsilon < 'Infinity'),
    rho numeric NOT NULL CHECK (rho >= 0 AND rho < 'Infinity'),
    delta numeric NOT NULL CHECK (delta >= 0 AND delta < 'Infinity'),
    -- of each order, where the ledger counts them
    curve numeric[] NOT NULL DEFAULT '{}' CHECK (0 <= ALL (curve) AND 'Infinity' > ALL (curve)),
    statement text NOT NULL,
    tables text NOT NULL,
    -- the times of the rows that it is about, where the budget is one of the rows of each period
    span text NOT NULL DEFAULT ''
);
-- One row per analyst and one for all. It is changed with every charge: room in its page keeps that cheap.
CREATE TABLE dpsql_ledger.total (
    analyst text COLLATE "C" PRIMARY KEY,
    epsilon numeric NOT NULL,
    rho numeric NOT NULL,
    delta numeric NOT NULL,
    curve numeric[] NOT NULL DEFAULT '{}',
    charges bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO dpsql_ledger.total VALUES ('', 0, 0, 0, '{}', 0);
CREATE FUNCTION dpsql_ledger.refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$BEGIN RAISE EXCEPTION 'charges are only added'; END$$;
CREATE TRIGGER charge_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON dpsql_ledger.charge
    FOR EACH STATEMENT EXECUTE FUNCTION dpsql_ledger.refuse();
"""

CURVES: LiteralString = """
ALTER TABLE dpsql_ledger.charge ADD COLUMN curve numeric[] NOT NULL DEFAULT '{}'
    CHECK (0 <= ALL (curve) AND 'Infinity' > ALL (curve));
ALTER TABLE dpsql_ledger.total ADD COLUMN curve numeric[] NOT NULL DEFAULT '{}'
"""
"""A ledger that was begun before there were curves has none in it."""

SPANS: LiteralString = "ALTER TABLE dpsql_ledger.charge ADD COLUMN span text NOT NULL DEFAULT ''"
"""A charge that was made before there were spans is of all times."""

SUMS: LiteralString = """
SELECT coalesce(analyst, ''), sum(epsilon)::text, sum(rho)::text, sum(delta)::text,
    ARRAY(SELECT sum(part) FROM dpsql_ledger.charge AS mine, unnest(mine.curve) WITH ORDINALITY AS parts (part, place)
        WHERE charge.analyst IS NULL OR mine.analyst = charge.analyst
        GROUP BY parts.place ORDER BY parts.place)::text[],
    count(*)
FROM dpsql_ledger.charge GROUP BY ROLLUP (analyst) HAVING count(*) > 0
"""

TOTALS: LiteralString = """
SELECT analyst, epsilon::text, rho::text, delta::text, curve::text[], charges FROM dpsql_ledger.total
WHERE %(analyst)s::text IS NULL OR analyst = %(analyst)s
"""

ADDING: LiteralString = """
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT FROM dpsql_ledger.total WHERE analyst = '' FOR NO KEY UPDATE;
WITH due AS (
    SELECT * FROM unnest(
        %(ids)s::text[], %(times)s::timestamptz[], %(analysts)s::text[],
        %(epsilons)s::numeric[], %(rhos)s::numeric[], %(deltas)s::numeric[], %(curves)s::text[],
        %(statements)s::text[], %(tables)s::text[], %(spans)s::text[]
    ) WITH ORDINALITY AS due (id, time, analyst, epsilon, rho, delta, curve, statement, tables, span, place)
),
more AS (
    SELECT whose AS analyst, sum(epsilon) AS epsilon, sum(rho) AS rho, sum(delta) AS delta, count(*) AS charges,
        ARRAY(SELECT sum(part) FROM due AS mine, unnest(mine.curve::numeric[]) WITH ORDINALITY AS parts (part, at)
            WHERE whose IN ('', mine.analyst) GROUP BY parts.at ORDER BY parts.at) AS curve
    FROM (SELECT DISTINCT analyst AS whose FROM due UNION ALL SELECT '') AS concerned
        JOIN due ON whose IN ('', due.analyst)
    GROUP BY whose
),
spent AS (
    SELECT analyst, coalesce(total.epsilon, 0) AS epsilon, coalesce(total.rho, 0) AS rho,
        coalesce(total.delta, 0) AS delta, coalesce(total.curve, '{}') AS curve, coalesce(total.charges, 0) AS charges
    FROM more LEFT JOIN dpsql_ledger.total USING (analyst)
),
most AS (
    SELECT * FROM unnest(
        %(limited)s::text[], %(most_epsilon)s::numeric[], %(most_rho)s::numeric[], %(most_delta)s::numeric[],
        %(most_curve)s::text[]
    ) AS most (analyst, epsilon, rho, delta, curve)
),
-- The windows that are open, and the rows that are charged: what the sender has counted of them, what was charged
-- since, and what is new.
newer AS (
    SELECT *, coalesce(nullif(split_part(span, '/', 1), ''), '-infinity')::timestamptz AS since,
        coalesce(nullif(split_part(span, '/', 2), ''), 'infinity')::timestamptz AS until
    FROM dpsql_ledger.charge WHERE number > %(counted)s
),
latest AS (
    SELECT greatest(
        %(at)s::timestamptz, (SELECT time FROM dpsql_ledger.charge ORDER BY number DESC LIMIT 1)
    ) AS time
),
windows AS (
    SELECT * FROM unnest(
        %(windowed)s::text[], %(begins)s::timestamptz[], %(ends)s::timestamptz[], %(of_rows)s::boolean[],
        %(begun_epsilon)s::numeric[], %(begun_rho)s::numeric[], %(begun_delta)s::numeric[], %(begun_curve)s::text[],
        %(window_epsilon)s::numeric[], %(window_rho)s::numeric[], %(window_delta)s::numeric[], %(window_curve)s::text[],
        %(new_epsilon)s::numeric[], %(new_rho)s::numeric[], %(new_delta)s::numeric[], %(new_curve)s::text[]
    ) WITH ORDINALITY AS windows (
        analyst, begins, ends, of_rows, epsilon, rho, delta, curve, most_epsilon, most_rho, most_delta, most_curve,
        new_epsilon, new_rho, new_delta, new_curve, place
    )
),
recent AS (
    SELECT place, newer.epsilon, newer.rho, newer.delta, newer.curve
    FROM windows JOIN newer ON windows.analyst IN ('', newer.analyst)
        AND CASE WHEN of_rows THEN since < ends AND until > begins ELSE newer.time >= begins END
),
opened AS (
    SELECT analyst, ends, of_rows, place, most_epsilon, most_rho, most_delta, most_curve,
        new_epsilon, new_rho, new_delta, new_curve,
        epsilon + (SELECT coalesce(sum(recent.epsilon), 0) FROM recent WHERE recent.place = windows.place) AS epsilon,
        rho + (SELECT coalesce(sum(recent.rho), 0) FROM recent WHERE recent.place = windows.place) AS rho,
        delta + (SELECT coalesce(sum(recent.delta), 0) FROM recent WHERE recent.place = windows.place) AS delta,
        ARRAY(SELECT sum(part) FROM (
            SELECT part, at FROM unnest(windows.curve::numeric[]) WITH ORDINALITY AS parts (part, at)
            UNION ALL SELECT part, at FROM recent, unnest(recent.curve) WITH ORDINALITY AS parts (part, at)
            WHERE recent.place = windows.place
        ) AS parts GROUP BY at ORDER BY at) AS curve
    FROM windows
),
verdict AS (
    SELECT
        (SELECT value FROM dpsql_ledger.fact WHERE fact = 'identity') AS identity,
        (SELECT charges FROM spent WHERE analyst = '') AS last,
        (SELECT count(*) FROM dpsql_ledger.charge WHERE id = ANY (%(ids)s::text[])) AS known,
        -- without any filter nothing is admitted
        (SELECT count(*) FROM most) + (SELECT count(*) FROM opened) > 0
        AND (SELECT bool_and(
            spent.epsilon + more.epsilon <= most.epsilon
            AND spent.rho + more.rho <= most.rho
            AND spent.delta + more.delta <= most.delta
            AND (cardinality(more.curve) = 0 AND cardinality(spent.curve) = 0 OR EXISTS (
                SELECT FROM unnest(spent.curve, more.curve, most.curve::numeric[]) AS orders (gone, new, most)
                WHERE coalesce(gone, 0) + coalesce(new, 0) <= most
            ))
        ) FROM spent JOIN more USING (analyst) JOIN most USING (analyst)) IS NOT FALSE
        AND (SELECT bool_and(
            opened.epsilon + new_epsilon <= most_epsilon
            AND opened.rho + new_rho <= most_rho
            AND opened.delta + new_delta <= most_delta
            AND (new_curve = '{}' AND cardinality(opened.curve) = 0 OR EXISTS (
                SELECT
                FROM unnest(opened.curve, new_curve::numeric[], most_curve::numeric[]) AS orders (gone, new, most)
                WHERE coalesce(gone, 0) + coalesce(new, 0) <= most
            ))
        ) FROM opened) IS NOT FALSE
        -- an order of the owner's is a charge of nothing, and fits whatever is spent
        OR (SELECT bool_and(epsilon = 0 AND rho = 0 AND delta = 0 AND cardinality(curve) = 0) FROM more) AS fits,
        (SELECT count(*) > 0 FROM opened, latest WHERE ends <= time AND NOT of_rows) AS late
),
admitted AS (
    SELECT last FROM verdict WHERE identity = %(identity)s AND last >= %(last)s AND known = 0 AND NOT late AND fits
),
added AS (
    INSERT INTO dpsql_ledger.charge (number, id, time, analyst, epsilon, rho, delta, curve, statement, tables, span)
    SELECT last + place, id, latest.time, analyst, epsilon, rho, delta, curve::numeric[], statement, tables, span
    FROM due, latest, admitted
),
summed AS (
    INSERT INTO dpsql_ledger.total AS total (analyst, epsilon, rho, delta, curve, charges)
    SELECT analyst, epsilon, rho, delta, curve, charges FROM more, admitted
    ON CONFLICT (analyst) DO UPDATE SET
        epsilon = total.epsilon + excluded.epsilon,
        rho = total.rho + excluded.rho,
        delta = total.delta + excluded.delta,
        curve = ARRAY(
            SELECT coalesce(gone, 0) + coalesce(new, 0)
            FROM unnest(total.curve, excluded.curve) WITH ORDINALITY AS orders (gone, new, at) ORDER BY at
        ),
        charges = total.charges + excluded.charges
)
SELECT identity, last, known, late, fits,
    (SELECT json_object_agg(
        analyst, json_build_array(epsilon::text, rho::text, delta::text, curve::text[])
    ) FROM spent),
    (SELECT json_agg(
        json_build_array(epsilon::text, rho::text, delta::text, curve::text[]) ORDER BY place
    ) FROM opened)
FROM verdict;
COMMIT
"""
"""Add all of the charges, or none where their ids are known or a limit does not admit them.

The lock is had before the deciding statement takes its snapshot. Only a row of the total that the limits name is
compared, and everybody's always is. Charges are of one time, the latest of the sender's and of the last charge: where
that is beyond a window, the sender is ``late``, and asks again with the one that is open.
"""
