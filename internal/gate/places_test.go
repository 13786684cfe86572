package gate_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redrive-mcp/redrive-mcp/internal/gate"
)

// ofGroup asks for up to n letters of the only group of orders.
func ofGroup(t *testing.T, h *house, n int, patch string) (*gate.RequestResult, error) {
	t.Helper()
	groups := must[*gate.GroupResult](t)(h.agent().Group(t.Context(), gate.GroupArgs{Queue: "orders"}))
	args := gate.RedriveArgs{Queue: "orders", Group: groups.Groups[0].Group, AsOf: groups.AsOf, MaxMessages: n, Reason: "r"}
	if patch != "" {
		in := gate.PatchArgs{Queue: "orders", Group: args.Group, AsOf: groups.AsOf, MaxMessages: 500, Patch: gate.RawJSON(patch)}
		pr := must[*gate.PatchResult](t)(h.agent().ProposePatch(t.Context(), in))
		if pr.PatchID == "" {
			t.Fatalf("the patch applies nowhere: %+v", pr)
		}
		args.PatchID = pr.PatchID
	}
	return h.agent().RequestRedrive(t.Context(), args)
}

// claimedBy are the ids of a request's letters, newest death first.
func claimedBy(t *testing.T, h *house, request string) (ids []int) {
	t.Helper()
	for _, rec := range h.log() {
		if rec.Phase == "plan" && rec.Outcome == request {
			for _, it := range rec.Items {
				n, err := strconv.Atoi(it.ID)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, n)
			}
		}
	}
	return ids
}

// What stands against a letter does not take the place of one that can be sent,
// whatever it is, patched or not; and the newest of those are taken.
func TestPlacesGoToLettersThatCanBeSent(t *testing.T) {
	const eur = `[{"op":"replace","path":"/currency","value":"EUR"}]`
	policy := strings.Replace(standard, "rules:\n", "rules:\n      - {name: worn, when: {attempts: {min: 9}}, do: never}\n", 1)
	type bar func(h *house, id string)
	set := func(query string) bar { return func(h *house, id string) { h.exec(query, id) } }
	request := func(patch string, deny bool) bar {
		return func(h *house, id string) {
			pr := must[*gate.PatchResult](h.t)(h.agent().ProposePatch(h.t.Context(), gate.PatchArgs{Queue: "orders", ID: id, Patch: gate.RawJSON(patch)}))
			res := must[*gate.RequestResult](h.t)(h.agent().RequestRedrive(h.t.Context(), gate.RedriveArgs{Queue: "orders", ID: id, PatchID: pr.PatchID, Reason: "r"}))
			if deny {
				must[*gate.RequestResult](h.t)(h.person("ana").Deny(h.t.Context(), res.RequestID, "no"))
			}
		}
	}
	for _, tc := range []struct {
		name, patch, why string
		bar              bar
	}{
		{"never, unpatched", "", "never", set(`UPDATE jobs SET attempts = 9 WHERE id = ?`)},
		{"never, patched", eur, "never", set(`UPDATE jobs SET attempts = 9 WHERE id = ?`)},
		{"the patch changes nothing", eur, "patch_does_not_apply", set(`UPDATE jobs SET payload = '{"currency":"EUR"}' WHERE id = ?`)},
		{"the patch does not apply", eur, "patch_does_not_apply", set(`UPDATE jobs SET payload = '{}' WHERE id = ?`)},
		{"no object", eur, "patch_does_not_apply", set(`UPDATE jobs SET payload = '"what"' WHERE id = ?`)},
		{"claimed", eur, "claimed", request(eur, false)},
		{"the same patch was denied", eur, "denied", request(eur, true)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := open(t, policy)
			ids := h.kill("orders", 60, "TimeoutError: x", `{"currency":"EU"}`)
			barred := map[int]bool{}
			for i := len(ids) - 1; i > 5; i -= 2 { // every other one, from the newest on
				tc.bar(h, ids[i])
				n, _ := strconv.Atoi(ids[i])
				barred[n] = true
				if tc.why == "claimed" && len(barred) == 19 {
					break // the pending ones are limited
				}
			}
			res := must[*gate.RequestResult](t)(ofGroup(t, h, 12, tc.patch))
			got := claimedBy(t, h, res.RequestID)
			if res.Messages != 12 || len(got) != 12 || res.LeftOut[tc.why] == 0 || res.LeftOut["beyond_max_messages"] == 0 {
				t.Errorf("got %+v", res)
			}
			want := 60 // the newest has the largest id
			for _, id := range got {
				for barred[want] {
					want--
				}
				if id != want {
					t.Errorf("took %d, want %d of %v", id, want, got)
				}
				want--
			}
			sum := res.Messages
			for _, n := range res.LeftOut {
				sum += n
			}
			if sum != 60 {
				t.Errorf("%d of 60 letters are accounted for: %+v", sum, res.LeftOut)
			}
			// All that can be sent, and no more.
			if tc.why != "claimed" {
				rest := must[*gate.RequestResult](t)(ofGroup(t, h, 60, tc.patch))
				if rest.Messages != 60-12-len(barred) || rest.LeftOut["claimed"] != 12 || rest.LeftOut[tc.why] != len(barred) {
					t.Errorf("the rest: %+v", rest)
				}
			}
			h.verify()
		})
	}
}

