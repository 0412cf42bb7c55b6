# A host with etcd alone has no settings but those of the runtime, which were changed before.
did changed
