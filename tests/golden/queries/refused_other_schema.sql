SELECT COUNT(*) FROM secret.patient;

-- ----
-- refused: 42P01 at 29: there is no table 'patient' | there are diary, patient, prescription, referral, region, sample, survey, visit
