import { createHmac } from 'node:crypto';
import { unixSeconds } from '../base/clock.ts';
import type { Random } from '../base/random.ts';

const prefix = 'whsec_';

/** Signing secret of 256 random bits. */
export function makeSecret(random: Random): string {
  return prefix + Buffer.from(random.bytes(32)).toString('base64');
}

/**
 * Headers of Standard Webhooks, with one signature for each secret.
 * @param id of the event, the same for every attempt
 * @param at time of the attempt, in epoch milliseconds
 */
export function signedHeaders(secrets: readonly string[], id: string, at: number, body: string) {
  const timestamp = String(unixSeconds(at));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
