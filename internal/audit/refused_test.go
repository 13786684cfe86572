package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func refusal(err string) Record {
	return Record{Phase: PhaseCall, Tool: "request_redrive", Queue: "orders", Actor: "luis", Session: "s1", Effect: "refused", Err: err}
}

// refusals sums up by error how many refusals the log tells of.
func refusals(recs []Record) (records int, told map[string]int) {
	told = make(map[string]int)
	for _, r := range recs {
		if r.Effect != "refused" {
			continue
		}
		records++
		n := 1
		for _, arg := range r.Args {
			if arg.Key == "count" {
				n = int(arg.Value.(int64))
			}
		}
		told[r.Err] += n
	}
	return records, told
}

func TestRefusalsAreCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := newState(t)
		log := openLog(t, state, Options{})
		refuse := func(err string) {
			if err := log.Refused(t.Context(), refusal(err)); err != nil {
				t.Fatal(err)
			}
		}
		for range 500 {
			refuse("a")
			refuse("b")
		}
		if records, _ := refusals(all(t, state, Query{})); records != 2 {
			t.Errorf("%d records before the window ends, want the first of each kind", records)
		}
		time.Sleep(refusedWindow)
		synctest.Wait()
		records, told := refusals(all(t, state, Query{}))
		if records != 4 || told["a"] != 500 || told["b"] != 500 {
			t.Errorf("%d records tell of %v", records, told)
		}
		refuse("a")
		refuse("a")
		refuse("a")
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		records, told = refusals(all(t, state, Query{}))
		if records != 6 || told["a"] != 503 {
			t.Errorf("after Close %d records tell of %v", records, told)
		}
	})
}

func TestFloodOfKindsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const flood = 2000
		state := newState(t)
		log := openLog(t, state, Options{})
		for i := range flood {
			if err := log.Refused(t.Context(), refusal(fmt.Sprint("unknown tool ", i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		records, told := refusals(all(t, state, Query{}))
		sum := 0
		for _, n := range told {
			sum += n
		}
		if sum != flood || records != refusedKinds+2 {
			t.Errorf("%d records tell of %d refusals", records, sum)
		}
	})
}

func TestRefusedFailsWhenItsRecordFails(t *testing.T) {
	state := newState(t)
	log := openLog(t, state, Options{})
	mustAppend(t, log, Record{Phase: PhaseCall})
	log.flush = func(*os.File) error { return errDisk }
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := log.Refused(context.Background(), refusal("a")); !errors.Is(err, errDisk) {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
}
