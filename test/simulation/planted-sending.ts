import { ClaimDemand } from '../../src/batches/queue/claim-demand.ts';
import { LocalWork } from '../../src/batches/claimed/local-work.ts';
import { instantOf } from '../../src/core/urgency.ts';
import { ApiError, unavailable } from '../../src/core/errors.ts';
import { Health } from '../../src/engines/pool/health/health.ts';
import { SlowdownLimit } from '../../src/engines/pool/slowdown/slowdown-limit.ts';
import type { Inference } from '../../src/inference/inference.ts';
import { around, inClass, inSql, type Plant } from './plant.ts';

/** Replaces the errors of lines. */
const failing =
  (replace: (error: ApiError) => ApiError): Plant =>
  (parts) => {
    const { inference } = parts;
    const runLine: Inference['runLine'] = async (line) => {
      try {
        return await inference.runLine(line);
      } catch (error) {
        throw error instanceof ApiError ? replace(error) : error;
      }
    };
    return { ...parts, inference: { ...inference, runLine } };
  };

/** Claims no lines of orgs that have none, beyond the room; then the order of claims alone divides the slots. */
const claimingInOrder =
  (plant: Plant): Plant =>
  (parts, world) =>
    plant(
      around(parts, {
        batches: {
          claim: (worker, wanted, options) =>
            parts.store.batches.claim(
              worker,
              wanted.map((each) => ({ ...each, moreOrgs: 0 })),
              options,
            ),
        },
      }),
      world,
    );

/** Bugs in the sending of lines to engines. */
export const plantedSending: Record<string, Plant> = {
  'lines run on after their lease was lost': inClass(LocalWork, 'keepOnly', () => () => {}),
  'a line is sent twice': inClass(
    LocalWork,
    'send',
    (original) =>
      function (this: LocalWork, claimed) {
        const line = original.call(this, claimed);
        if (line && line.ref.line % 5 === 0) claimed.queue.push({ ...line, state: 'queued' });
        return line;
      },
  ),
  'a line to be retried is forgotten': inClass(
    LocalWork,
    'backOff',
    (original) =>
      function (this: LocalWork, line, ms, onRetry) {
        original.call(this, line, ms + 1e9, onRetry);
      },
  ),
  'a line that gave way counts as failed': inClass(
    SlowdownLimit,
    'yielding',
    (original) =>
      function (this: SlowdownLimit, ...args) {
        const call = original.apply(this, args);
        return call && { signal: call.signal, hasGivenWay: false, end: () => call.end() };
      },
  ),
  'a line that may give way runs on after the end of its batch': inClass(
    SlowdownLimit,
    'yielding',
    (original) =>
      function (this: SlowdownLimit, sent, _signal, times) {
        return original.call(this, sent, new AbortController().signal, times);
      },
  ),
  'an engine that refuses everything is retried without back-off': inClass(Health, 'failed', () => () => {}),
  "a refusal is never the line's own": failing((error) =>
    error.code === 'engine_overloaded' && error.blame.scope === 'replica'
      ? new ApiError(error.code, error.message, { blame: { ...unavailable, scope: 'model' } })
      : error,
  ),
  'an answer without choices is an error': (parts) => {
    const { inference } = parts;
    const runLine: Inference['runLine'] = async (line) => {
      const answer = await inference.runLine(line);
      if (!JSON.stringify(answer.body).includes('content_filter')) return answer;
      throw new ApiError('invalid_upstream_response', 'The answer has no choices.');
    };
    return { ...parts, inference: { ...inference, runLine } };
  },
  'no server gets a trial request': inClass(Health, 'tryOut', () => async () => null),
  'a pause by an operator is not in force': (parts) => ({
    ...parts,
    controls: { ...parts.controls, pausing: () => null },
  }),
  'more lines are sent than there are slots': inClass(
    ClaimDemand,
    'room',
    (original) =>
      function (this: ClaimDemand, model) {
        return original.call(this, model) + 9;
      },
  ),
  'slots are left idle': inClass(
    ClaimDemand,
    'room',
    (original) =>
      function (this: ClaimDemand, model) {
        return original.call(this, model) > 3 ? 1 : 0;
      },
  ),
  'an org waits until all others are done': claimingInOrder(
    inSql('batches.claim', [
      'share.served AS place',
      "CASE share.org_id WHEN 'org_1' THEN 0 ELSE 900000000000 END AS place",
    ]),
  ),
  'an org that idled comes back at its old place in the queue': claimingInOrder(
    inSql('batches.claim', [
      'SELECT model, virtual_time AS "virtualTime"',
      'SELECT model, 0 AS "virtualTime"',
    ]),
  ),
  'late batches get no advance': (parts) => around(parts, { batches: { hurry: async () => 0 } }),
  'a late chunk waits for those claimed before it': (parts) =>
    around(parts, {
      batches: {
        states: async (...args) =>
          (await parts.store.batches.states(...args)).map((state) => ({
            ...state,
            due: instantOf(state.due),
          })),
        claim: async (...args) => {
          const claim = await parts.store.batches.claim(...args);
          const batches = claim.batches.map((batch) => ({ ...batch, due: instantOf(batch.due) }));
          return { ...claim, batches };
        },
      },
    }),
  'answers wait to be recorded': (parts) =>
    around(parts, {
      results: {
        record: async (...args) => {
          await new Promise<void>((resolve) => parts.clock.after(8_000, resolve));
          return parts.store.results.record(...args);
        },
      },
    }),
};
