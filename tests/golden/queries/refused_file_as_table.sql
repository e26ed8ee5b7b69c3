SELECT COUNT(*) FROM '/etc/passwd';

-- ----
-- refused: 42P01 at 22: there is no table '/etc/passwd' | there are diary, patient, prescription, referral, region, sample, survey, visit
