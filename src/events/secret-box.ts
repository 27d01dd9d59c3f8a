import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Log } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { SealState } from '../core/secrets-key.ts';

/** Keys that seal stored secrets, as configured: any text with 256 bits of entropy. */
export interface SecretsKeys {
  /** Seals new secrets; undefined to store them in clear. */
  current: string | undefined;
  /** Other keys that open secrets. */
  accepted: readonly string[];
}

/** Encryption of secrets at rest: AES-256-GCM, bound to the id of their owner. */
export interface SecretBox {
  /** Id of the key that seals; undefined without one. */
  readonly keyId: string | undefined;
  /** Returns `sealed:<key id>:<base64>`, or the secret itself without a key. */
  seal(secret: string, owner: string): string;
  /** Returns undefined, and logs why, for a secret that no configured key opens. */
  open(stored: string, owner: string): string | undefined;
  /** Key and state of a stored secret; the key is null for one in clear. */
  inspect(stored: string): { keyId: string | null; state: SealState };
}

const nonceBytes = 12;
const tagBytes = 16;

export function createSecretBox(
  { current, accepted }: SecretsKeys,
  { random, log }: { random: Random; log: Log },
): SecretBox {
  const sealing = current === undefined ? undefined : deriveKey(current);
  const keys = new Map(accepted.map(deriveKey).map(({ id, key }) => [id, key]));
  if (sealing) keys.set(sealing.id, sealing.key);
  const reported = new Set<string>();

  function report(keyId: string, message: string): undefined {
    if (reported.has(keyId)) return;
    reported.add(keyId);
    log.error({ secrets_key: keyId }, message);
  }

  return {
    keyId: sealing?.id,

    seal(secret, owner) {
      if (!sealing) return secret;
      const nonce = random.bytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', sealing.key, nonce).setAAD(Buffer.from(owner));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      const bytes = Buffer.concat([nonce, text, cipher.getAuthTag()]);
      return `sealed:${sealing.id}:${bytes.toString('base64')}`;
    },

    open(stored, owner) {
      const { keyId, text } = parse(stored);
      if (keyId === null) return stored;
      const key = keys.get(keyId);
      if (!key) return report(keyId, 'a stored secret is sealed with a key that is not configured');
      const bytes = Buffer.from(text, 'base64');
      const end = bytes.length - tagBytes;
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), {
          authTagLength: tagBytes,
        })
          .setAAD(Buffer.from(owner))
          .setAuthTag(bytes.subarray(end));
        return decipher.update(bytes.subarray(nonceBytes, end), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        return report(keyId, 'a stored secret was changed in the database and cannot be opened');
      }
    },

    inspect(stored) {
      const { keyId } = parse(stored);
      if (keyId === null) return { keyId, state: 'clear' };
      if (keyId === sealing?.id) return { keyId, state: 'current' };
      return { keyId, state: keys.has(keyId) ? 'accepted' : 'unknown' };
    },
  };
}

function parse(stored: string): { keyId: string | null; text: string } {
  const [mark, keyId = '', text = ''] = stored.split(':');
  return mark === 'sealed' ? { keyId, text } : { keyId: null, text: stored };
}

/** Key and its public id, which tells keys apart without revealing them. */
function deriveKey(text: string): { id: string; key: Buffer } {
  const derive = (info: string, bytes: number) => Buffer.from(hkdfSync('sha256', text, '', info, bytes));
  return { id: derive('offpeak secrets key id', 8).toString('hex'), key: derive('offpeak secrets key', 32) };
}
