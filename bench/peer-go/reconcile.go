package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "bench.example.com/sample"

type reconciler struct {
	client.Client
	scheme *runtime.Scheme
}

// Reconcile gives a Sample its finalizer, a ConfigMap with its text, and a status that says so.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var sample Sample
	if err := r.Get(ctx, request.NamespacedName, &sample); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if controllerutil.AddFinalizer(&sample, finalizer) {
		if err := r.Update(ctx, &sample); err != nil {
			return ctrl.Result{}, err
		}
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: sample.Namespace, Name: sample.Name}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, config, func() error {
		config.Data = map[string]string{"text": sample.Spec.Text}
		return controllerutil.SetControllerReference(&sample, config, r.scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	if sample.Status.Observed != sample.Generation {
		sample.Status.Observed = sample.Generation
		return ctrl.Result{}, r.Status().Update(ctx, &sample)
	}
	return ctrl.Result{}, nil
}

func reconcileSamples(ctx context.Context, config *rest.Config) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	scheme.AddKnownTypes(group, &Sample{}, &SampleList{})
	metav1.AddToGroupVersion(scheme, group)
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).For(&Sample{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(&reconciler{manager.GetClient(), scheme})
	if err != nil {
		return err
	}
	go func() {
		if manager.GetCache().WaitForCacheSync(ctx) {
			fmt.Println("ready")
			answerCollections()
		}
	}()
	return manager.Start(ctx)
}
