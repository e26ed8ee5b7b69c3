use strict; use warnings; use DBI;
my ($h, $p) = @ARGV;
sub connected { DBI->connect("dbi:Pg:host=$h;port=$p;dbname=clinic", "ana", "", {RaiseError => 1, PrintError => 0, PrintWarn => 0}) }
my $by_sex = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex";
my $c = connected();
print "version ", DBD::Pg->VERSION, "\n";
print "one ", $c->selectrow_array("SELECT 1"), "\n";
print "sex @$_\n" for @{$c->selectall_arrayref($by_sex)};
my $s = $c->prepare("SELECT COUNT(*) FROM patient WHERE birth_year > ?");
for (1 .. 3) { $s->execute(1980); print "born ", $s->fetchrow_array, "\n"; }
print "height ", $c->selectrow_array("SELECT AVG(height_cm) FROM patient"), "\n";
print "region @$_\n" for @{$c->selectall_arrayref("SELECT region, COUNT(*) FROM patient WHERE region < ? GROUP BY region ORDER BY region", {}, "I")};
print "day @$_\n" for @{$c->selectall_arrayref("SELECT day, COUNT(*) FROM visit WHERE day BETWEEN DATE '2025-03-04' AND DATE '2025-03-06' GROUP BY day ORDER BY day")};
eval { $c->selectall_arrayref("SELECT * FROM patient") };
print "refused ", $c->state, "\n";
print "after ", $c->selectrow_array("SELECT 1"), "\n";
$c->begin_work; print "inside ", $c->selectrow_array("SELECT COUNT(*) FROM patient WHERE birth_year > 1980"), "\n"; $c->commit;
print "table $_\n" for sort map { /(\w+)$/ } $c->tables(undef, "public", undef, "TABLE");
$c->disconnect; $c = connected();
print "again @$_\n" for @{$c->selectall_arrayref($by_sex)};
$c->disconnect;
