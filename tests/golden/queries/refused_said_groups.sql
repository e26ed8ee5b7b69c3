SELECT SUM(m) FROM (SELECT batch_id, MAX(patient_id) AS p, MAX(result) AS m FROM sample GROUP BY batch_id) AS t;

-- ----
-- refused: 0A000: groups of which MAX(patient_id) says whose they are may be several people's, and are counted here | GROUP BY the person as well, so that rows of several people are several groups
