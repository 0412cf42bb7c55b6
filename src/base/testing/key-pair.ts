import ssh2 from 'ssh2';

/**
 * Returns a key pair like ssh-keygen's, in OpenSSH's formats. Some 5 in 1,000 pairs of ssh2 are malformed: it removes the
 * leading zeros of a public key, and its own parser rejects the result.
 */
export function keyPair(): { public: string; private: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair;
  }
}
