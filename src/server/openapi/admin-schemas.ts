import * as t from '../../wire/schema/schema.ts';
import { closed, instant, instantOrNull, titled, waiting } from './answer-schemas.ts';

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
    description: 'Null for a drained server that no process lists any more.',
  },
  slots: t.integerOrNull({ description: 'Number of requests that the server runs at once.' }),
  found: t.integerOrNull({
    description: 'Number of slots that was found under load; null where the server reports its slots.',
  }),
  in_flight: t.integer({ description: 'Requests of all processes in flight at the server.' }),
  waiting,
  drained_at: { ...instantOrNull, description: 'Time at which an operator drained the server.' },
  drained_by: t.stringOrNull({ description: 'Key that drained the server.' }),
});

export const replicaListSchema = list(replicaSchema);
