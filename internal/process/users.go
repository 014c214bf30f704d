package process

import (
	"errors"
	"os/user"
	"strconv"
	"strings"
	"sync"

	"vramscope/internal/panics"
)

// users finds the names of user IDs: at once in the local password file, or else through a directory
// service (LDAP, SSSD). The service may take seconds or hang, so it is asked on another goroutine.
type users struct {
	passwd string // path of the password file
	lookup func(uid string) (*user.User, error)

	mu     sync.Mutex
	loaded bool
	names  map[uint32]string
	unsure map[uint32]bool          // the name is the number: the directory failed
	asked  map[uint32]chan struct{} // being asked; closed when the directory has answered
	panic  *panics.Caught           // a panic of the goroutine that asked
}

func newUsers(passwd string) *users {
	return &users{
		passwd: passwd,
		lookup: user.LookupId,
		names:  make(map[uint32]string),
		unsure: make(map[uint32]bool),
		asked:  make(map[uint32]chan struct{}),
	}
}

// name returns the user's name, the number if there is none, and "" until the directory has
// answered. It is unsure if the directory failed.
func (u *users) name(uid uint32) (name string, unsure bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.panic.Again()
	return u.names[uid], u.unsure[uid]
}

// ask looks the name of uid up unless it is known. The channel is closed when the
// directory has answered. A directory that failed is asked again.
func (u *users) ask(uid uint32) <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.loaded {
		u.loaded = true
		if content, err := ReadLimited(u.passwd, passwdSize); err == nil { // there may be none
			parsePasswd(string(content), u.names)
		}
	}
	if answered, ok := u.asked[uid]; ok {
		return answered
	}
	answered := make(chan struct{})
	if _, ok := u.names[uid]; ok && !u.unsure[uid] {
		close(answered)
		return answered
	}
	u.asked[uid] = answered
	go u.resolve(uid, answered)
	return answered
}

func (u *users) resolve(uid uint32, answered chan struct{}) {
	number := strconv.FormatUint(uint64(uid), 10)
	var err error
	found, caught := panics.Of(func() (found *user.User) {
		found, err = u.lookup(number)
		return found
	})
	u.mu.Lock()
	defer u.mu.Unlock()
	defer close(answered)
	delete(u.asked, uid)
	if caught != nil {
		u.panic = caught
		return
	}
	var none user.UnknownUserIdError
	if err == nil && found.Username != "" {
		u.names[uid], u.unsure[uid] = found.Username, false
		return
	}
	u.names[uid], u.unsure[uid] = number, err != nil && !errors.As(err, &none)
}

// passwdSize is how much is read of the password file: a hundred thousand users.
const passwdSize = 16 << 20

// parsePasswd adds the names of a password file to names; the first line of
// a user ID wins, as in the C library. Malformed lines are skipped.
func parsePasswd(content string, names map[uint32]string) {
	for line := range strings.Lines(content) {
		fields := strings.SplitN(line, ":", 4)
		if len(fields) < 4 || fields[0] == "" {
			continue
		}
		uid, err := strconv.ParseUint(fields[2], 10, 32)
		if err != nil {
			continue
		}
		if _, ok := names[uint32(uid)]; !ok {
			names[uint32(uid)] = fields[0]
		}
	}
}
