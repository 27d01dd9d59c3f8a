import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { toEventPayload } from '../core/webhook.ts';
import type { AttemptOutcome, ClaimedDelivery } from '../store/contract/webhooks.ts';
import { type Egress, type EgressAnswer, EgressError } from './egress.ts';
import type { SecretBox } from './secret-box.ts';
import { signedHeaders } from './signature.ts';

const minute = 60_000;
const hour = 60 * minute;

const maxPause = 24 * hour;
/** Pauses between attempts, a little over three days in total. */
const waits = [5_000, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, maxPause];

/** Timeout of an attempt, from the look-up of the host to the end of the answer. */
export const attemptMs = 20_000;

export interface AttemptDeps {
  egress: Egress;
  clock: Clock;
  random: Random;
  box: SecretBox;
}

/** Sends a delivery once and returns the next step. Never rejects; an aborted attempt is retried later. */
export async function attempt(
  { egress, clock, random, box }: AttemptDeps,
  delivery: ClaimedDelivery,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  const [newest, ...older] = delivery.secrets.map((stored) => box.open(stored, delivery.webhookId));
  // Never unsigned, and never signed with the previous secret alone.
  if (newest === undefined) return failed(null, 'The server cannot open the signing secret of this webhook.');
  const secrets = [newest, ...older.filter((secret) => secret !== undefined)];
  const late = new AbortController();
  const timer = clock.after(attemptMs, () => late.abort());
  const body = JSON.stringify(toEventPayload(delivery.event));
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'offpeak-webhooks',
    ...signedHeaders(secrets, delivery.event.id, clock.now(), body),
  };
  const answer = await egress
    .post(delivery.url, { org: delivery.orgId, headers, body }, AbortSignal.any([signal, late.signal]))
    .catch((error: unknown) => describeFailure(error, late.signal))
    .finally(() => timer.cancel());
  if (typeof answer === 'string') return failed(null, answer);
  const { status } = answer;
  if (status >= 200 && status < 300) return { status: 'delivered', answered: status, error: null };
  const message = `The receiver answered ${status}`;
  if (status === 410)
    return { ...failed(status, `${message}.`), disable: 'The receiver answered 410 (Gone).' };
  if (status >= 300 && status < 400)
    return failed(status, `${message}; redirects are not followed.`, answer.retryAfterMs);
  return failed(status, `${message}.`, answer.retryAfterMs);

  function failed(answered: number | null, error: string, retryAfterMs = 0): AttemptOutcome {
    const pause = waits[delivery.attempts - 1];
    if (pause === undefined || answered === 410) return { status: 'failed', answered, error };
    // Jitter only lengthens the pause, so that the attempts always span three days.
    const jittered = Math.round(pause * (1 + random.float() / 10));
    const retryInMs = Math.max(jittered, Math.min(retryAfterMs, maxPause));
    return { status: 'pending', answered, error, retryInMs };
  }
}

function describeFailure(error: unknown, late: AbortSignal): EgressAnswer | string {
  if (late.aborted) return `The receiver did not answer within ${attemptMs / 1000} s.`;
  if (!(error instanceof EgressError)) return 'The attempt was aborted.';
  return error.refused ? `The URL is not allowed: ${error.message}.` : `No answer: ${error.message}.`;
}
