package completion

import (
	"fmt"
	"slices"
	"strings"
)

// Zsh returns the completion for zsh(1), zshcompsys(1).
func Zsh(p Program) string {
	var b strings.Builder
	name := p.base()
	fmt.Fprintf(&b, "#compdef %s\n# Completion of %s for zsh.\n", name, name)
	zshFunctions(&b, p)
	if len(p.Subs) > 0 {
		fmt.Fprintf(&b, "case ${words[2]} in\n")
		for _, s := range p.Subs {
			operands := ""
			switch s.Operands {
			case Files:
				operands = " \\\n    '*:file:_files'"
			case Nodes:
				operands = " \\\n    '1:nodes:_bproc_nodes'"
			case Jobs:
				operands = " \\\n    '1:job:_bproc_jobs'"
			default: // no other subcommand has operands
			}
			fmt.Fprintf(&b, "%s)\n    shift words\n    ((CURRENT--))\n    _arguments -S%s%s\n    return ;;\n", s.sub(), zshOptions(s), operands)
		}
		b.WriteString("esac\n")
	}
	fmt.Fprintf(&b, "_arguments -s -S%s", zshOptions(p))
	switch p.Operands {
	case NodesThenCommand:
		b.WriteString(" \\\n    '(-a --all-up -A --all-not-down -1 --front-end)1:nodes:_bproc_nodes' '*:: :_normal'")
	case Nodes:
		b.WriteString(" \\\n    '*:nodes:_bproc_nodes'")
	case Command:
		b.WriteString(" \\\n    '*:: :_normal'")
	case Directory:
		b.WriteString(" \\\n    '1:directory:_files -/'")
	case NodeFiles:
		b.WriteString(" \\\n    '*:file:_bproc_files'")
	case Host:
		b.WriteString(" \\\n    '1:front end:_hosts'")
	case None:
		if len(p.Subs) > 0 {
			fmt.Fprintf(&b, " \\\n    '1:command:(%s)'", strings.Join(words(p), " "))
		}
	case Files, Jobs: // only subcommands have these kinds
	}
	b.WriteString("\n")
	return b.String()
}

// zshFunctions defines what completes nodes, files of nodes and jobs.
func zshFunctions(b *strings.Builder, p Program) {
	b.WriteString("_bproc_nodes() {\n    local -a list\n    list=(${(f)\"$(" + nodes + ")\"} all up down)\n    _describe node list\n}\n")
	if p.Operands == NodeFiles {
		b.WriteString("_bproc_files() {\n    if compset -P '*:'; then\n        _files\n        return\n    fi\n" +
			"    local -a list\n    list=(${(f)\"$(" + nodes + ")\"} all up)\n" +
			"    _files\n    compadd -S : -a list\n}\n")
	}
	if slices.ContainsFunc(p.Subs, func(s Program) bool { return s.Operands == Jobs }) {
		b.WriteString("_bproc_jobs() {\n    local -a list\n    list=(${(f)\"$(" + jobs + ")\"})\n    _describe job list\n}\n")
	}
}

func zshOptions(p Program) string {
	var b strings.Builder
	text := strings.NewReplacer("'", "'\\''", "[", "\\[", "]", "\\]", ":", "\\:")
	for _, o := range p.Options {
		names := o.names()
		spec := "[" + text.Replace(o.Text) + "]"
		if o.Value != "" {
			spec += ":" + o.Value + ":" + zshValue(o.Value)
		}
		if len(names) == 1 {
			fmt.Fprintf(&b, " \\\n    '%s%s'", names[0], spec)
			continue
		}
		fmt.Fprintf(&b, " \\\n    '(%s)'{%s}'%s'", strings.Join(names, " "), strings.Join(names, ","), spec)
	}
	return b.String()
}

func zshValue(kind string) string {
	switch kind {
	case "file":
		return "_files"
	case "directory":
		return "_files -/"
	case "user":
		return "_users"
	case "group":
		return "_groups"
	case "state":
		return "(" + states + ")"
	case "level":
		return "(" + levels + ")"
	case "trust":
		return "(" + trusts + ")"
	case "when":
		return "(" + whens + ")"
	case "nodes":
		return "_bproc_nodes"
	}
	return " "
}
