// Package kubelet asks a node's kubelet which devices it has given to which pods.
//
//	/var/lib/kubelet/pod-resources/kubelet.sock ── PodResourcesLister/List ──→ []Pod
//
// The socket is root's, and the call needs no account in the cluster. net/http makes the one gRPC
// call, because gRPC's own library would double the size of the program.
package kubelet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"vramscope/internal/bounded"
)

// Socket is where a kubelet listens.
const Socket = "/var/lib/kubelet/pod-resources/kubelet.sock"

const (
	timeout = 2 * time.Second
	maxSize = 16 << 20 // of a node's list, as in NVIDIA's exporter
)

// Pod is a pod with the IDs of the devices that its containers have. The IDs of NVIDIA's device
// plugin are UUIDs, followed by "::" and a number where a GPU is shared.
type Pod struct {
	Namespace, Name string
	Devices         []string
}

// Pods returns the pods to which the kubelet has given devices. Source:
// https://github.com/kubernetes/kubelet/blob/master/pkg/apis/podresources/v1/api.proto
func Pods(ctx context.Context, socket string) ([]Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var http2 http.Protocols
	http2.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &http2, DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	const empty = "\x00\x00\x00\x00\x00" // not compressed, of length 0
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1.PodResourcesLister/List", strings.NewReader(empty))
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := bounded.First(response.Body, maxSize)
	if err != nil {
		return nil, err
	}
	if status := response.Trailer.Get("Grpc-Status"); status != "0" {
		return nil, fmt.Errorf("the kubelet answers with status %q", status)
	}
	if len(answer) < len(empty) || answer[0] != 0 || int(binary.BigEndian.Uint32(answer[1:])) != len(answer)-len(empty) {
		return nil, errMalformed
	}
	return podsOf(answer[len(empty):])
}

var errMalformed = errors.New("malformed answer of the kubelet")

func podsOf(list []byte) (pods []Pod, err error) {
	err = fields(list, func(number uint64, pod []byte) error {
		if number != 1 {
			return nil
		}
		var p Pod
		err := fields(pod, func(number uint64, value []byte) error {
			switch number {
			case 1:
				p.Name = string(value)
			case 2:
				p.Namespace = string(value)
			case 3:
				return p.addContainer(value)
			}
			return nil
		})
		if len(p.Devices) > 0 {
			pods = append(pods, p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return pods, nil
}

func (p *Pod) addContainer(container []byte) error {
	return fields(container, func(number uint64, devices []byte) error {
		if number != 2 {
			return nil
		}
		return fields(devices, func(number uint64, id []byte) error {
			if number == 2 {
				p.Devices = append(p.Devices, string(id))
			}
			return nil
		})
	})
}

// fields passes each message and string in a message to the function, with its number. Source:
// https://protobuf.dev/programming-guides/encoding/
func fields(message []byte, each func(uint64, []byte) error) error {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		length, used := uint64(0), 0
		switch message = message[max(n, 0):]; tag & 7 {
		case 0:
			_, used = binary.Uvarint(message)
		case 1:
			used = 8
		case 2:
			length, used = binary.Uvarint(message)
		case 5:
			used = 4
		}
		if n <= 0 || used <= 0 || used > len(message) || length > uint64(len(message)-used) {
			return errMalformed
		}
		value := message[used:][:length]
		message = message[used:][length:]
		if tag&7 != 2 {
			continue
		}
		if err := each(tag>>3, value); err != nil {
			return err
		}
	}
	return nil
}
