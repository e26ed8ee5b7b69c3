require "pg"
HOST, PORT = ARGV
def connected = PG.connect(host: HOST, port: PORT, user: "ana", dbname: "clinic").tap { |c| c.set_notice_processor { |_| } }
def show(name, result) = result.each_row { |row| puts "#{name} #{row.join(" ")}" }
BY_SEX = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex"
c = connected
puts "version #{PG::VERSION}"
show "one", c.exec("SELECT 1")
show "sex", c.exec(BY_SEX)
c.prepare("born", "SELECT COUNT(*) FROM patient WHERE birth_year > $1")
3.times { show "born", c.exec_prepared("born", [1980]) }
show "height", c.exec("SELECT AVG(height_cm) FROM patient")
show "region", c.exec_params("SELECT region, COUNT(*) FROM patient WHERE region < $1 GROUP BY region ORDER BY region", ["I"])
show "day", c.exec("SELECT day, COUNT(*) FROM visit WHERE day BETWEEN DATE '2025-03-04' AND DATE '2025-03-06' GROUP BY day ORDER BY day")
begin
  c.exec("SELECT * FROM patient")
rescue PG::Error => e
  puts "refused #{e.result.error_field(PG::PG_DIAG_SQLSTATE)}"
end
show "after", c.exec("SELECT 1")
c.transaction { |t| show "inside", t.exec("SELECT COUNT(*) FROM patient WHERE birth_year > 1980") }
c.close
show "again", connected.exec(BY_SEX)
