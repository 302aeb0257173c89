package bprsh

import (
	"errors"
	"strings"
)

// splitWords splits the value of a setting as ssh_config(5) does: a word may be, or contain, text
// in double or single quotes; a backslash takes the meaning from a quote, a backslash or, outside
// quotes, a space; # begins a comment.
func splitWords(text string) (words []string, err error) {
	var word strings.Builder
	var quote byte // the open one
	inWord := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case c == '#' && !inWord:
			return words, nil
		case c == '\\' && escaped(text[i+1:], quote):
			i++
			word.WriteByte(text[i])
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// escaped reports whether a backslash before this text takes the meaning from its first byte.
func escaped(text string, quote byte) bool {
	return text != "" && (strings.IndexByte(`'"\`, text[0]) >= 0 || quote == 0 && text[0] == ' ')
}
