# Restores the manifest before any script checks in it what is ours.
put_copy /etc/matryoshka/made
