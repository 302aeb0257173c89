package bprsh

import (
	"errors"
	"fmt"
	"strings"

	"bproc/cmd/internal/terminal"
)

// terminals says when the command gets a terminal.
type terminals int

const (
	automatic terminals = iota // if there is no command, and standard input is a terminal
	never                      // -T
	wanted                     // -t, if standard input is a terminal
	forced                     // -tt
)

// options are the options and operands of the command line.
type options struct {
	user          string
	host          string
	words         []string // of the command; none means a login shell
	command       string   // the command by RemoteCommand
	noInput       bool
	quiet         bool
	version       bool
	configuration bool // -G: print settings; git uses it to find out whether this is a kind of ssh
	help          bool
	terminal      terminals
	escape        int
	set           []string // NAME=VALUE for the environment
	send          []string // patterns of variables
}

// Letters of options of ssh(1) and rsh(1) that have no effect here, alone or with a value. Their
// features are always there, as encryption and identities are, or never, as forwarding.
const (
	alone     = "1246AaCgGKkMNsvXxYy"
	withValue = "BbcDFIiJLmOpQRSWwPE"
)

const usage = `Run a command on a node, with the conventions of rsh and ssh

Usage:
  bprsh [options] [user@]node [--] [word ...]

Flags:
  -n, --no-input        standard input is /dev/null
  -t, --terminal        the command gets a terminal on the node; twice: also if there is none here
  -T, --no-terminal     the command gets no terminal
  -l, --login user      run as this user; only root may be another one
  -e, --escape char     the escape character of terminals, or none (default ~)
  -o, --option setting  of ssh: RequestTTY, EscapeChar, SetEnv, SendEnv, User, StdinNull, RemoteCommand; others are passed over
  -q, --quiet           no warnings
  -V, --version         print the version
  -h, --help            print this help

-G prints the name of the node. -f, -N, -O, -s and -W are refused. All other options of ssh
are accepted and have no meaning here.
`

// long maps the long options to their letters.
var long = map[string]byte{
	"no-input": 'n', "terminal": 't', "no-terminal": 'T', "login": 'l', "escape": 'e',
	"option": 'o', "quiet": 'q', "version": 'V', "help": 'h',
}

// parse parses a command line as ssh does: options stand before the host or between the host and
// the first word of the command, and "--" ends them.
func parse(args []string) (*options, error) {
	o := &options{escape: '~'}
	rest, ended, err := o.options(args)
	if err != nil || o.version || o.help {
		return o, err
	}
	if len(rest) == 0 {
		return nil, errors.New("no node given; --help says how")
	}
	o.setHost(rest[0])
	rest = rest[1:]
	if !ended {
		if rest, _, err = o.options(rest); err != nil {
			return nil, err
		}
	}
	if o.host == "" {
		return nil, errors.New("no node given; --help says how")
	}
	o.words = rest
	switch {
	case o.command != "" && len(rest) > 0:
		return nil, errors.New("option -o RemoteCommand: there is another command on the command line")
	case o.command != "":
		o.words = []string{o.command}
	}
	return o, nil
}

// setHost parses [user@]host. A user given by an option takes precedence.
func (o *options) setHost(arg string) {
	o.host = arg
	if at := strings.LastIndexByte(arg, '@'); at >= 0 {
		o.host = arg[at+1:]
		if o.user == "" {
			o.user = arg[:at]
		}
	}
}

// options parses options up to the first other argument, and reports whether "--" ended them.
func (o *options) options(args []string) (rest []string, ended bool, err error) {
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "--":
			return args[1:], true, nil
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			return args, false, nil
		case strings.HasPrefix(arg, "--"):
			args, err = o.longOption(args)
		default:
			args, err = o.letters(arg[1:], args[1:])
		}
		if err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

func (o *options) longOption(args []string) ([]string, error) {
	name, value, given := strings.Cut(args[0][2:], "=")
	letter, known := long[name]
	switch {
	case !known:
		return nil, fmt.Errorf("there is no option --%s; --help lists those that there are", name)
	case given && !takesValue(letter):
		return nil, fmt.Errorf("option --%s takes no value", name)
	case given:
		return args[1:], o.value(letter, value)
	}
	return o.letters(string(letter), args[1:])
}

