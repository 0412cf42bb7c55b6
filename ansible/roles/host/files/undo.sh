stayed=0
if is_made line /etc/hosts && grep -aq '# matryoshka ' "$R/etc/hosts"; then
  said=$({ grep -av '# matryoshka ' "$R/etc/hosts" || [ $? = 1 ]; } 2>&1 > "$work/hosts.new") || unfinished "$work/hosts.new" "$said" "$work/hosts.new"
  ! is_made before '/etc/hosts without an end of its last line' || truncate -s -1 "$work/hosts.new" || exit 1
  overwrite "$R/etc/hosts" "$work/hosts.new"; changed /etc/hosts
fi
rm -rf "$installed" "$R/etc/matryoshka/joined" || stayed=1
# The undo script of another role still needs a tree of this one.
[ ! -e "$work/needed" ] || exit 1
unmake || stayed=1
[ -n "$R" ] || systemctl daemon-reload
exit $stayed
