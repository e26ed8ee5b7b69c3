const { Client } = require("pg");
const Cursor = require("pg-cursor");
const [host, port] = process.argv.slice(2);
const connected = async () => {
  const client = new Client({ host, port: Number(port), user: "ana", database: "clinic" });
  await client.connect();
  return client;
};
const show = (name, rows) => rows.forEach((row) => console.log(name, row.join(" ")));
const bySex = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex";
(async () => {
  const client = await connected();
  const rows = async (text, values) => (await client.query({ text, values, rowMode: "array" })).rows;
  console.log("version", require("pg/package.json").version);
  show("one", await rows("SELECT 1"));
  show("sex", await rows(bySex));
  const born = { name: "born", text: "SELECT COUNT(*) FROM patient WHERE birth_year > $1", values: [1980], rowMode: "array" };
  for (let turn = 0; turn < 3; turn++) show("born", (await client.query(born)).rows);
  show("height", await rows("SELECT AVG(height_cm) FROM patient"));
  const cursor = client.query(
    new Cursor("SELECT region, COUNT(*) FROM patient WHERE region < $1 GROUP BY region ORDER BY region", ["I"], { rowMode: "array" }),
  );
  for (let part = await cursor.read(1); part.length; part = await cursor.read(1)) show("region", part);
  await cursor.close();
  const days = "SELECT day, COUNT(*) FROM visit WHERE day BETWEEN $1 AND $2 GROUP BY day ORDER BY day";
  for (const [day, count] of await rows(days, ["2025-03-04", "2025-03-06"])) console.log("day", day.toLocaleDateString("sv"), count);
  await client.query("SELECT * FROM patient").catch((error) => console.log("refused", error.code));
  show("after", await rows("SELECT 1"));
  await client.query("BEGIN");
  show("inside", await rows("SELECT COUNT(*) FROM patient WHERE birth_year > 1980"));
  await client.query("COMMIT");
  await client.end();
  const second = await connected();
  show("again", (await second.query({ text: bySex, rowMode: "array" })).rows);
  await second.end();
})().catch((error) => { console.error(error); process.exit(1); });
