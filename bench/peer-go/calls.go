package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	calls  = 8000
	atOnce = 16
)

// callServer reads one ConfigMap over and over and says how long it took, after a warm-up of a tenth.
func callServer(ctx context.Context, config *rest.Config) error {
	reader, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	if err := readMany(ctx, reader, calls/10); err != nil {
		return err
	}
	began := time.Now()
	if err := readMany(ctx, reader, calls); err != nil {
		return err
	}
	fmt.Printf("seconds %.4f\n", time.Since(began).Seconds())
	return nil
}

func readMany(ctx context.Context, reader client.Reader, count int64) error {
	var left atomic.Int64
	left.Store(count)
	var group sync.WaitGroup
	failures := make(chan error, atOnce)
	for range atOnce {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				var config corev1.ConfigMap
				if err := reader.Get(ctx, client.ObjectKey{Namespace: "default", Name: "called"}, &config); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failures)
	return <-failures
}
