package cli

// Headings of `help`.
const (
	partStart = "start"
	partLook  = "look"
	partAct   = "ask and decide"
	partRun   = "run and halt"
	partCheck = "check and prove"
	partMore  = "more"
)

// commands is the table of all commands, in the order in which help lists them.
// It is a function because nothing is built before it is needed.
func commands() []command {
	return []command{
		serveCommand(),
		demoCommand(),
		queuesCommand(),
		lettersCommand(),
		pendingCommand(),
		showCommand(),
		redriveCommand(),
		approveCommand(),
		denyCommand(),
		cancelCommand(),
		resolveCommand(),
		runCommand(),
		stopCommand(),
		resumeCommand(),
		auditCommand(),
		policyCommand(),
		doctorCommand(),
		runbookCommand(),
		completionCommand(),
		versionCommand(),
		helpCommand(),
	}
}
