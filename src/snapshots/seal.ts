import { Readable } from 'node:stream';
import { Decrypter, Encrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { messageOf } from '#base/errors.ts';

/**
 * Encrypts and decrypts with age (age-encryption.org/v1), which `age --decrypt` reads as well. Streams: a snapshot is never
 * in memory as a whole.
 */

/** Returns a new identity, `AGE-SECRET-KEY-1…`. */
export const newIdentity = (): Promise<string> => generateIdentity();

/** Returns the recipient of an identity, `age1…`, which only encrypts; undefined if the text is no identity. */
export const recipientOf = (identity: string): Promise<string | undefined> =>
  identityToRecipient(identity).catch(() => undefined);

/** Returns the content encrypted, for the owner of an identity. */
export const sealed = async (content: Readable, identity: string): Promise<Readable> =>
  sealedFor(content, await identityToRecipient(identity));

/** Returns the content encrypted for a recipient, `age1…`, whose identity need not be known. */
export async function sealedFor(content: Readable, recipient: string): Promise<Readable> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  return Readable.fromWeb(await encrypter.encrypt(Readable.toWeb(content)));
}

/** Returns the content decrypted. Each chunk of 64 KiB is authenticated before it is returned. */
export async function opened(content: Readable, identity: string): Promise<Readable> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  try {
    return Readable.fromWeb(await decrypter.decrypt(Readable.toWeb(content)));
  } catch (error) {
    content.destroy();
    throw new Error(`it cannot be decrypted with this age-identity: ${messageOf(error)}`, { cause: error });
  }
}
