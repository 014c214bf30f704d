package exporter

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/time/rate"
)

// guarded serves the clients that the web configuration admits. It reads the file again for each request, but takes
// the rate limit, and whether there is TLS, from first. It serves nothing if the file no longer protects the exporter.
//
//	request ─→ rate limit ─→ headers ─→ password: known, or its turn at bcrypt ─→ scrape
func (s *Server) guarded(first *webConfig, next http.Handler) http.Handler {
	logins, limit := newLogins(), rate.NewLimiter(rate.Inf, 0)
	if first.RateLimit.Interval != 0 {
		limit = rate.NewLimiter(rate.Every(first.RateLimit.Interval), first.RateLimit.Burst)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := readWebConfig(s.serving.WebConfig)
		switch {
		case err != nil:
			http.Error(w, "the web configuration cannot be read", http.StatusInternalServerError)
			return
		case s.serving.checkReaders(c) != nil, len(first.Users) > 0 && !c.protects(): // perhaps the file is just being written
			http.Error(w, "the web configuration does not ask who reads any more", http.StatusServiceUnavailable)
			return
		case c.TLS.on() != first.TLS.on(): // perhaps the file was incomplete when the server began
			http.Error(w, "the web configuration has turned TLS on or off: restart the daemon", http.StatusServiceUnavailable)
			return
		case !limit.Allow():
			tooMany(w, "too many requests")
			return
		}
		for name, value := range c.HTTP.Headers {
			w.Header().Set(name, value)
		}
		if len(c.Users) > 0 {
			switch err := logins.check(r, c.Users); {
			case errors.Is(err, errTooMany):
				tooMany(w, "too many logins")
				return
			case err != nil:
				w.Header().Set("WWW-Authenticate", "Basic")
				http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func tooMany(w http.ResponseWriter, what string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, what, http.StatusTooManyRequests)
}

// logins checks passwords. It knows a password that was right before by its HMAC. It compares others by bcrypt, one at
// a time: a comparison takes a tenth of a second of CPU or more, and must not delay readers with known passwords.
type logins struct {
	secret  [32]byte
	waiting chan struct{}
	turn    chan struct{}

	mu    sync.Mutex
	right map[[sha256.Size]byte]bool
}

// Limits on logins whose passwords are not known to be right, and on the passwords that are known.
const (
	mostLogins = 64
	loginTime  = 5 * time.Second
	mostRight  = 64
)

var (
	errWrong   = errors.New("there is no such user, or the password is another one")
	errTooMany = errors.New("too many logins")
)

func newLogins() *logins {
	l := &logins{waiting: make(chan struct{}, mostLogins), turn: make(chan struct{}, 1), right: make(map[[sha256.Size]byte]bool)}
	_, _ = rand.Read(l.secret[:]) // it never fails
	return l
}

// unknownUser returns a hash of the highest cost of all users, which makes refusing an unknown name take as long as
// refusing a known one.
func unknownUser(users map[string]string) string {
	highest := bcrypt.MinCost
	for _, hash := range users {
		cost, _ := bcrypt.Cost([]byte(hash)) // readWebConfig has checked it
		highest = max(highest, cost)
	}
	return fmt.Sprintf("$2y$%02d$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi", highest)
}

// check returns errWrong or errTooMany if it refuses a request's name and password.
func (l *logins) check(r *http.Request, users map[string]string) error {
	name, password, given := r.BasicAuth()
	if !given {
		return errWrong
	}
	hash, known := users[name]
	if !known {
		hash = unknownUser(users)
	}
	var sum [sha256.Size]byte
	mac := hmac.New(sha256.New, l.secret[:])
	_, _ = fmt.Fprintf(mac, "%q %q", hash, password) // it never fails
	mac.Sum(sum[:0])
	if l.known(sum) {
		return nil
	}
	if !enter(l.waiting) {
		return errTooMany
	}
	defer func() { <-l.waiting }()
	ctx, cancel := context.WithTimeout(r.Context(), loginTime)
	defer cancel()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return errTooMany
	}
	// Another request may have made the password known in the meantime.
	if !l.known(sum) && (bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) != nil || !known) {
		return errWrong
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.right) >= mostRight {
		clear(l.right) // passwords were changed often
	}
	l.right[sum] = true
	return nil
}

func (l *logins) known(sum [sha256.Size]byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.right[sum]
}
