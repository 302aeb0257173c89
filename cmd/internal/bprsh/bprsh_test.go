package bprsh

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bproc/cmd/internal/bpsh"
	"bproc/cmd/internal/terminal"
	"bproc/internal/accounts"
	"bproc/internal/client"
	"bproc/internal/fakegetent"
	"bproc/internal/manpage"
)

func TestManPage(t *testing.T) { manpage.CheckOptions(t, "../../../man/bprsh.1", usage) }

func TestParse(t *testing.T) {
	tests := []struct {
		args string // separated by spaces
		want options
	}{
		{"n1 true", options{host: "n1", words: []string{"true"}}},
		{"-x n1 \"/usr/bin/proxy\" --control-port vm:1", options{host: "n1", words: []string{`"/usr/bin/proxy"`, "--control-port", "vm:1"}}},
		{"n1 -- exec perl -e x", options{host: "n1", words: []string{"exec", "perl", "-e", "x"}}},
		{"-oConnectTimeout=10 -2 -a -x -lbob n1 id", options{user: "bob", host: "n1", words: []string{"id"}}},
		{"-o ForwardX11=no -l bob n1 -n id -n", options{user: "bob", host: "n1", noInput: true, words: []string{"id", "-n"}}},
		{"bob@n1", options{user: "bob", host: "n1"}},
		{"-l eve bob@n1 id", options{user: "eve", host: "n1", words: []string{"id"}}},
		{"-tt -e ^X n1 sh", options{host: "n1", terminal: forced, escape: 24, words: []string{"sh"}}},
		{"-t -t -e none n1 sh", options{host: "n1", terminal: forced, escape: terminal.NoEscape, words: []string{"sh"}}},
		{"-o RequestTTY=force -o EscapeChar=% n1 sh", options{host: "n1", terminal: forced, escape: '%', words: []string{"sh"}}},
		{"-Tqp22 -c aes -i id -F cfg -L 1:h:2 n1 sh", options{host: "n1", terminal: never, quiet: true, words: []string{"sh"}}},
		{"--login=bob --no-input n1 sh", options{user: "bob", host: "n1", noInput: true, words: []string{"sh"}}},
		{"-- n1 -n", options{host: "n1", words: []string{"-n"}}},
		{"-oSetEnv=A=1 n1 sh", options{host: "n1", set: []string{"A=1"}, words: []string{"sh"}}},
		{"-oSetEnv=A=YQ== -oSetEnv=B= n1 sh", options{host: "n1", set: []string{"A=YQ==", "B="}, words: []string{"sh"}}},
		{"-l bob -l eve -oUser=root n1", options{user: "bob", host: "n1"}},
		{"-oUser=bob -l eve n1", options{user: "bob", host: "n1"}},
		{`-oUser="bob" -oRequestTTY="no" -oEscapeChar='%' n1`, options{user: "bob", host: "n1", terminal: never, escape: '%'}},
		{"-oRequestTTY=True n1", options{host: "n1", terminal: wanted}},
		{"-oStdinNull=yes -oRemoteCommand=none n1 sh", options{host: "n1", noInput: true, words: []string{"sh"}}},
		{"-oRemoteCommand=echo\tit's n1", options{host: "n1", command: "echo\tit's", words: []string{"echo\tit's"}}},
		{"-oSetEnv\t=\tA==1\t n1 sh", options{host: "n1", set: []string{"A==1"}, words: []string{"sh"}}},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			if tt.want.escape == 0 {
				tt.want.escape = '~'
			}
			got, err := parse(strings.Split(tt.args, " "))
			if err != nil || !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestSplitWords(t *testing.T) {
	for text, want := range map[string][]string{
		``:                       nil,
		` a  b	c `:               {"a", "b", "c"},
		`A="b c" B='d "e'`:       {"A=b c", `B=d "e`},
		`"" ''`:                  {"", ""},
		`a\ b "c\"\\" 'd\'' e\f`: {"a b", `c"\`, "d'", `e\f`},
		`"a\ b" c\`:              {`a\ b`, `c\`},
		`a#b #c "`:               {"a#b"},
	} {
		if got, err := splitWords(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for args, want := range map[string]string{
		"":                       "no node given; --help says how",
		"root@":                  "no node given; --help says how",
		"-z n1":                  "there is no option -z; --help lists those that there are",
		"--color n1":             "there is no option --color; --help lists those that there are",
		"--quiet=1 n1":           "option --quiet takes no value",
		"-l":                     "option -l needs a value",
		"-e xyz n1":              `escape character "xyz": one character, ^ and a letter, or none`,
		"-o RequestTTY=si n1":    "option -o RequestTTY=si: yes, no, force or auto",
		"-o User= n1":            "option -o User=: the setting has one value",
		`-oUser="bob n1`:         `option -o User="bob: a quote is not closed`,
		"-s n1 sftp":             "option -s: there are no subsystems, such as sftp; scp -O and bpcp(1) copy files",
		"-N -L 1:h:2 n1":         "option -N: nothing is forwarded, so there is nothing to do without a command",
		"-O exit n1":             "option -O exit: there is no shared connection to control",
		"-W h:1 n1":              "option -W h:1: nothing is forwarded",
		"-oRemoteCommand=a n1 b": "option -o RemoteCommand: there is another command on the command line",
		"-o BatchMode n1 true":   "option -o BatchMode: a setting has a value: NAME=VALUE",
	} {
		if _, err := parse(strings.Fields(args)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", args, err, want)
		}
	}
}

// TestHome begins in the home directory, which not all nodes need have.
func TestHome(t *testing.T) {
	sh := &bpsh.Shell{Client: new(client.Client), Stdin: strings.NewReader("")}
	a, err := agent(t.Context(), sh, &options{host: "3", words: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	if u := caller(); a.Cmd.Dir != u.Home || !a.Cmd.DirOptional {
		t.Errorf("got directory %q, optional: %v, want %q", a.Cmd.Dir, a.Cmd.DirOptional, u.Home)
	}
}

// TestOnTerminal has a terminal as standard input.
func TestOnTerminal(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var stderr strings.Builder
	sh := &bpsh.Shell{Stdin: client.NewFile(f), Stderr: &stderr}
	words := []string{"sh"}
	for _, tt := range []struct {
		o    options
		want bool
	}{
		{options{}, true},
		{options{words: words}, false},
		{options{noInput: true}, false},
		{options{words: words, terminal: wanted}, true},
		{options{words: words, terminal: wanted, noInput: true, quiet: true}, false},
		{options{words: words, terminal: forced, noInput: true}, true},
		{options{terminal: never}, false},
	} {
		if got := tt.o.onTerminal(sh); got != tt.want || stderr.String() != "" {
			t.Errorf("%+v: got %v and %q", tt.o, got, stderr.String())
		}
	}
}

// TestWhose looks for users of a directory service.
func TestWhose(t *testing.T) {
	fakegetent.Install(t, "[ $3 = alice ] && echo alice:x:$(id -u):7::/home/alice:/bin/zsh || exit 2")
	want := accounts.User{Name: "alice", UID: uint32(os.Getuid()), GID: 7, Home: "/home/alice", Shell: "/bin/zsh"}
	if got, err := whose("alice"); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := whose("no/user"); err == nil || err.Error() != "user no/user is not known here" {
		t.Errorf("got %v", err)
	}
}
