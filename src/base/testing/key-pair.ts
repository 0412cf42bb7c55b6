import ssh2 from 'ssh2';

/**
 * A key pair as ssh-keygen makes them, in OpenSSH's formats. Of those that ssh2 makes, some 5 in 1,000 are malformed: it
 * cuts off the leading zeros of a public key, and its own parser refuses what comes of that.
 */
export function keyPair(): { public: string; private: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair;
  }
}
