package bprsh

import (
	"errors"
	"strings"
)

// splitWords splits the value of a setting as ssh_config(5) does: a word may be, or contain, text
// in double or single quotes; a backslash takes the meaning from a quote, a backslash or, outside
// quotes, a space; # begins a comment.
func splitWords(text string) (words []string, err error) {
	for {
		text = strings.TrimLeft(text, space)
		if text == "" || text[0] == '#' {
			return words, nil
		}
		var word string
		if word, text, err = firstWord(text); err != nil {
			return nil, err
		}
		words = append(words, word)
	}
}

const space = " \t"

// firstWord returns the word with which a text begins, and what comes after it.
func firstWord(text string) (_, rest string, err error) {
	var word strings.Builder
	var quote byte // the open one
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && escaped(text[i+1:], quote):
			i++
			word.WriteByte(text[i])
		case quote == 0 && strings.IndexByte(space, c) >= 0:
			return word.String(), text[i:], nil
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			word.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", "", errors.New("a quote is not closed")
	}
	return word.String(), "", nil
}

// escaped reports whether a backslash before this text takes the meaning from its first byte.
func escaped(text string, quote byte) bool {
	return text != "" && (strings.IndexByte(`'"\`, text[0]) >= 0 || quote == 0 && text[0] == ' ')
}
