<?php
[, $h, $p] = $argv;
function connected() { global $h, $p; return new PDO("pgsql:host=$h;port=$p;dbname=clinic", "ana", null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_NUM]); }
function show($name, $rows) { foreach ($rows as $row) echo $name, " ", implode(" ", $row), "\n"; }
$by_sex = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex";
$c = connected();
echo "version ", PHP_VERSION, "\n";
show("one", $c->query("SELECT 1"));
show("sex", $c->query($by_sex));
$s = $c->prepare("SELECT COUNT(*) FROM patient WHERE birth_year > ?");
foreach ([1, 2, 3] as $_) { $s->execute([1980]); show("born", $s); }
show("height", $c->query("SELECT AVG(height_cm) FROM patient"));
$s = $c->prepare("SELECT region, COUNT(*) FROM patient WHERE region < :end GROUP BY region ORDER BY region");
$s->execute(["end" => "I"]);
show("region", $s);
show("day", $c->query("SELECT day, COUNT(*) FROM visit WHERE day BETWEEN DATE '2025-03-04' AND DATE '2025-03-06' GROUP BY day ORDER BY day"));
try { $c->query("SELECT * FROM patient"); } catch (PDOException $e) { echo "refused ", $e->getCode(), "\n"; }
show("after", $c->query("SELECT 1"));
$c->beginTransaction();
show("inside", $c->query("SELECT COUNT(*) FROM patient WHERE birth_year > 1980"));
$c->commit();
$s = $c = null;
show("again", connected()->query($by_sex));
