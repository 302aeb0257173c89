package file

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"bproc/internal/job/life"
	"bproc/nodeset"
)

// Bounds of times.
const (
	shortestTime = time.Second
	longestTime  = 24 * time.Hour
)

func jobKeys(j *Job) []key {
	return []key{
		{"nodes", "The nodes that the job may run on: a node specification, see bpsh(1).", false, nodes{&j.Nodes}},
		{"autostart", "The processes of the job are started when one of nodes comes up.", false, flag{&j.Autostart}},
		{"processes", "The processes of the job. All run on the same node.", true, sequence[Process]{to: &j.Processes, begin: process, of: func(p *Process) value { return object{processKeys(p)} }}},
	}
}

func processKeys(p *Process) []key {
	return []key{
		{"name", "The name of the process. That of the job stands for it where it is the same.", true, text{&p.Name, checkName, namePattern}},
		{"executable", "The program: a path, or a name to look for in PATH.", true, text{&p.Executable, notEmpty, "."}},
		{"args", "The arguments of the program.", false, texts(&p.Args)},
		{"env", "Environment variables, beside TMPDIR, LANG, PATH and HOME.", false, pairs{&p.Env}},
		{"workdir", "The working directory, an absolute path; otherwise that of the job.", false, text{&p.Workdir, checkAbsolute, "^(/|$)"}},
		{"hooks", "Programs that are run for the process.", false, object{[]key{
			{"pre_start", "A program that is run before each start, an absolute path.", false, text{&p.Hooks.PreStart, checkAbsolute, "^(/|$)"}},
		}}},
		{"capabilities", "Capabilities that the process keeps, as in capabilities(7), without CAP_.", false, sequence[string]{to: &p.Capabilities, of: func(s *string) value { return word{text{to: s, check: checkCapability}, capabilities} }}},
		{"limits", "What the process may use, with all of its children.", false, object{[]key{
			{"memory", "Memory, with swap: 256M. Units are powers of 1024.", false, size{&p.Limits.Memory}},
			{"open_files", "Open files of each process, RLIMIT_NOFILE in setrlimit(2).", false, count{&p.Limits.OpenFiles, 1}},
			{"processes", "Processes and threads at a time.", false, count{&p.Limits.Processes, 1}},
			{"core_file_size", "The size of core files in bytes; 0: none.", false, count{&p.Limits.CoreFileSize, 0}},
		}}},
		{"logs", "When its logs are begun anew; otherwise never.", false, object{[]key{
			{"max_size", "The size of a log at which the next one is begun, between two lines: 10M.", false, size{&p.Logs.MaxSize}},
			{"keep", "How many former logs are kept, as LOG.1, which is the last one, LOG.2 and so on; otherwise 5.", false, count{&p.Logs.Keep, 1}},
		}}},
		{"ephemeral_disk", "The process has a directory for data that may be lost with the node.", false, flag{&p.EphemeralDisk}},
		{"persistent_disk", "The process has a directory for data that must last.", false, flag{&p.PersistentDisk}},
		{"additional_volumes", "Directories that the process shares with others.", false, volumes(&p.AdditionalVolumes, checkVolume, volumePattern)},
		{"unsafe", "What lessens the isolation of the process.", false, object{[]key{
			{"privileged", "The process is run as root with all capabilities.", false, flag{&p.Unsafe.Privileged}},
			{"unrestricted_volumes", "As additional_volumes, wherever they are. A path is a pattern.", false, volumes(&p.Unsafe.UnrestrictedVolumes, checkPattern, "^/")},
			{"host_pid_namespace", "The process sees all processes.", false, flag{&p.Unsafe.HostPIDNamespace}},
		}}},
		{"shutdown_signal", "The signal that asks the process to end; otherwise TERM.", false, choice[Signal]{&p.ShutdownSignal, []Signal{TERM, INT}}},
		{"shutdown_timeout", "How long the process has to end before it gets SIGQUIT and SIGKILL; otherwise 20s.", false, duration{&p.ShutdownTimeout, shortestTime, longestTime}},
		{"restart", "When the process is started again after it has ended by itself; otherwise no.", false, restart{&p.Restart}},
	}
}

func texts(to *[]string) value {
	return sequence[string]{to: to, of: func(s *string) value { return text{to: s} }}
}

func volumes(to *[]Volume, check func(*reader, string) error, pattern string) value {
	return sequence[Volume]{to: to, of: func(v *Volume) value { return object{volumeKeys(v, check, pattern)} }}
}

func volumeKeys(v *Volume, check func(*reader, string) error, pattern string) []key {
	return []key{
		{"path", "The directory, an absolute path.", true, text{&v.Path, check, pattern}},
		{"writable", "It may be written to.", false, flag{&v.Writable}},
		{"allow_executions", "Programs in it may be executed.", false, flag{&v.AllowExecutions}},
		{"mount_only", "It is not made if it is missing.", false, flag{&v.MountOnly}},
		{"shared", "What is mounted below it is seen on both sides.", false, flag{&v.Shared}},
	}
}

// word is a text with a closed list of values in the schema.
type word struct {
	text
	all []string
}

// nodes is a node specification.
type nodes struct{ to *nodeset.Set }

func (s nodes) read(r *reader, n *yaml.Node, at string) {
	written, ok := r.scalar(n, at, "a node specification such as 0-3 or tag:gpu")
	if !ok {
		return
	}
	set, err := nodeset.Parse(written)
	if err != nil {
		r.problem(n, at, "%s", clip(err.Error()))
		return
	}
	*s.to = set
}

// restart is a rule: a word, or a mapping with the word and delays.
type restart struct{ to *life.Rule }

func (s restart) value() either {
	when := choice[life.When]{&s.to.When, []life.When{life.No, life.OnFailure, life.Always}}
	return either{other: when, mapping: object{[]key{
		{"when", "no; on-failure: it has failed or its node has; always.", true, when},
		{"delay", "How long it is waited before the first restart; twice as long before the next; otherwise 1s.", false, duration{&s.to.Delay, 100 * time.Millisecond, longestTime}},
		{"max_delay", "How long it is waited at most; after a run that was as long the next wait is delay; otherwise 1m.", false, duration{&s.to.MaxDelay, 100 * time.Millisecond, longestTime}},
	}}}
}

func (s restart) read(r *reader, n *yaml.Node, at string) {
	s.value().read(r, n, at)
	if rule := *s.to; rule.MaxDelay > 0 && rule.MaxDelay < rule.FirstDelay() {
		r.problem(n, at, "max_delay (%v) must not be less than delay (%v)", rule.MaxDelay, rule.FirstDelay())
	}
}

// elsewhere says where a key belongs that is unknown in its place.
func elsewhere(name string) string {
	keys := processKeys(new(Process))
	type level struct {
		keys []key
		at   string
	}
	levels := []level{
		{jobKeys(new(Job)), "beside processes"},
		{keys, "in a process"},
		{volumeKeys(new(Volume), nil, ""), "in an element of additional_volumes"},
		{restart{new(life.Rule)}.value().mapping.keys, "in restart"},
	}
	for _, k := range keys {
		if o, ok := k.value.(object); ok {
			levels = append(levels, level{o.keys, "in " + k.name})
		}
	}
	for _, l := range levels {
		if slices.ContainsFunc(l.keys, func(k key) bool { return k.name == name }) {
			return l.at
		}
	}
	return ""
}
