import { createHmac } from 'node:crypto';
import { unixSeconds } from '../base/clock.ts';
import type { Random } from '../base/random.ts';

const prefix = 'whsec_';

/** A secret to sign with: 256 random bits. */
export function makeSecret(random: Random): string {
  return prefix + Buffer.from(random.bytes(32)).toString('base64');
}

/**
 * The headers of Standard Webhooks: the id is the event's, the same at every attempt; the timestamp is the attempt's; one
 * signature a secret.
 * @param at the attempt, in epoch milliseconds
 */
export function signedHeaders(
  secrets: readonly string[],
  id: string,
  at: number,
  body: string,
): Record<string, string> {
  const timestamp = String(unixSeconds(at));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
