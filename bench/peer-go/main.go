// The bench's peer: what src/runtime does in its benches, on controller-runtime.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: peer reconcile | list | calls (KUBECONFIG names the cluster)"))
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fail(err)
	}
	config.QPS = -1
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	modes := map[string]func(context.Context, *rest.Config) error{"reconcile": reconcileSamples, "list": listPods, "calls": callServer}
	mode, known := modes[os.Args[1]]
	if !known {
		fail(fmt.Errorf("no mode %q", os.Args[1]))
	}
	if err := mode(ctx, config); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// answerCollections gives memory back at each line of standard input, so that what is kept can be measured.
func answerCollections() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		runtime.GC()
		debug.FreeOSMemory()
		fmt.Println("collected")
	}
	os.Exit(0)
}
