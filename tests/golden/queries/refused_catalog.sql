SELECT * FROM pg_catalog.pg_class;

-- ----
-- refused: 42P01 at 26: there is no table 'pg_catalog.pg_class' | there are diary, patient, prescription, referral, region, sample, survey, visit
