import * as t from '../../wire/schema/schema.ts';
import { closed, decimal, instant, instantOrNull, titled, waiting } from './answer-schemas.ts';

// Schemas of answers to operators.

const list = (item: t.Schema) =>
  t.object({ object: t.literal('list'), data: t.array(item), has_more: t.boolean() }, closed);

export const pauseListSchema = list(
  titled('BatchPause', {
    object: t.literal('batch_pause'),
    model: t.stringOrNull({ description: 'Paused model; null for all models.' }),
    org_id: t.stringOrNull({ description: 'Paused org; null for all orgs.' }),
    org: t.stringOrNull({ description: 'Name of the org.' }),
    since: instant,
    key_id: t.string({ description: 'Key that paused the batches.' }),
  }),
);

export const replicaSchema = titled('Replica', {
  id: t.string({ pattern: '^rep_', description: 'The same in all processes and after each start.' }),
  object: t.literal('replica'),
  model: t.string(),
  server: t.string({ description: 'Address of the server, or model file.' }),
  health: {
    ...t.oneOfOrNull(['up', 'open', 'half-open', 'draining']),
    description: 'Null for a drained or capped server that no process lists any more.',
  },
  slots: t.integerOrNull({
    description: 'Number of requests that the server runs at once, at most its cap.',
  }),
  configured: t.integerOrNull({
    description:
      'Slots that the configuration fixes; null where the server reports them or they are found under load.',
  }),
  found: t.integerOrNull({
    description: 'Number of slots that was found under load; null where the server reports its slots.',
  }),
  in_use: t.integer({ description: 'Slots that work on a request of any process.' }),
  in_flight: t.integer({
    description:
      'Requests of all processes in flight at the server. More than its slots while some were sent ahead, so that no slot is idle.',
  }),
  slowdown: t.numberOrNull({
    description:
      'Factor on the time of interactive requests that the batch lines in flight at the server cause; null while unknown.',
  }),
  waiting,
  drained_at: { ...instantOrNull, description: 'Time at which an operator drained the server.' },
  drained_by: t.stringOrNull({ description: 'Key that drained the server.' }),
  cap: t.integerOrNull({
    description: 'Most requests in flight that an operator allows; null without a cap.',
  }),
  capped_at: { ...instantOrNull, description: 'Time at which an operator set the cap.' },
  capped_by: t.stringOrNull({ description: 'Key that set the cap.' }),
});

export const replicaListSchema = list(replicaSchema);

export const queueSchema = list(
  titled('ModelQueue', {
    object: t.literal('model_queue'),
    model: t.string(),
    requests: t.integer({ description: 'Requests of open batches without a result that can run.' }),
    tokens: t.integer({ description: 'Their estimated input and output tokens.' }),
    seconds: t.numberOrNull({
      description:
        'Time that they take at the measured rate of all processes; null while the rate is unknown or the model waits.',
    }),
    tokens_per_second: t.numberOrNull({
      description:
        'Estimated tokens of batches that all processes completed per second, over the last minutes in which they ran; null while unknown.',
    }),
    slack_seconds: t.numberOrNull({
      description:
        'Least time to spare of any batch: its time left minus the work that is due before or with it. Negative if it will miss its window at the measured rate. Null without work, and while the rate is unknown or the model waits.',
    }),
    needed_tokens_per_second: t.number({
      description:
        'Least rate, in estimated tokens, at which every batch ends within its window; 0 without work.',
    }),
    slots: t.integer({ description: 'Slots of the servers of the model, without drained ones.' }),
    found: t.integerOrNull({
      description: 'Slots that were found under load; null where all servers report theirs.',
    }),
    in_use: t.integer({ description: 'Slots that work on a request of any process, single ones included.' }),
    in_flight: t.integer({
      description:
        'Requests of all processes in flight: those in use, those that were sent ahead and wait at a server, so that no slot is idle, and those at drained servers.',
    }),
    waiting,
    hours: t.orNull(
      t.object(
        {
          open: t.string({
            description: 'Daily hours with their time zone, such as `22:00-06:00 Europe/Berlin`.',
          }),
          share: t.number({ description: 'Part of the slots that batches get at other times, from 0 to 1.' }),
          is_open: t.boolean(),
          changes_at: instant,
        },
        { description: 'Hours in which batches of the model run; null for any time.', ...closed },
      ),
    ),
    orgs: t.array(
      t.object(
        {
          org_id: t.string(),
          org: t.stringOrNull({ description: 'Name of the org.' }),
          share: t.number({
            description:
              'Part of the slots that the org gets while all of these orgs have work, from 0 to 1.',
          }),
          requests: t.integer(),
          tokens: t.integer(),
        },
        closed,
      ),
      { description: 'Orgs with work, the most tokens first.' },
    ),
  }),
);

export const processListSchema = list(
  titled('Process', {
    id: t.string({ pattern: '^wrk_', description: 'New after each start.' }),
    object: t.literal('process'),
    is_self: t.boolean({ description: 'True for the process that answers.' }),
    role: t.oneOf(['all', 'api', 'worker'], {
      description: '`api` claims no batches, `worker` serves no requests, `all` does both.',
    }),
    state: t.oneOf(['alive', 'silent'], {
      description:
        '`silent` after 30 seconds without a heartbeat: other processes take its work, and the entry disappears.',
    }),
    version: t.stringOrNull({ description: 'Null for a process of a version before this field.' }),
    host: t.stringOrNull({ description: 'Name of its machine.' }),
    pid: t.integerOrNull(),
    started_at: instantOrNull,
    last_seen_at: { ...instant, description: 'Last heartbeat; one is sent every 10 seconds.' },
    models: t.array(t.string(), { description: 'Models that it serves.' }),
    in_flight: t.object(
      {
        batch_lines: t.integer({ description: 'Requests of batches in flight, as of the last heartbeat.' }),
        requests: t.integer({ description: 'Single requests in flight, likewise.' }),
      },
      closed,
    ),
    leases: t.object(
      {
        chunks: t.integer({ description: 'Chunks of batches that the process has claimed.' }),
        lines: t.integer({ description: 'Requests of these chunks.' }),
        slots: t.array(t.object({ model: t.string(), slots: t.integer() }, closed), {
          description: 'Slots of servers that several processes use, for 3 seconds at a time.',
        }),
      },
      closed,
    ),
  }),
);

const ms = (description: string) => t.numberOrNull({ description: `Milliseconds ${description}.` });

export const requestSchema = titled('Request', {
  id: t.string({ pattern: '^req_' }),
  object: t.literal('request'),
  process: t.string({ description: 'Process that answered the request.' }),
  started_at: t.string({ format: 'date-time' }),
  org_id: t.string(),
  org: t.stringOrNull({ description: 'Name of the org.' }),
  key_id: t.string(),
  key_name: t.string({ description: 'Empty for a key without a name.' }),
  endpoint: t.string(),
  model: t.stringOrNull({ description: 'Null if no model was reached.' }),
  server: t.stringOrNull({ description: 'Server of the last attempt.' }),
  status: t.integer({ description: 'HTTP status; 499 if the client left before the end of the answer.' }),
  code: t.stringOrNull({ description: 'Code of the error.' }),
  ms: t.number({ description: 'Milliseconds from the first header to the last byte of the answer.' }),
  queued_ms: ms('of waiting for a slot'),
  first_ms: ms('from the slot to the first output of a stream, or to the whole answer'),
  input_tokens: t.integerOrNull(),
  cached_tokens: t.integerOrNull(),
  output_tokens: t.integerOrNull(),
  amount: t.orNull({ ...decimal, description: 'Cost in USD; null for a request that is not charged.' }),
});
