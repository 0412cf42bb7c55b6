# Configures where containerd gets images: mirrors of registries, and the proxy.
own tree /etc/containerd
declare -A endpoints
while read -r registry list; do [ -z "$registry" ] || endpoints[$registry]=$list; done <<< "$REGISTRY_MIRRORS"
registries=$(printf '%s\n' $MIRRORED "${!endpoints[@]}" | sort -u)

mirror() { # URL
  printf '[host."%s"]\n  capabilities = ["pull", "resolve"]\n' "$1"
  # A URL with the path of the API is complete.
  case $1 in */v2 | */v2/*) echo '  override_path = true' ;; esac
}
# If a user has removed an image, containerd pulls it from the artifacts, then from mirrors, and last from its registry.
mirrors_of() { # REGISTRY
  local url
  case " $MIRRORED " in *" $1 "*) mirror "$MIRROR" ;; esac
  for url in ${endpoints[$1]-}; do mirror "$url"; done
}

files=()
for registry in $registries; do files+=("/etc/containerd/certs.d/$registry/hosts.toml"); done
[ ${#files[@]} = 0 ] || own file "${files[@]}"
for registry in $registries; do put "/etc/containerd/certs.d/$registry/hosts.toml" 644 "$(mirrors_of "$registry")"; done
# Deletes files that an earlier attempt needed and this one does not.
for file in "$R"/etc/containerd/certs.d/*/hosts.toml; do
  file=${file#"$R"}
  case " ${files[*]-} " in *" $file "*) ;; *) ! is_made file "$file" || rm -f "$R$file" || exit 1 ;; esac
done

# Only containerd uses the proxy, if there is one.
unit=/etc/systemd/system/containerd.service.d
proxied=$unit/matryoshka-proxy.conf
if [ -n "$HTTP_PROXY_URL$HTTPS_PROXY_URL" ]; then
  own dir $unit
  put $proxied 644 "[Service]
Environment=\"HTTP_PROXY=$HTTP_PROXY_URL\" \"HTTPS_PROXY=$HTTPS_PROXY_URL\"
Environment=\"NO_PROXY=$NO_PROXY_LIST\"" || true
elif is_made file $proxied; then
  rm -f "$R$proxied" || exit 1
fi
