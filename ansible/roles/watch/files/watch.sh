# Installs the drift agent, which compares the host with its baseline, and its unit.
own file /usr/local/sbin/matryoshka-watch /etc/systemd/system/matryoshka-watch.service unit matryoshka-watch.service
restart=
put /usr/local/sbin/matryoshka-watch 755 "$WATCH" && restart=yes
# The agent reads what root may read, and writes below two folders. A check takes some hundredths of a second.
put /etc/systemd/system/matryoshka-watch.service 644 "[Unit]
Description=Matryoshka: compares this host with what was made on it
After=network.target

[Service]
Environment=NODE_NAME=$NODE_NAME
ExecStart=/usr/local/sbin/matryoshka-watch
Restart=always
RestartSec=15
Nice=19
IOSchedulingClass=idle
MemoryMax=256M
TasksMax=64
ProtectSystem=strict
ProtectHome=yes
ReadWritePaths=/etc/matryoshka
RuntimeDirectory=matryoshka
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
NoNewPrivileges=yes
CapabilityBoundingSet=CAP_DAC_READ_SEARCH
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target" && restart=yes
if [ -n "$restart" ] || ! systemctl is-active -q matryoshka-watch || ! systemctl is-enabled -q matryoshka-watch; then
  enable_unit matryoshka-watch.service; systemctl restart matryoshka-watch || fail 'matryoshka-watch does not start'
  changed matryoshka-watch.service
fi
