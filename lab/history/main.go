// Writes and reads through the API servers of a cluster while something is done to it, by client-go with its usual
// retries, and checks afterwards that the history is linearizable: every answer fits one order of what was done, in
// which nothing comes before what had ended before it began. The checker is porcupine, the one that etcd's own
// robustness tests use.
//
//	history --kubeconfig FILE [--server URL] [--clients 5] [--pause 150ms]
//
// Ends when its standard input does, and prints one line of JSON.
package main

import (
	"context"
	"encoding/json"
	stderrors "errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
)

const (
	namespace = "default"
	keys      = 3
	// A request that hangs is given up, as clients do; client-go has no bound of its own.
	requestTimeout = 10 * time.Second
	checkTimeout   = 2 * time.Minute
)

// What is asked of one ConfigMap: its value, or a new one in the place of the one that was seen.
type input struct {
	key   string
	write bool
	was   string
	value string
}

// What was answered. Of a write whose answer was lost nobody knows whether it was done.
type output struct {
	value   string
	written bool
	unknown bool
}

// One register a key, changed only by comparing: a write is done when the version that it names is the present one.
var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, operation := range history {
			key := operation.Input.(input).key
			byKey[key] = append(byKey[key], operation)
		}
		parts := [][]porcupine.Operation{}
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "0" },
	Step: func(state, in, out any) (bool, any) {
		value, asked, answer := state.(string), in.(input), out.(output)
		switch {
		case !asked.write:
			return answer.value == value, value
		case answer.unknown && asked.was == value:
			return true, asked.value
		case answer.unknown:
			return true, value
		case answer.written:
			return asked.was == value, asked.value
		default:
			return asked.was != value, value
		}
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

type history struct {
	sync.Mutex
	begun      time.Time
	operations []porcupine.Operation
	failed     []string
	attempts   atomic.Int64
	again      atomic.Int64
	slowest    time.Duration
	slowestAt  time.Time
}

// Whether client-go's callers ask again: what the server says is for later, and connections that broke. One that broke within an
// answer is an unexpected EOF, which IsProbableEOF knows only unwrapped; client-go says "Please retry" of it.
func passing(err error) bool {
	return errors.IsServerTimeout(err) || errors.IsTimeout(err) || errors.IsTooManyRequests(err) || errors.IsInternalError(err) ||
		errors.IsServiceUnavailable(err) || net.IsConnectionReset(err) || net.IsConnectionRefused(err) || net.IsHTTP2ConnectionLost(err) ||
		net.IsProbableEOF(err) || net.IsTimeout(err) || stderrors.Is(err, io.ErrUnexpectedEOF)
}

// Nine tries within some thirteen seconds; rest.Request has ten more tries than one, a second apart. Without a cap, since the
// step that reaches it is the last one.
var backoff = wait.Backoff{Steps: 9, Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.1}

// Answers how often it was asked.
func (h *history) request(do func(ctx context.Context) error) (int, error) {
	tries := 0
	begun := time.Now()
	err := retry.OnError(backoff, passing, func() error {
		tries++
		h.attempts.Add(1)
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		return do(ctx)
	})
	h.again.Add(int64(tries - 1))
	took := time.Since(begun)
	h.Lock()
	defer h.Unlock()
	if took > h.slowest {
		h.slowest, h.slowestAt = took, begun
	}
	return tries, err
}

func (h *history) add(client int, in input, begun time.Time, out output) {
	ended := time.Since(h.begun).Nanoseconds()
	if out.unknown {
		// It may still be done, at any time from now on.
		ended = int64(1) << 62
	}
	h.Lock()
	defer h.Unlock()
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: in, Call: begun.Sub(h.begun).Nanoseconds(), Output: out, Return: ended})
}

func (h *history) fail(what string, err error) {
	h.Lock()
	defer h.Unlock()
	if len(h.failed) < 20 {
		h.failed = append(h.failed, fmt.Sprintf("%s %s: %v", time.Now().UTC().Format("15:04:05"), what, err))
	} else {
		h.failed = append(h.failed, "…")
	}
}

// Reads a ConfigMap, then tries to put another value in the place of what it saw; again and again until told to end.
func (h *history) client(number int, api kubernetes.Interface, name string, pause time.Duration, done <-chan struct{}) {
	maps := api.CoreV1().ConfigMaps(namespace)
	for count := 0; ; count++ {
		select {
		case <-done:
			return
		case <-time.After(pause):
		}
		var found *core.ConfigMap
		begun := time.Now()
		_, err := h.request(func(ctx context.Context) (err error) {
			found, err = maps.Get(ctx, name, meta.GetOptions{})
			return err
		})
		if err != nil {
			h.fail("read", err)
			continue
		}
		was := found.Data["value"]
		h.add(number, input{key: name}, begun, output{value: was})
		wanted := found.DeepCopy()
		wanted.Data = map[string]string{"value": strconv.Itoa(number) + "-" + strconv.Itoa(count)}
		begun = time.Now()
		tries, err := h.request(func(ctx context.Context) error {
			_, err := maps.Update(ctx, wanted, meta.UpdateOptions{})
			return err
		})
		asked := input{key: name, write: true, was: was, value: wanted.Data["value"]}
		switch {
		case err == nil:
			h.add(number, asked, begun, output{written: true})
		case errors.IsConflict(err) && tries == 1:
			h.add(number, asked, begun, output{})
		case errors.IsConflict(err):
			// A first try whose answer was lost may have been done, and be the conflict of the second.
			h.add(number, asked, begun, output{unknown: true})
		default:
			h.add(number, asked, begun, output{unknown: true})
			h.fail("write", err)
		}
	}
}

func run() error {
	kubeconfig := flag.String("kubeconfig", "", "who asks, and where")
	server := flag.String("server", "", "the API server's URL, instead of the kubeconfig's")
	clients := flag.Int("clients", 5, "how many ask side by side")
	pause := flag.Duration("pause", 150*time.Millisecond, "how long each waits between a write and its next read")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags(*server, *kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	h := &history{begun: time.Now()}
	done := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(done) }()
	first, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for key := range keys {
		object := &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: fmt.Sprintf("history-%d", key)}, Data: map[string]string{"value": "0"}}
		if _, err := first.CoreV1().ConfigMaps(namespace).Create(context.Background(), object, meta.CreateOptions{}); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, "begun")
	var all sync.WaitGroup
	for number := range *clients {
		api, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		all.Go(func() { h.client(number, api, fmt.Sprintf("history-%d", number%keys), *pause, done) })
	}
	all.Wait()
	for key := range keys {
		_ = first.CoreV1().ConfigMaps(namespace).Delete(context.Background(), fmt.Sprintf("history-%d", key), meta.DeleteOptions{})
	}
	verdict := porcupine.CheckOperationsTimeout(model, h.operations, checkTimeout)
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"operations": len(h.operations), "failed": h.failed, "attempts": h.attempts.Load(), "again": h.again.Load(),
		"slowestMs": h.slowest.Milliseconds(), "slowestAt": h.slowestAt.UTC().Format("15:04:05"), "linearizable": string(verdict),
	})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
