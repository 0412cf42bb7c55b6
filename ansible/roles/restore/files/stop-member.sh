# Ends the external etcd member of this host, and keeps its certificates and data (keep.sh).
umask 077
# A reset removes what this lists, as a part of etcd.
ROLE=etcd
unit=matryoshka-etcd.service
own tree /var/lib/etcd
disable_unit $unit
keep_files "$R/etc/matryoshka/etcd" etcd-certificates
# Before any data moves: a restart of the host must not start an etcd without data.
rm -f "$R/etc/systemd/system/$unit" "$R/etc/matryoshka/joined"
systemctl daemon-reload
keep_data
remove_tree /var/lib/etcd -mindepth 1 -maxdepth 1 ! -name lost+found ! -name .before-restore || exit 1
changed 'the member of etcd was stopped'
