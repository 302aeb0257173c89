package file

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxSize bounds a file, in bytes. It is far above the size of any handwritten file.
const MaxSize = 256 << 10

// parse returns the top value of a file. A file that is not YAML has one problem, since the rest
// cannot be understood.
func parse(text []byte) (*yaml.Node, *Problem) {
	if len(text) > MaxSize {
		return nil, &Problem{Line: 1, Column: 1, Text: "the file has more than " + strconv.Itoa(MaxSize) + " bytes; make it smaller"}
	}
	if at := notText(text); at >= 0 {
		line, column := position(text, at)
		return nil, &Problem{Line: line, Column: column, Text: "the file is not text in UTF-8; remove the character here"}
	}
	var root, next yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, &Problem{Line: 1, Column: 1, Text: nothing}
	case err != nil:
		return nil, notYAML(err)
	}
	switch err := decoder.Decode(&next); {
	case err == nil:
		return nil, &Problem{Line: next.Line, Column: next.Column, Text: "a second document begins here; a job file is one document"}
	case !errors.Is(err, io.EOF):
		return nil, notYAML(err)
	}
	if value := root.Content[0]; !empty(value) {
		return value, nil
	}
	return nil, &Problem{Line: root.Line, Column: root.Column, Text: nothing}
}

const nothing = "the file is empty; it needs the key processes"

// notText returns the offset of the first byte that is not text in UTF-8, or -1.
func notText(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f {
			return i
		}
		i += size
	}
	return -1
}

// position returns the line and column of a byte.
func position(text []byte, at int) (line, column int) {
	before := text[:at]
	return 1 + bytes.Count(before, []byte("\n")), 1 + at - (bytes.LastIndexByte(before, '\n') + 1)
}

// errorLine matches an error of the library: "yaml: line 3: did not find expected key".
var errorLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)

// hints explain some errors of the library.
var hints = map[string]string{
	"found a tab character that violates indentation": "; indent with blanks",
	"found character that cannot start any token":     "; indent with blanks, and quote texts that begin with @, ` or %",
	"mapping values are not allowed in this context":  "; is the line indented as those beside it? Quote texts that have a colon and a blank",
	"did not find expected key":                       "; is the line indented as those beside it?",
}

// notYAML returns an error of the library as a problem. The library names the line in which the
// part begins that it cannot read.
func notYAML(err error) *Problem {
	m := errorLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	p := &Problem{Line: 1, Column: 1, Text: "this is not YAML, here or in the next lines: " + clip(m[2]) + hints[m[2]]}
	if line, err := strconv.Atoi(m[1]); err == nil {
		p.Line = line
	}
	return p
}
