import { Counter, Histogram, Registry } from 'prom-client';
import type { AnsweredCall } from '../core/call-trace.ts';
import type { Usage } from '../core/usage.ts';
import type { DeliveryStatus } from '../core/webhook.ts';
import { createOrgMetrics, type OrgMetricsDeps, type Tier } from './org-metrics.ts';
import type { LineResult, RecordOutcome, ResultStore } from '../store/contract/results.ts';

export type Counters = ReturnType<typeof createCounters>;

/** Buckets from health probes (milliseconds) to long answers (minutes). */
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];
const waitSeconds = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

/**
 * Creates the counters of this process. docs/metrics.md lists their names and labels.
 * @param orgs settings of the metrics by org; absent if they are off
 */
export function createCounters(byOrg?: OrgMetricsDeps) {
  const registry = new Registry();
  const registers = [registry];
  const histogram = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    buckets: number[],
  ): Histogram<Label> => new Histogram({ name, help, labelNames, buckets, registers });
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames, registers });

  const requests = histogram(
    'offpeak_http_request_duration_seconds',
    'Duration of HTTP requests, from the first header to the last byte of the answer',
    ['method', 'route', 'status'],
    requestSeconds,
  );
  const queued = histogram(
    'offpeak_request_queue_seconds',
    'Time that interactive requests waited for a slot',
    ['model'],
    waitSeconds,
  );
  const first = histogram(
    'offpeak_request_first_answer_seconds',
    'Time from the slot to the first token of a streamed answer, or to a complete answer',
    ['model'],
    requestSeconds,
  );
  const tokens = counter('offpeak_tokens_total', 'Billed tokens', ['model', 'tier', 'type']);
  const lines = counter('offpeak_batch_lines_total', 'Batch lines that ended in this process', [
    'model',
    'result',
  ]);
  const errors = counter('offpeak_batch_line_errors_total', 'Failed batch lines by error code', [
    'model',
    'code',
  ]);

  const attempts = counter('offpeak_webhook_attempts_total', 'Attempts to deliver an event to a webhook', [
    'result',
  ]);
  const orgs = byOrg && createOrgMetrics(registry, byOrg);

  function paid(model: string, tier: Tier, { inputTokens, cachedTokens, outputTokens }: Usage): void {
    tokens.inc({ model, tier, type: 'input' }, inputTokens);
    tokens.inc({ model, tier, type: 'cached_input' }, cachedTokens);
    tokens.inc({ model, tier, type: 'output' }, outputTokens);
  }

  function ended({ model, usage, code }: LineResult): void {
    lines.inc({ model, result: code === null ? 'completed' : 'failed' });
    if (code !== null) errors.inc({ model, code });
    paid(model, 'batch', usage);
  }

  /** Counts only the results that the store kept: a line may be reported twice. */
  function recorded(rows: readonly LineResult[], outcomes: readonly RecordOutcome[]): void {
    const left = new Map(outcomes.map(({ batchId, kept, orgId }) => [batchId, { kept, orgId }]));
    for (const row of rows) {
      const batch = left.get(row.batchId);
      if (!batch || batch.kept-- <= 0) continue;
      ended(row);
      if (batch.orgId !== null) orgs?.charged(batch.orgId, 'batch', row.usage);
    }
  }

  return {
    registry,
    orgs,

    recordCall: ({ method, route, status, ms, trace }: AnsweredCall) => {
      const { model, queuedMs = 0, firstOutputMs } = trace;
      requests.observe({ method, route, status }, ms / 1000);
      if (model === undefined) return;
      queued.observe({ model }, queuedMs / 1000);
      if (firstOutputMs !== undefined) first.observe({ model }, firstOutputMs / 1000);
    },

    /** Counts the tokens of an interactive request. */
    recordUsage: (orgId: string, model: string, usage: Usage): void => {
      paid(model, 'interactive', usage);
      orgs?.charged(orgId, 'interactive', usage);
    },

    /** Counts an attempt to deliver an event. */
    recordAttempt: (status: DeliveryStatus) =>
      attempts.inc({ result: status === 'pending' ? 'retried' : status }),

    /** Wraps a store to count the results that it records. */
    instrument: (results: ResultStore): ResultStore => ({
      ...results,
      async record(worker, rows, ...more) {
        const outcomes = await results.record(worker, rows, ...more);
        recorded(rows, outcomes);
        return outcomes;
      },
      async recordMissing(worker, lease, rows, now) {
        const isRecorded = await results.recordMissing(worker, lease, rows, now);
        if (isRecorded) for (const row of rows) ended(row);
        return isRecorded;
      },
    }),
  };
}
