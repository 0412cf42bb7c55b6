# Changes the settings of this worker. A change of the runtime has been made before.
umask 077
mkdir -p "$state" || exit 1
[ ! -e "$former" ] || { undo_kubelet; drop_former; }
keep_former
if ! take_kubelet_config; then
  undo_kubelet || why="$why; the kubelet does not start with its former configuration either"
  drop_former
  fail "these settings do not work, and the former ones are back on this host: $why"
fi
drop_former
did changed
