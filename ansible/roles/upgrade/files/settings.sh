# Reports the settings with which this control plane was made.
settings=$(cat "$R/etc/kubernetes/pki/matryoshka/made-with" 2> /dev/null | sha256sum)
result settings "${settings%% *}"
