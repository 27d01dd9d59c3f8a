import * as t from '../../wire/schema/schema.ts';
import { lineStates } from '../../core/line.ts';
import { batchInstant, batchInstantOrNull, closed, titled } from './answer-schemas.ts';

// Schemas of the lines of a batch.

const replica = t.stringOrNull({ description: 'Replica that was asked last; null if none was, or unknown.' });
const server = t.stringOrNull({ description: 'Address of that server, or model file.' });

const attempt = (more: t.Fields) =>
  t.object(
    { at: batchInstant, duration_ms: t.integer(), code: t.string(), replica_id: replica, ...more },
    closed,
  );

const fieldsWith = (more: t.Fields, error: t.Fields) => ({
  object: t.literal('batch.line'),
  line: t.integer({
    minimum: 1,
    description: 'Number among the requests of the batch, from 1; blank lines of the file do not count.',
  }),
  custom_id: t.stringOrNull({ description: 'Null if the input file is gone and there is no result.' }),
  state: t.oneOf(lineStates, {
    description: 'in_flight: a process holds the line, and has sent it or is about to.',
  }),
  status_code: t.integerOrNull({ description: 'HTTP status of the result; null before there is one.' }),
  error: t.orNull(t.object({ code: t.string(), ...error }, closed)),
  model: t.stringOrNull(),
  usage: t.orNull(
    t.object({
      input_tokens: t.integer(),
      input_tokens_details: t.object({ cached_tokens: t.integer() }),
      output_tokens: t.integer(),
      total_tokens: t.integer(),
    }),
  ),
  cost: {
    ...t.orNull(t.object({ currency: t.literal('USD'), amount: t.string() })),
    description: 'Null before there is a result, and for lines that never ran.',
  },
  finished_at: batchInstantOrNull,
  duration_ms: t.integerOrNull({
    description: 'Milliseconds that the last attempt took, without waiting for a slot.',
  }),
  replica_id: replica,
  ...more,
  attempts: t.integerOrNull({ description: 'Attempts that may have had an effect.' }),
  failed_attempts: t.array(attempt(more), {
    description: 'Last failed attempts before the result, at most eight, oldest first.',
  }),
});

const ownFields = fieldsWith({}, { message: t.string() });

export const lineSchema = titled('BatchLine', {
  ...ownFields,
  preview: t.object(
    { input: t.string(), output: t.string() },
    { description: 'Beginning of the last text of the user, and of the answer or the error.', ...closed },
  ),
});

export const operatorLineSchema = titled('OperatorBatchLine', fieldsWith({ server }, {}));

const bodies = {
  input: t.orNull(t.anyObject({ description: 'Body of the request; null if the input file is gone.' })),
  output: t.orNull(t.anyObject({ description: 'Body of the response; null without one.' })),
};

export const lineDetailSchema = titled('BatchLineDetail', {
  ...ownFields,
  ...bodies,
  original: {
    ...t.orNull(
      t.object(
        {
          batch_id: t.string({ pattern: '^batch_' }),
          ...ownFields,
          ...bodies,
        },
        closed,
      ),
    ),
    description: 'In a retry, the line that this one runs again.',
  },
});

export const linePageOf = (line: t.Schema) =>
  t.object(
    {
      object: t.literal('list'),
      data: t.array(line),
      has_more: t.boolean(),
      next_after: t.integerOrNull({
        description:
          'Value of after for the next page. A search returns early after a large part of the lines, also with an empty page.',
      }),
      'seed?': t.integer({ description: 'Seed of the sample.' }),
    },
    closed,
  );
