package policy

import (
	"fmt"
	"slices"
)

func (b *builder) people() {
	for _, name := range sorted(b.raw.People) {
		b.name("people/"+name, "a person", name)
		b.p.People[name] = &Person{Name: name}
	}
	for _, name := range sorted(b.raw.Groups) {
		b.group(name, b.raw.Groups[name])
	}
}

func (b *builder) group(name string, members []string) {
	path := "groups/" + name
	b.name(path, "a group", name)
	if _, clash := b.p.People[name]; clash {
		b.fault(path, fmt.Sprintf("%q is a person and a group", name), "rename one of them")
	}
	if len(members) == 0 && b.given(path) {
		b.fault(path, fmt.Sprintf("the group %q has no members", name), "name at least one person")
	}
	known := sorted(b.p.People)
	for i, member := range members {
		at := fmt.Sprintf("%s/%d", path, i)
		switch {
		case b.bad[at]:
		case b.p.People[member] == nil:
			b.fault(at, fmt.Sprintf("%s of group %q is not in people", quote(member), name), b.suggest(member, known))
		}
	}
	b.p.Groups[name] = members
}

// approval resolves who may approve, and refuses what nobody can give.
func (b *builder) approval(path string, a Approval) Approval {
	a.fill(b.p.Defaults)
	known, everybody := true, append(sorted(b.p.People), sorted(b.p.Groups)...)
	for i, name := range a.From {
		members, isGroup := b.p.Groups[name]
		at := fmt.Sprintf("%s/from/%d", path, i)
		switch {
		case b.bad[at]:
			known = false
		case isGroup:
			a.people = append(a.people, members...)
		case b.p.People[name] != nil:
			a.people = append(a.people, name)
		default:
			known = false
			b.fault(at, fmt.Sprintf("%s is no person and no group", quote(name)),
				b.suggest(name, everybody))
		}
	}
	slices.Sort(a.people)
	a.people = slices.Compact(a.people)
	b.givable(path, a, known)
	return a
}

func (b *builder) givable(path string, a Approval, known bool) {
	if a.Proof != "none" {
		b.fault(path+"/proof", "this build cannot verify signatures yet", "use proof: none")
	}
	switch {
	case b.given(path+"/from") && len(a.From) == 0:
		b.fault(path+"/from", "an empty list of approvers: nobody could approve", "name groups or people, or leave the key out for anyone at the command line")
	case len(a.From) == 0 && a.Count > 1:
		b.fault(path+"/count", fmt.Sprintf("%d people must approve, and nobody says who they are", a.Count), `name them with "from"`)
	case !known || len(a.From) == 0:
	case a.Count > len(a.people):
		b.fault(path+"/count", fmt.Sprintf("%d people must approve, and only %d may", a.Count, len(a.people)), "lower count, or name more people")
	case a.Separation == "person" && len(a.people) == 1:
		b.fault(path, fmt.Sprintf("separation asks for two different people, and only %q may approve", a.people[0]), "name more people, or use separation: agent")
	}
}
