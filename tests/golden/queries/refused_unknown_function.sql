SELECT COUNT(*) FROM patient WHERE levenshtein(diagnosis, 'flu') < 2;

-- ----
-- refused: 42883 at 36: function levenshtein is not answered | functions are abs, acos, ascii, asin, atan, atan2, btrim, cbrt, ceil, ceiling, char_length, character_length, coalesce, concat, concat_ws, cos, cot, date, date_bin, date_part, date_trunc, degrees, div, exp, extract, floor, greatest, least, left, length, ln, log, log10, lower, lpad, ltrim, make_date, mod, nullif, pi, position, power, radians, repeat, replace, reverse, right, round, rpad, rtrim, sign, sin, split_part, sqrt, starts_with, strpos, substr, substring, tan, tanh, timezone, to_char, to_timestamp, translate, trim, trunc, upper, width_bucket
