SELECT COUNT(*) FROM patient WHERE levenshtein(diagnosis, 'flu') < 2;

-- ----
-- refused: 42883 at 36: function levenshtein is not answered | the guide lists the functions that are answered, those of numbers, texts and times among them
