package bpjob

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bproc/internal/client"
)

// bootsFile has the boot ids of nodes for the next service of the same boot of the front end. A node that comes
// back with the same boot id was only cut off, or waited for a master.
const bootsFile = "/run/bproc/jobs.boots"

// readBoots returns the boot ids that the last service has written, or nil if there was none.
func readBoots(path string) (map[client.NodeID]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var boots map[client.NodeID]string
	if err == nil {
		err = json.Unmarshal(text, &boots)
	}
	if err != nil {
		return nil, fmt.Errorf("which nodes have been booted (%s): %w", path, err)
	}
	return boots, nil
}

func writeBoots(path string, boots map[client.NodeID]string) error {
	text, err := json.Marshal(boots)
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	if err = errors.Join(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		_ = os.Remove(next.Name())
		return fmt.Errorf("keep which nodes have been booted: %w", err)
	}
	return nil
}
