# Functions for the two keys that the API servers of a cluster share: the one that signs tokens of ServiceAccounts, and the one
# that encrypts Secrets. The folder `next` has new ones from their making until the former encryption key is forgotten.
pki=$R/etc/kubernetes/pki
next=$pki/matryoshka/next encryption=$pki/matryoshka/encryption.yaml
block() { awk -v wanted="$1" '/^-----BEGIN / { n++ } n == wanted' "$2"; } # NUMBER FILE: a key of a PEM file
# The first public key is the one of the key that signs. API servers accept tokens by all of them.
signs() { block 1 "$pki/sa.pub"; }
# is_whole FOLDER: whether it has all new keys. A key of encryption has 32 bytes.
is_whole() {
  [ -s "$1/sa.key" ] && [ -s "$1/sa.pub" ] &&
    { [ ! -e "$encryption" ] || grep -qxE 'key[^ ]+ [A-Za-z0-9+/]{43}=' "$1/encryption.key" 2> /dev/null; }
}
# key_name: prints a name for the new key, which no other key has ever had: etcd's values begin with it.
key_name() { echo "key-$SEQUENCE-$(LC_ALL=C tr -dc a-z0-9 < /dev/urandom | head -c 8)"; }
# The sequence of the rotation that ended last on this host.
ended=$work/rotated
has_next() { is_whole "$next" || fail 'the new keys are not on this host; ask for the rotation again'; }
# encryption_of LINES: prints the configuration with these keys, and fails if one of them is not in it.
encryption_of() {
  local config word
  [ -n "$1" ] || fail 'there is no key of encryption; the configuration was not changed'
  config=$(encryption_config "$1")
  for word in $1; do
    case $config in *" $word"*) ;; *) fail 'the configuration with the keys of encryption cannot be made; it was not changed' ;; esac
  done
  printf %s "$config"
}
# uses PATH TEXT: replaces a file. The mark of the stage stays until the components have started with it.
uses() {
  [ -n "$2" ] || exit 1
  [ "$(cat "$1")" != "$2" ] || return 0
  write_file "$work/rotate-$stage" 600 $'yes\n' && write_file "$1" 600 "$2"$'\n' || exit 1
}
# started COMPONENT…: restarts components of this control plane that have not started with the files of this stage.
started() {
  local pod
  [ -e "$work/rotate-$stage" ] || return 0
  for pod; do
    start_with "$pod" "$R$kubernetes/manifests/$pod.yaml"
    await_pod "$pod" 240 || fail "$pod does not become ready with the new keys; see its log in /var/log/pods, repair this control plane, and ask again"
    changed "$pod: restart"
  done
  rm -f "$work/rotate-$stage"
  # Balancers use an API server again after two answers a second apart. The next control plane waits for that.
  sleep 3
}
