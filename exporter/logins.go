package exporter

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

// logins stands before exporter-toolkit, which compares one password at a time by bcrypt,
// a tenth of a second of CPU, and forgets at random what it has compared. Credentials that
// were right pass; others go one at a time, so that wrong ones keep no reader waiting.
//
//	request ─→ check ─ known, or its turn ─→ exporter-toolkit ─ right ─→ passed ─→ scrape
type logins struct {
	secret  [32]byte // credentials are kept as their HMAC
	waiting chan struct{}
	turn    chan struct{}

	mu    sync.Mutex
	right map[[sha256.Size]byte]bool
}

// The limits on logins with credentials that were not right before.
const (
	mostLogins = 64
	loginTime  = 5 * time.Second
	mostRight  = 64
)

func newLogins() *logins {
	l := &logins{waiting: make(chan struct{}, mostLogins), turn: make(chan struct{}, 1), right: make(map[[sha256.Size]byte]bool)}
	_, _ = rand.Read(l.secret[:]) // it never fails
	return l
}

func (l *logins) sum(r *http.Request) (sum [sha256.Size]byte) {
	of := hmac.New(sha256.New, l.secret[:])
	_, _ = of.Write([]byte(r.Header.Get("Authorization"))) // it never fails
	of.Sum(sum[:0])
	return sum
}

// check is before exporter-toolkit's handler.
func (l *logins) check(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" || l.known(l.sum(r)) {
			next.ServeHTTP(w, r)
			return
		}
		select {
		case l.waiting <- struct{}{}:
			defer func() { <-l.waiting }()
		default:
			tooMany(w)
			return
		}
		timeout := time.NewTimer(loginTime)
		defer timeout.Stop()
		select {
		case l.turn <- struct{}{}:
			defer func() { <-l.turn }()
			next.ServeHTTP(w, r)
		case <-timeout.C:
			tooMany(w)
		case <-r.Context().Done():
		}
	})
}

func tooMany(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "too many logins", http.StatusTooManyRequests)
}

// passed is behind exporter-toolkit's handler: what comes there has the right password.
func (l *logins) passed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			l.mu.Lock()
			if len(l.right) >= mostRight {
				clear(l.right) // passwords were changed often
			}
			l.right[l.sum(r)] = true
			l.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

func (l *logins) known(sum [sha256.Size]byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.right[sum]
}
