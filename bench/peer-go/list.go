package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// listPods fills a cache of all Pods and says how long it took.
func listPods(ctx context.Context, config *rest.Config) error {
	began := time.Now()
	pods, err := cache.New(config, cache.Options{DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return err
	}
	if _, err := pods.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false)); err != nil {
		return err
	}
	go func() {
		if pods.WaitForCacheSync(ctx) {
			fmt.Printf("seconds %.4f\n", time.Since(began).Seconds())
			answerCollections()
		}
	}()
	return pods.Start(ctx)
}
