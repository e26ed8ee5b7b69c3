// GraphQL over PostGraphile's schema of the clinic: each line is a name and JSON.
const { createPostGraphileSchema, withPostGraphileContext } = require("postgraphile");
const { Pool } = require("pg");
const { graphql } = require("graphql");
const [host, port] = process.argv.slice(2);
const QUESTIONS = {
  total: "{allPatients {totalCount}}",
  filtered: '{allPatients(condition: {sex: "F"}) {totalCount}}',
  regions: "{allRegions {totalCount nodes {name population patientsByRegion {totalCount}}}}",
  page: "{allRegions(first: 2, orderBy: POPULATION_DESC) {nodes {name} pageInfo {hasNextPage}}}",
  one: '{regionByName(name: "Hesse") {population patientsByRegion {totalCount}}}',
  nodes: "{allPatients(first: 3) {nodes {sex region}}}",
  person: "{patientById(id: 3) {sex}}",
  parent: "{allVisits(first: 2) {nodes {day patientByPatientId {sex}}}}",
};
(async () => {
  const pgPool = new Pool({ host, port: Number(port), user: "ana", database: "clinic" });
  const schema = await createPostGraphileSchema(pgPool, ["public"], { disableDefaultMutations: true });
  console.log("version", JSON.stringify(require("postgraphile/package.json").version));
  for (const [name, text] of Object.entries(QUESTIONS)) {
    const { data, errors } = await withPostGraphileContext({ pgPool }, (context) => graphql(schema, text, null, { ...context }));
    console.log(name, JSON.stringify(errors ? errors.map((error) => error.message) : data));
  }
  await pgPool.end();
})().catch((error) => { console.error(error); process.exit(1); });
