# Settings change one host at a time, which needs the others.
healthy || fail 'the API server of this control plane is not ready; repair it first; nothing was changed'
