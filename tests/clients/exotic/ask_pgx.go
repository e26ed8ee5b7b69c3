package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"
)

const bySex = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex"

var background = context.Background()

type asker interface {
	Query(context.Context, string, ...interface{}) (pgx.Rows, error)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func connected() *pgx.Conn {
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%s user=ana dbname=clinic sslmode=disable", os.Args[1], os.Args[2]))
	check(err)
	config.PreferSimpleProtocol = os.Args[3] == "simple"
	conn, err := pgx.ConnectConfig(background, config)
	check(err)
	return conn
}

func print(name string, rows pgx.Rows) {
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		check(err)
		cells := make([]string, len(values))
		for i, value := range values {
			if day, is := value.(time.Time); is {
				value = day.Format("2006-01-02")
			}
			cells[i] = fmt.Sprint(value)
		}
		fmt.Println(name, strings.Join(cells, " "))
	}
	check(rows.Err())
}

func show(name string, on asker, query string, values ...interface{}) {
	rows, err := on.Query(background, query, values...)
	check(err)
	print(name, rows)
}

func main() {
	conn := connected()
	fmt.Println("version pgx v4")
	show("one", conn, "SELECT 1")
	show("sex", conn, bySex)
	born := "SELECT COUNT(*) FROM patient WHERE birth_year > $1"
	show("born", conn, born, 1980)
	// A batch is a pipeline: all is sent before anything is read.
	batch := &pgx.Batch{}
	batch.Queue(born, 1980)
	batch.Queue("SELECT AVG(height_cm) FROM patient")
	batch.Queue(born, 1980)
	results := conn.SendBatch(background, batch)
	for _, name := range []string{"born", "height", "born"} {
		rows, err := results.Query()
		check(err)
		print(name, rows)
	}
	check(results.Close())
	show("region", conn, "SELECT region, COUNT(*) FROM patient WHERE region < $1 GROUP BY region ORDER BY region", "I")
	day := func(day int) time.Time { return time.Date(2025, 3, day, 0, 0, 0, 0, time.UTC) }
	show("day", conn, "SELECT day, COUNT(*) FROM visit WHERE day BETWEEN $1 AND $2 GROUP BY day ORDER BY day", day(4), day(6))
	rows, err := conn.Query(background, "SELECT * FROM patient")
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		fmt.Println("refused", refused.Code)
	}
	check(conn.Ping(background))
	show("after", conn, "SELECT 1")
	tx, err := conn.BeginTx(background, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	check(err)
	show("inside", tx, "SELECT COUNT(*) FROM patient WHERE birth_year > 1980")
	check(tx.Commit(background))
	check(conn.Close(background))
	show("again", connected(), bySex)
}
