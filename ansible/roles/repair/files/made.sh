# The list of what was made, before any script asks it what is ours.
put_copy /etc/matryoshka/made
