package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/lib/pq"
)

const bySex = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex"

type asker interface {
	Query(string, ...any) (*sql.Rows, error)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func connected() *sql.DB {
	db, err := sql.Open("postgres", fmt.Sprintf("host=%s port=%s user=ana dbname=clinic sslmode=disable", os.Args[1], os.Args[2]))
	check(err)
	db.SetMaxOpenConns(1)
	return db
}

func show(name string, on asker, query string, values ...any) {
	rows, err := on.Query(query, values...)
	check(err)
	defer rows.Close()
	names, err := rows.Columns()
	check(err)
	cells, places := make([]string, len(names)), make([]any, len(names))
	for i := range cells {
		places[i] = &cells[i]
	}
	for rows.Next() {
		check(rows.Scan(places...))
		fmt.Println(name, strings.ReplaceAll(strings.Join(cells, " "), "T00:00:00Z", ""))
	}
	check(rows.Err())
}

func main() {
	db := connected()
	fmt.Println("version lib/pq")
	show("one", db, "SELECT 1")
	show("sex", db, bySex)
	for turn := 0; turn < 3; turn++ {
		show("born", db, "SELECT COUNT(*) FROM patient WHERE birth_year > $1", 1980)
	}
	show("height", db, "SELECT AVG(height_cm) FROM patient")
	show("region", db, "SELECT region, COUNT(*) FROM patient WHERE region < $1 GROUP BY region ORDER BY region", "I")
	show("day", db, "SELECT day, COUNT(*) FROM visit WHERE day BETWEEN $1 AND $2 GROUP BY day ORDER BY day", "2025-03-04", "2025-03-06")
	_, err := db.Query("SELECT * FROM patient")
	var refused *pq.Error
	if errors.As(err, &refused) {
		fmt.Println("refused", refused.Code)
	}
	show("after", db, "SELECT 1")
	tx, err := db.Begin()
	check(err)
	show("inside", tx, "SELECT COUNT(*) FROM patient WHERE birth_year > 1980")
	check(tx.Commit())
	check(db.Close())
	show("again", connected(), bySex)
}
