SELECT COUNT(*) FROM visit WHERE day > DATE '2024-13-01';

-- ----
-- refused: 22007 at 45: '2024-13-01' is not a date | write it as '2024-12-31'
