package policy_test

import "testing"

func TestLoad(t *testing.T) {
	p := load(t, "design.yaml")
	q := p.Queues["orders"]
	t.Logf("%+v", q)
	t.Logf("%+v", p.Queues["jobs"].Backend.Config)
}
