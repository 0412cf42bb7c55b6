# Applies the pod network once the API server answers.
for try in $(seq 20); do
  out=$(kubectl apply --validate=false --server-side --field-manager=matryoshka --force-conflicts -f - 2>&1 <<< "$MANIFEST") && break
  # Right after a start, the API server does not know all permissions yet.
  [ "$try" != 20 ] || fail "$out"
  sleep 0.5
done
sum=$(sha256sum <<< "$MANIFEST" | cut -d' ' -f1)
is_installed network "$sum" || { mark network "$sum"; changed 'pod network'; }
