import { createHmac } from 'node:crypto';

/**
 * Salt of an org for the prefix cache of a server: 256 bits, unpredictable without the secret. Requests with different
 * salts share no cached prefix, so the time to the first token reveals nothing about the prompts of another org.
 */
export function cacheSaltOf(secret: string, org: string): string {
  return createHmac('sha256', secret).update(`prefix cache of ${org}`).digest('base64url');
}
