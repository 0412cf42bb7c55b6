stayed=0
if is_made line /etc/hosts && grep -q '# matryoshka ' "$R/etc/hosts"; then
  kept=$(grep -v '# matryoshka ' "$R/etc/hosts"; echo .)
  printf '%s' "${kept%.}" > "$R/etc/hosts"; changed /etc/hosts
fi
rm -rf "$installed" "$R/etc/matryoshka/joined"
# What another role still needs for its own undoing lies in a tree of this one.
[ ! -e "$work/needed" ] || exit 1
unmake || stayed=1
[ -n "$R" ] || systemctl daemon-reload
exit $stayed
