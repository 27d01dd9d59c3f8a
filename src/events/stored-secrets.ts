import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { ApiError } from '../core/errors.ts';
import { sealStates, type SealState, type SecretsUnderKey } from '../core/secrets-key.ts';
import type { StoredSecret, WebhookStore } from '../store/contract/webhooks.ts';
import type { SecretBox } from './secret-box.ts';

/** Signing secrets in the database, as a whole: which keys seal them, and moving them to the current key. */
export interface StoredSecrets {
  /** Keys with their number of secrets, the current key first. */
  count(): Promise<SecretsUnderKey[]>;
  /**
   * Seals all secrets with the current key, except those that no configured key opens, and returns the counts afterwards.
   * Can be repeated at any time, also while deliveries and other processes use the secrets.
   * @throws ApiError `no_secrets_key` (409), `older_server` (409)
   */
  reseal(): Promise<SecretsUnderKey[]>;
}

interface StoredSecretsDeps {
  store: WebhookStore;
  /** True while a server of version 0.1.0 runs, which would use the sealed text as the secret. */
  hasFirstVersion: () => Promise<boolean>;
  /** Overwrites remains of replaced rows in the files of the database. */
  scrub: () => Promise<void>;
  box: SecretBox;
  clock: Clock;
  log: Log;
}

const pageSize = 200;

export function createStoredSecrets({
  store,
  hasFirstVersion,
  scrub,
  box,
  clock,
  log,
}: StoredSecretsDeps): StoredSecrets {
  async function* all(): AsyncGenerator<StoredSecret> {
    for (let after = ''; ;) {
      const page = await store.secrets(after, pageSize);
      yield* page;
      if (page.length < pageSize) return;
      after = page.at(-1)!.id;
    }
  }

  async function count(): Promise<SecretsUnderKey[]> {
    const counts = new Map<string | null, SecretsUnderKey>();
    const add = (keyId: string | null, state: SealState, secrets: number) => {
      const known = counts.get(keyId);
      if (known) known.secrets += secrets;
      else counts.set(keyId, { keyId, state, secrets });
    };
    if (box.keyId !== undefined) add(box.keyId, 'current', 0);
    for await (const row of all())
      for (const text of textsOf(row)) {
        const { keyId, state } = box.inspect(text);
        add(keyId, state, 1);
      }
    return [...counts.values()].toSorted((a, b) => sealStates.indexOf(a.state) - sealStates.indexOf(b.state));
  }

  /** Texts of a row that are still in use. */
  function textsOf({ secret, oldSecret, oldSecretUntil }: StoredSecret): string[] {
    return oldSecret !== null && (oldSecretUntil ?? 0) > clock.now() ? [secret, oldSecret] : [secret];
  }

  function moved(text: string, owner: string): string {
    if (box.inspect(text).state === 'current') return text;
    const secret = box.open(text, owner);
    return secret === undefined ? text : box.seal(secret, owner);
  }

  return {
    count,

    async reseal() {
      if (box.keyId === undefined)
        throw new ApiError(
          'no_secrets_key',
          'The server has no secrets_key to seal secrets with. Add one to its configuration and restart it.',
        );
      if (await hasFirstVersion())
        throw new ApiError(
          'older_server',
          'A server of version 0.1.0 is running, which cannot open sealed secrets. Replace it, and try again half a minute later.',
        );
      let changed = 0;
      for await (const row of all()) {
        const [secret, oldSecret = null] = textsOf(row).map((text) => moved(text, row.id));
        if (secret === row.secret && oldSecret === row.oldSecret) continue;
        // False if the secret was replaced meanwhile: the replacement is sealed with the current key.
        if (await store.replaceSecrets(row, { secret: secret!, oldSecret })) changed++;
      }
      await scrub();
      const counts = await count();
      log.info(
        { webhooks: changed, secrets_key: box.keyId },
        'stored secrets were sealed with the current key',
      );
      return counts;
    },
  };
}

/** Logs what an operator should know about the stored secrets at a start. */
export function reportSecrets(counts: readonly SecretsUnderKey[], box: SecretBox, log: Log): void {
  for (const { keyId, state, secrets } of counts) {
    if (state === 'unknown')
      log.error(
        { secrets_key: keyId, secrets },
        'stored webhook secrets are sealed with a key that is not configured: add it to accepted_secrets_keys',
      );
    else if (state === 'clear' && box.keyId === undefined)
      log.warn({ secrets }, 'webhook secrets are stored in clear: configure secrets_key to seal them');
    else if (state !== 'current' && secrets > 0)
      log.warn(
        { secrets_key: keyId, secrets },
        'stored webhook secrets are not sealed with the current key: run offpeak secrets rotate',
      );
  }
}
