package exporter

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections is a listener that limits the open connections. At the limit, a new connection closes the
// longest idle connection, or waits for an idle one. There is no limit per address, because all
// connections may come through one proxy.
type connections struct {
	listener net.Listener
	limit    int

	mu     sync.Mutex
	ended  sync.Cond
	closed bool
	idle   map[net.Conn]time.Time // since when each is idle; zero while it has a request
}

func limitConnections(listener net.Listener, limit int) *connections {
	c := &connections{listener: listener, limit: limit, idle: make(map[net.Conn]time.Time)}
	c.ended.L = &c.mu
	return c
}

func (c *connections) Accept() (net.Conn, error) {
	conn, err := c.listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.idle) >= c.limit && !c.closed && !c.closeOldest() {
		c.ended.Wait()
	}
	if c.closed {
		_ = conn.Close() // nothing was read of it
		return nil, net.ErrClosed
	}
	c.idle[conn] = time.Now() // idle until it begins a request
	return conn, nil
}

// closeOldest closes the connection that has been idle for longest, and returns false if none is idle.
// The caller holds mu.
func (c *connections) closeOldest() bool {
	var oldest net.Conn
	for conn, since := range c.idle {
		if !since.IsZero() && (oldest == nil || since.Before(c.idle[oldest])) {
			oldest = conn
		}
	}
	if oldest == nil {
		return false
	}
	delete(c.idle, oldest)
	_ = oldest.Close() // no answer is on its way
	return true
}

// note is the ConnState hook of the http.Server.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := c.idle[conn]; !open {
		return // closeOldest has closed it
	}
	switch state {
	case http.StateActive:
		c.idle[conn] = time.Time{}
	case http.StateIdle:
		c.idle[conn] = time.Now()
		c.ended.Signal()
	case http.StateClosed:
		delete(c.idle, conn)
		c.ended.Signal()
	}
}

func (c *connections) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.ended.Broadcast()
	return c.listener.Close()
}

func (c *connections) Addr() net.Addr { return c.listener.Addr() }
