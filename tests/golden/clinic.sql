CREATE TABLE region (name VARCHAR PRIMARY KEY, country VARCHAR NOT NULL, population INTEGER NOT NULL);
CREATE TABLE patient (id INTEGER PRIMARY KEY, sex VARCHAR NOT NULL, birth_year SMALLINT, height_cm INTEGER,
    weight_kg DOUBLE, smoker BOOLEAN, diagnosis VARCHAR, region VARCHAR);
CREATE TABLE visit (id INTEGER PRIMARY KEY, patient_id INTEGER NOT NULL REFERENCES patient (id), day DATE NOT NULL,
    cost DECIMAL(8, 2), reason VARCHAR);
CREATE TABLE prescription (visit_id INTEGER, drug VARCHAR, dose DOUBLE, note VARCHAR, score BIGINT);
CREATE TABLE sample (id INTEGER PRIMARY KEY, visit_id INTEGER NOT NULL REFERENCES visit (id),
    patient_id INTEGER NOT NULL REFERENCES patient (id), batch_id INTEGER, result DOUBLE);
CREATE TABLE referral (id INTEGER PRIMARY KEY, patient_id INTEGER NOT NULL REFERENCES patient (id),
    visit_id INTEGER REFERENCES visit (id), day DATE NOT NULL);
CREATE TABLE survey (patient_id INTEGER PRIMARY KEY REFERENCES patient (id), drinks VARCHAR NOT NULL, income INTEGER,
    site VARCHAR);
CREATE TABLE diary (patient_id INTEGER NOT NULL REFERENCES patient (id), day DATE, answers JSON, symptoms VARCHAR[], codes INTEGER[]);
INSERT INTO region VALUES ('north', 'X', 100), ('south', 'X', 200), ('east', 'Y', 300);
