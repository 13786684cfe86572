// Package durable holds every fsync of the project, each with the crash that
// it survives, and the rules that a file of the state folder must meet.
//
// It guarantees that a function which returns nil has put its bytes, and the
// directory entry that leads to them, where a crash of the process, of the
// operating system or of the power supply does not undo them; that a name
// always shows either the old whole content or the new whole content; and that
// no file is used which somebody else may write or which leads out of the
// folder (symbolic link, second hard link, device, FIFO, other owner).
//
// Its limits: it believes the disk when that says a flush is done; it looks at
// the folder and what is in it, not at the directories above, whose writers can
// put another folder in its place before it is opened; it expects flock(2) and
// a rename that never replaces, which local filesystems of Linux and macOS
// have and network filesystems may not.
package durable
