package policy

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// looseness warns of others who may change a file, or the folder that it stands
// in: who writes it decides what is redriven. Others of a group are the
// operator's to know. policy is where the warning is said to be.
func looseness(policy, name string, info fs.FileInfo) (all []Fault) {
	warn := func(why, hint string) {
		all = append(all, Fault{File: policy, Why: why, Hint: hint})
	}
	kept := info.IsDir() && info.Mode()&fs.ModeSticky != 0 // its files are their owners'
	if info.Mode().Perm()&0o002 != 0 && !kept {
		warn(fmt.Sprintf("everybody on this machine may write %s", name), "chmod o-w it: who writes it decides what is redriven")
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		warn(fmt.Sprintf("%s belongs to user %d, who is neither you nor root", name, st.Uid), "chown it: who owns it decides what is redriven")
	}
	return all
}
