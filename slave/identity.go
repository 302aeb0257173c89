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

	"bproc/wire"
	"bproc/wire/link"
)

// identify returns the identity of this slave. It joins first if it has a token and needs an
// identity.
func identify(ctx context.Context, cfg Config, hello wire.Hello, log *slog.Logger) (*link.Identity, error) {
	if err := os.MkdirAll(cfg.State, 0o700); err != nil {
		return nil, fmt.Errorf("directory of the slave: %w", err)
	}
	dir := filepath.Join(cfg.State, "identity")
	identity, err := link.OpenIdentity(dir)
	_, noToken := cfg.token()
	use := link.ErrNotJoined // why a token is needed; nil: it is not
	switch {
	case err == nil && noToken == nil:
		use = cfg.check(ctx, identity, hello, log)
	case err == nil:
		use = nil
	case !errors.Is(err, link.ErrNotJoined):
		return nil, err
	}
	switch {
	case errors.Is(use, link.ErrNotJoined):
		if identity, err = join(ctx, cfg, dir, hello.Host, log); err != nil {
			return nil, err
		}
		use = nil
	case errors.Is(use, link.ErrOtherMaster): // the front end may be a new one; then the token is of its master
		joined, err := join(ctx, cfg, dir, hello.Host, log)
		if err != nil {
			log.Warn("the token is not good for the master that answers; this node goes on looking for its own", "err", err)
			break
		}
		log.Warn("this node has joined the cluster of another master than before")
		identity, use = joined, nil
	}
	if use == nil {
		cfg.dropToken(log)
	}
	return identity, checkHome(identity)
}

// check asks the master whether it accepts an identity. It returns nil, ErrNotJoined if the
// identity is no longer valid, ErrOtherMaster, or the reason why there is no answer.
func (c *Config) check(ctx context.Context, identity *link.Identity, hello wire.Hello, log *slog.Logger) error {
	err := link.Check(ctx, link.DialConfig{Addr: c.Master, Identity: identity, Hello: hello, Log: log})
	refused := (*link.RefusedError)(nil)
	switch {
	case errors.As(err, &refused) && refused.Rejoin:
		log.Warn("the identity of this node is not good any more; it joins again", "err", err)
		return link.ErrNotJoined
	case errors.As(err, &refused):
		return nil
	}
	return err
}

// join makes the identity. A token is valid for one attempt that reaches the master, so everything
// else is tried first.
func join(ctx context.Context, cfg Config, dir, host string, log *slog.Logger) (*link.Identity, error) {
	token, err := cfg.token()
	if err != nil {
		return nil, err
	}
	cfg.warnOfReaders(log)
	if err := rehearse(ctx, cfg, log); err != nil {
		return nil, err
	}
	identity, err := link.Join(ctx, cfg.Master, token, dir, host)
	if errors.As(err, new(*link.TokenError)) {
		err = fmt.Errorf("%w; make another token with 'bpctl enroll' on the front end and %s, then start bpslave again", err, cfg.tokenPlace())
	}
	return identity, err
}

// tokenPlace tells the user where to put a token.
func (c *Config) tokenPlace() string {
	if c.Tokens == "" {
		return "give it with --join"
	}
	return "put it into " + c.Tokens
}

// token returns the token to join with.
func (c *Config) token() (string, error) {
	if c.Token != "" {
		return c.Token, nil
	}
	const advice = "this node has not joined the cluster yet; make a token with 'bpctl enroll' on the front end and "
	if c.Tokens == "" {
		return "", errors.New(advice + c.tokenPlace())
	}
	text, err := os.ReadFile(c.Tokens)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("join token: %w", err)
	}
	if token := strings.TrimSpace(string(text)); token != "" {
		return token, nil
	}
	return "", errors.New(advice + c.tokenPlace())
}

// warnOfReaders warns of a token that others than root can read: with it they can become nodes.
func (c *Config) warnOfReaders(log *slog.Logger) {
	if st, err := os.Stat(c.Tokens); c.Token == "" && err == nil && st.Mode().Perm()&0o077 != 0 {
		log.Warn("others than root can read the join token, and become a node with it; give the file mode 600", "file", c.Tokens, "mode", st.Mode().Perm())
	}
}

// dropToken removes the file with the token, which is no longer needed.
func (c *Config) dropToken(log *slog.Logger) {
	if c.Tokens == "" {
		return
	}
	if err := os.Remove(c.Tokens); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the token that was used for joining stays", "err", err)
	}
}
