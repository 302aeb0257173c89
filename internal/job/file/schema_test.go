package file_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"bproc/internal/job/file"
)

// schemaFile is the schema that is shipped for editors.
const schemaFile = "job.schema.json"

// TestSchemaFile checks that the shipped schema is that of the table of keys.
func TestSchemaFile(t *testing.T) {
	if *update {
		if err := os.WriteFile(schemaFile, file.Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shipped, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(shipped, file.Schema()) {
		t.Errorf("%s is old; make it again with -update", schemaFile)
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(file.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("job.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("job.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON returns a job file as a JSON validator sees it, where words of YAML 1.1 are texts.
func asJSON(t *testing.T, text []byte) (any, bool) {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, false
	}
	j, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(j))
	if err != nil {
		t.Fatal(err)
	}
	return doc, true
}

// beyond are the files in which only the reader finds problems, with the reason.
var beyond = map[string]string{
	"two documents":      "a validator reads the first one",
	"nodes":              "the language of nodes has no pattern",
	"nodes not quoted":   "the tag is gone",
	"merged with itself": "a validator sees what is merged",
	"rest is no YAML":    "a validator reads the first one",
	"variables":          "names of variables have no pattern",
}

// TestSchemaAndReader checks that the schema accepts what the reader accepts, and that the reader
// rejects what the schema rejects.
func TestSchemaAndReader(t *testing.T) {
	s := compiled(t)
	for name, text := range files(t, "testdata/good.txtar") {
		text := strings.NewReplacer("persistent_disk: yes", "persistent_disk: true", "mount_only: on", "mount_only: true").Replace(string(text))
		doc, ok := asJSON(t, []byte(text))
		if !ok {
			t.Errorf("%s cannot be told in JSON", name)
		} else if err := s.Validate(doc); err != nil {
			t.Errorf("%s: the schema refuses what is right: %v", name, err)
		}
	}
	refused := 0
	for name, text := range files(t, "testdata/bad.txtar") {
		doc, ok := asJSON(t, text)
		if !ok {
			continue // not valid YAML, so there is nothing to validate
		}
		_, only := beyond[name]
		if err := s.Validate(doc); (err == nil) != only {
			t.Errorf("%s: the schema says %v", name, err)
		} else if err != nil {
			refused++
		}
	}
	if refused < 10 {
		t.Errorf("the schema refuses only %d files", refused)
	}
}
