package slave

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"bproc/wire/link"
)

// identify returns the identity of this slave, after joining if it has a token.
func identify(ctx context.Context, cfg Config, host string, log *slog.Logger) (*link.Identity, error) {
	if err := os.MkdirAll(cfg.State, 0o700); err != nil {
		return nil, fmt.Errorf("directory of the slave: %w", err)
	}
	dir := filepath.Join(cfg.State, "identity")
	identity, err := link.OpenIdentity(dir)
	if errors.Is(err, link.ErrNotJoined) {
		identity, err = join(ctx, cfg, dir, host, log)
	}
	if err != nil {
		return nil, err
	}
	cfg.dropToken(log)
	return identity, checkHome(identity)
}

// join makes the identity. A token is good for one attempt that reaches the master, so
// everything else is tried before.
func join(ctx context.Context, cfg Config, dir, host string, log *slog.Logger) (*link.Identity, error) {
	token, err := cfg.token()
	if err != nil {
		return nil, err
	}
	if err := rehearse(ctx, cfg, log); err != nil {
		return nil, err
	}
	return link.Join(ctx, cfg.Master, token, dir, host)
}

// token returns the token to join with.
func (c *Config) token() (string, error) {
	if c.Token != "" {
		return c.Token, nil
	}
	const advice = "this node has not joined the cluster yet; make a token with 'bpctl enroll' on the front end and "
	if c.Tokens == "" {
		return "", errors.New(advice + "give it with --join")
	}
	text, err := os.ReadFile(c.Tokens)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("join token: %w", err)
	}
	if token := strings.TrimSpace(string(text)); token != "" {
		return token, nil
	}
	return "", fmt.Errorf(advice+"put it into %s", c.Tokens)
}

// dropToken removes the file with the token, which is of no more use.
func (c *Config) dropToken(log *slog.Logger) {
	if c.Tokens == "" {
		return
	}
	if err := os.Remove(c.Tokens); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the token that was used for joining stays", "err", err)
	}
}
