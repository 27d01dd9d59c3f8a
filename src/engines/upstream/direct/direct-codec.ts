import type { Fields } from '../../../base/fields.ts';
import type { DirectKind } from '../../../core/model.ts';
import type { DirectRequest } from '../../../wire/shared/direct-format.ts';
import type { Edits } from '../../../wire/json/edit-members.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import type { Members } from '../../../wire/json/pick-members.ts';
import type { ReadOptions } from '../answer/chat-response.ts';
import { readUsage } from '../answer/usage.ts';

/** Form of a direct kind at servers. */
export interface DirectCodec<Request extends DirectRequest, Result> {
  /** Kind whose path is called. */
  path: DirectKind;
  /** Members that are sent, unless `edit` changes them. */
  members: Members;
  /** Name that a bare list gets, where some servers answer with one. */
  listName?: string;
  /** Sets members as servers take them. @throws ApiError for requests that this form lacks */
  edit?: (request: Request, edits: Edits) => void;
  /** Starts to expect an answer. Does not hold the input, so that it can be released meanwhile. */
  expect: (request: JsonBody<Request>) => ExpectedAnswer<Result>;
}

export interface ExpectedAnswer<Result> {
  /** @throws ApiError `invalid_upstream_response`, and others as the kind documents */
  read: (answer: Fields, options: DirectReadOptions) => Result;
  /** Turns a refusal into a better error. */
  explain?: (error: unknown) => unknown;
}

/** `cutsAt`: context of a server that silently truncates longer inputs, if known. */
export type DirectReadOptions = Pick<ReadOptions, 'repairs' | 'trace' | 'cutsAt'>;

/** Reported tokens, or an estimate. Some servers report only the total, which is that of the input, or 0 for unknown. */
export function inputTokens(
  usage: unknown,
  estimate: () => number,
  { repairs, trace }: DirectReadOptions,
): number {
  const { prompt, total } = readUsage(usage, trace);
  const reported = prompt || total;
  if (!reported) repairs.add('usage estimated');
  return reported || estimate();
}
