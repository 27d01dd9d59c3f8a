import { fixedLimitNames } from '../../core/limit-use.ts';
import { limitNames } from '../../core/limits.ts';
import * as t from '../../wire/schema/schema.ts';
import { closed, instantOrNull, titled } from './answer-schemas.ts';

const limitSchema = titled('LimitUse', {
  object: t.literal('limit'),
  name: t.oneOf([...limitNames, ...fixedLimitNames]),
  owner: t.oneOf(['org', 'key'], {
    description: 'Owner of the limit. A key counts together with those that replaced it.',
  }),
  model: t.stringOrNull({ description: 'Model of `queued_tokens`; else null.' }),
  limit: t.integer(),
  used: t.integer({
    description:
      'Current use, over all processes. May exceed the limit, after a request used more than it had reserved, or after the limit was lowered.',
  }),
  remaining: t.integer(),
  available_at: {
    ...instantOrNull,
    description:
      'Time at which one more request or token fits. Null if one fits now, and for limits that only the end of requests or deletions free.',
  },
  resets_at: {
    ...instantOrNull,
    description:
      'Time at which the whole rate is free if no request follows. Null if it is free, and for other limits.',
  },
});

/** Answer with the limits in force of an org, and possibly of a key. */
export const limitListSchema = t.object(
  {
    object: t.literal('list'),
    org_id: t.string({ pattern: '^org_' }),
    org: t.stringOrNull({ description: 'Name of the org.' }),
    key_id: t.stringOrNull({ description: 'Null in an answer about the org alone.' }),
    data: t.array(limitSchema, { description: 'Limits of the org, then those of the key.' }),
    has_more: t.boolean(),
  },
  { title: 'LimitList', ...closed },
);