// A letter that died after the listing is not in the request, though it is in
// the group.
func TestPlacesKeepTheListing(t *testing.T) {
	h := open(t, standard)
	h.kill("orders", 3, "TimeoutError: x", `{"currency":"EUR"}`)
	groups := must[*gate.GroupResult](t)(h.agent().Group(t.Context(), gate.GroupArgs{Queue: "orders"}))
	for _, id := range h.kill("orders", 3, "TimeoutError: x", `{"currency":"EU"}`) {
		h.exec(`UPDATE jobs SET failed_at = ? WHERE id = ?`, time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000Z"), id)
	}
	res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), gate.RedriveArgs{Queue: "orders", Group: groups.Groups[0].Group, AsOf: groups.AsOf, MaxMessages: 6, Reason: "r"}))
	if res.Messages != 3 || len(res.LeftOut) != 0 {
		t.Errorf("got %+v", res)
	}
}

// A large group in which hardly any letter can be sent is looked through up to a
// bound, which is told.
func TestWeighingIsBounded(t *testing.T) {
	h := open(t, standard)
	const bound = 10_000
	h.exec(`CREATE INDEX jobs_dead ON jobs (queue, failed_at, id) WHERE status = 'failed'`)
	good := h.kill("orders", 4, "TimeoutError: x", `{"currency":"EU"}`)
	h.kill("orders", bound-2, "TimeoutError: x", `{"currency":"EUR"}`) // two of the good ones are within the bound
	pr := must[*gate.PatchResult](t)(h.agent().ProposePatch(t.Context(), gate.PatchArgs{Queue: "orders", IDs: good, Patch: gate.RawJSON(`[{"op":"replace","path":"/currency","value":"EUR"}]`)}))
	groups := must[*gate.GroupResult](t)(h.agent().Group(t.Context(), gate.GroupArgs{Queue: "orders"}))
	args := gate.RedriveArgs{Queue: "orders", Group: groups.Groups[0].Group, AsOf: groups.AsOf, MaxMessages: 100, Reason: "r", PatchID: pr.PatchID, DryRun: true}
	res := must[*gate.RequestResult](t)(h.agent().RequestRedrive(t.Context(), args))
	if res.Messages != 2 || res.LeftOut["patch_does_not_apply"] != bound-2 || res.LeftOut["not_weighed"] != 2 || len(fmt.Sprint(res)) > 4000 {
		t.Errorf("got %+v", res)
	}
	h.exec(`UPDATE jobs SET payload = '{"currency":"EUR"}'`)
	_, err := h.agent().RequestRedrive(t.Context(), args)
	refused(t, err, gate.CodeBadArgument, "10000 of 10000 letters", "2 older letters of the group were not looked at")
}
