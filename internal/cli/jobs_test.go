package cli_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite"
)

// The application around the program: a job table in SQLite and its worker.
//
//	jobs new FILE                                 make the table
//	jobs kill FILE QUEUE COUNT ERROR PAYLOAD      add dead jobs; # in PAYLOAD is the id
//	jobs work FILE                                work off what is queued, print it
//	jobs await FILE STATUS [COUNT]                wait until so many jobs have a status, or one
//	jobs sql FILE STATEMENT                       do anything else
//	jobs hold FILE SIGN                           lock a database, or any other file, make SIGN, and stand still
func jobs() {
	if err := runJobs(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "jobs:", err)
		os.Exit(1)
	}
}

func runJobs(args []string) error {
	if args[0] == "hold" {
		return hold(args[1], args[2])
	}
	db, err := sql.Open("sqlite", "file:"+args[1]+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close()
	switch args[0] {
	case "new":
		_, err = db.Exec(jobTable)
	case "kill":
		err = kill(db, args[2:])
	case "work":
		err = work(db)
	case "await":
		err = await(db, args[2:])
	case "sql":
		_, err = db.Exec(args[2])
	default:
		err = fmt.Errorf("no command %s", args[0])
	}
	return err
}

// hold is a process that has a lock and does not go on, until it is ended.
func hold(name, sign string) error {
	if strings.HasSuffix(name, ".db") {
		db, err := sql.Open("sqlite", "file:"+name+"?_txlock=immediate&_pragma=busy_timeout(5000)")
		if err != nil {
			return err
		}
		if _, err := db.Begin(); err != nil {
			return err
		}
	} else {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			return err
		}
	}
	if err := os.WriteFile(sign, nil, 0o600); err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt)
	<-ended
	return nil
}

const jobTable = `CREATE TABLE jobs (
	id INTEGER PRIMARY KEY, queue TEXT NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL, status TEXT NOT NULL,
	attempts INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL DEFAULT 3, error TEXT,
	created_at TEXT NOT NULL, tried_at TEXT, failed_at TEXT, run_at TEXT)`

// kill adds jobs that died one second after the other, the last one an hour ago.
func kill(db *sql.DB, args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var last int
	if err := db.QueryRow(`SELECT coalesce(max(id), 0) FROM jobs`).Scan(&last); err != nil {
		return err
	}
	for i := range n {
		id := last + 1 + i
		at := time.Now().Add(-time.Hour - time.Duration(n-i)*time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
		_, err := db.Exec(`INSERT INTO jobs (id, queue, kind, payload, status, attempts, error, created_at, tried_at, failed_at)
			VALUES (?, ?, 'charge', ?, 'failed', 3, ?, ?, ?, ?)`,
			id, args[0], strings.ReplaceAll(args[3], "#", strconv.Itoa(id)), args[2], at, at, at)
		if err != nil {
			return err
		}
	}
	return nil
}

// work takes what is queued and prints what the consumer got.
func work(db *sql.DB) error {
	rows, err := db.Query(`UPDATE jobs SET status = 'done' WHERE status = 'queued' RETURNING id, payload`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		var payload string
		if err := rows.Scan(&id, &payload); err != nil {
			return err
		}
		fmt.Println(id, payload)
	}
	return rows.Err()
}

// await looks again and again: another process changes the row.
func await(db *sql.DB, args []string) (err error) {
	want := 1
	if len(args) > 1 {
		if want, err = strconv.Atoi(args[1]); err != nil {
			return err
		}
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM jobs WHERE status = ?`, args[0]).Scan(&n); err != nil || n >= want {
			return err
		}
	}
	return nil
}
