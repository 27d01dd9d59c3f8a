import type { SecretsUnderKey } from '../../core/secrets-key.ts';

/** Item of `GET /v1/admin/secrets`. */
export function presentSecrets({ keyId, state, secrets }: SecretsUnderKey) {
  return { id: keyId ?? 'clear', object: 'secrets_key' as const, state, secrets };
}
