package file

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/capability"

	"bproc/internal/job/spec"
)

// volumePattern matches paths of volumes, for editors. It knows the default root only.
const volumePattern = "^(" + spec.DefaultRoot + "/data|" + spec.DefaultRoot + "/store)/."

const namePattern = `^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`

var nameForm = regexp.MustCompile(namePattern)

// IsName reports whether s can be the name of a job or a process.
func IsName(s string) bool { return nameForm.MatchString(s) }

// checkName checks the name of a process, after which log and PID files are named.
func checkName(_ *reader, s string) error {
	if !nameForm.MatchString(s) {
		return fmt.Errorf("%s is no name of a process: write 1 to 100 letters, digits, _, . and -, and none of the last two first", quote(s))
	}
	return nil
}

func notEmpty(_ *reader, s string) error {
	if s == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// checkAbsolute checks a path, which must be absolute, since relative paths would have no base. ""
// means none.
func checkAbsolute(_ *reader, s string) error {
	if s != "" && !path.IsAbs(s) {
		return fmt.Errorf("%s must be an absolute path", quote(s))
	}
	return nil
}

// checkVolume checks that a volume is below data or store, and is not the job's own directory.
func checkVolume(r *reader, s string) error {
	root := cmp.Or(r.options.Root, spec.DefaultRoot)
	dataRoot, storeRoot := path.Join(root, "data"), path.Join(root, "store")
	switch clean := path.Clean(s); {
	case s == "":
		return errors.New("must not be empty")
	case clean != s:
		return fmt.Errorf("%s must be written as %s", quote(s), quote(clean))
	case !strings.HasPrefix(s, dataRoot+"/") && !strings.HasPrefix(s, storeRoot+"/"):
		return fmt.Errorf("%s must be in %s or %s; for others see unsafe.unrestricted_volumes", quote(s), dataRoot, storeRoot)
	case s == path.Join(root, spec.OwnData) || strings.HasPrefix(s, path.Join(root, spec.OwnData)+"/"):
		return fmt.Errorf("%s is bproc's own", quote(s))
	case r.options.Job != "" && (s == dataRoot+"/"+r.options.Job || s == storeRoot+"/"+r.options.Job):
		return fmt.Errorf("%s is the job's own directory; see ephemeral_disk and persistent_disk", quote(s))
	}
	return nil
}

// checkPattern checks the pattern of unrestricted volumes.
func checkPattern(_ *reader, s string) error {
	if _, err := path.Match(s, ""); err != nil {
		return fmt.Errorf("%s is no pattern; a [ in a name is written \\[", quote(s))
	}
	if !path.IsAbs(s) {
		return fmt.Errorf("%s must be an absolute path", quote(s))
	}
	return nil
}

// capabilities lists the names of capabilities(7), without CAP_.
var capabilities = func() (names []string) {
	for _, c := range capability.ListKnown() {
		names = append(names, strings.ToUpper(c.String()))
	}
	slices.Sort(names)
	return names
}()

func checkCapability(_ *reader, s string) error {
	if slices.Contains(capabilities, s) {
		return nil
	}
	if bare := strings.TrimPrefix(strings.ToUpper(s), "CAP_"); slices.Contains(capabilities, bare) {
		return fmt.Errorf("%s is written %s here", quote(s), bare)
	}
	if near := nearest(s, capabilities); near != "" {
		return fmt.Errorf("there is no capability %s; do you mean %s?", quote(s), near)
	}
	return fmt.Errorf("there is no capability %s; see capabilities(7)", quote(s))
}

const sizePattern = `^([0-9]*\.)?[0-9]+ *([bB]|[kKmMgGtTpPeE]([iI]?[bB])?)$`

var sizeParts = regexp.MustCompile(`^((?:[0-9]*\.)?[0-9]+) *([A-Za-z])[A-Za-z]*$`)

// sizeBytes returns a size in bytes. All units are powers of 1024, whatever their names.
func sizeBytes(s string) (uint64, bool) {
	m := sizeParts.FindStringSubmatch(s)
	if m == nil || !sizeForms.MatchString(s) {
		return 0, false
	}
	number, err := strconv.ParseFloat(m[1], 64)
	number *= math.Pow(1024, float64(strings.Index("BKMGTPE", strings.ToUpper(m[2]))))
	return uint64(number), err == nil && number >= 1 && number <= math.MaxInt64
}

var sizeForms = regexp.MustCompile(sizePattern)