// letters parses short options. The value of the last one comes from args if none follows its
// letter.
func (o *options) letters(letters string, args []string) ([]string, error) {
	for i := range len(letters) {
		letter := letters[i]
		if !takesValue(letter) {
			if err := o.flag(letter); err != nil {
				return nil, err
			}
			continue
		}
		value := letters[i+1:]
		if value == "" {
			if len(args) == 0 {
				return nil, fmt.Errorf("option -%c needs a value", letter)
			}
			value, args = args[0], args[1:]
		}
		return args, o.value(letter, value)
	}
	return args, nil
}

func takesValue(letter byte) bool {
	return strings.IndexByte("leo"+withValue, letter) >= 0
}

func (o *options) flag(letter byte) error {
	switch letter {
	case 'n':
		o.noInput = true
	case 't':
		if o.terminal == wanted {
			o.terminal = forced
		} else if o.terminal != forced {
			o.terminal = wanted
		}
	case 'T':
		o.terminal = never
	case 'q':
		o.quiet = true
	case 'G':
		o.configuration = true
	case 'V':
		o.version = true
	case 'h':
		o.help = true
	case 'd': // rsh: debug its socket
	case 's':
		return errors.New("option -s: there are no subsystems, such as sftp; scp -O and bpcp(1) copy files")
	case 'N':
		return errors.New("option -N: nothing is forwarded, so there is nothing to do without a command")
	case 'f':
		return errors.New("option -f: to go into the background is the shell's work: bprsh -n ... &")
	default:
		if strings.IndexByte(alone, letter) < 0 {
			return fmt.Errorf("there is no option -%c; --help lists those that there are", letter)
		}
	}
	return nil
}

func (o *options) value(letter byte, value string) error {
	switch letter {
	case 'l':
		if o.user == "" { // the first counts
			o.user = value
		}
	case 'e':
		return o.setEscape(value)
	case 'o':
		return o.setting(value)
	case 'O':
		return fmt.Errorf("option -O %s: there is no shared connection to control", value)
	case 'W':
		return fmt.Errorf("option -W %s: nothing is forwarded", value)
	}
	return nil
}

func (o *options) setEscape(value string) error {
	switch {
	case value == "none":
		o.escape = terminal.NoEscape
	case len(value) == 1:
		o.escape = int(value[0])
	case len(value) == 2 && value[0] == '^':
		o.escape = int(value[1] & 0x1f)
	default:
		return fmt.Errorf("escape character %q: one character, ^ and a letter, or none", value)
	}
	return nil
}

// setting parses a setting of ssh_config(5), NAME=VALUE or NAME VALUE.
func (o *options) setting(text string) error {
	at := strings.IndexAny(text, "= \t")
	if at < 0 {
		return fmt.Errorf("option -o %s: a setting has a value: NAME=VALUE", text)
	}
	name, value := strings.ToLower(text[:at]), strings.TrimPrefix(strings.TrimLeft(text[at:], " \t"), "=")
	if name == "remotecommand" { // for the shell, with its quotes
		if value = strings.TrimSpace(value); !strings.EqualFold(value, "none") {
			o.command = value
		}
		return nil
	}
	words, err := splitWords(value)
	if err != nil {
		return fmt.Errorf("option -o %s: %w", text, err)
	}
	switch name {
	case "setenv":
		o.set = append(o.set, words...)
	case "sendenv":
		o.send = append(o.send, words...)
	case "user", "escapechar", "requesttty", "stdinnull":
		if len(words) != 1 {
			return fmt.Errorf("option -o %s: the setting has one value", text)
		}
		return o.oneValue(name, words[0])
	}
	return nil
}

// oneValue is a setting that has one value.
func (o *options) oneValue(name, value string) error {
	switch name {
	case "user":
		return o.value('l', value)
	case "escapechar":
		return o.setEscape(value)
	case "stdinnull":
		o.noInput = o.noInput || strings.EqualFold(value, "yes") || strings.EqualFold(value, "true")
		return nil
	}
	modes := map[string]terminals{
		"no": never, "false": never, "yes": wanted, "true": wanted, "force": forced, "auto": automatic,
	}
	mode, ok := modes[strings.ToLower(value)]
	if !ok {
		return fmt.Errorf("option -o RequestTTY=%s: yes, no, force or auto", value)
	}
	o.terminal = mode
	return nil
}
