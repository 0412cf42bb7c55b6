stayed=0
if is_made line /etc/hosts && grep -q '# matryoshka ' "$R/etc/hosts"; then
  kept=$(grep -v '# matryoshka ' "$R/etc/hosts"; echo .)
  printf '%s' "${kept%.}" > "$R/etc/hosts"; changed /etc/hosts
fi
unmake || stayed=1
rm -rf "$installed" "$R/etc/matryoshka/joined"
exit $stayed
