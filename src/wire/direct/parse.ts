import { isObject } from '../../base/fields.ts';
import type { DirectKind } from '../../core/model.ts';
import { editMembers } from '../json/edit-members.ts';
import type { JsonBody } from '../json/json-body.ts';
import { readJson } from '../json/parse.ts';
import { parseBody, type ReportFields } from '../schema/validate.ts';
import { directFormats, type DirectRequests } from './direct-formats.ts';

/**
 * Parses and checks the body of a single request.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseDirectRequest<Kind extends DirectKind>(
  kind: Kind,
  text: string,
  report?: ReportFields,
): JsonBody<DirectRequests[Kind]> {
  const { check, defaultModel } = directFormats[kind];
  return parseBody(defaultModel === undefined ? text : withModel(text, defaultModel), check, report);
}

/** Adds the model to an object that names none. */
function withModel(text: string, model: string): string {
  const { value } = { value: undefined, ...readJson(text) };
  if (!isObject(value) || 'model' in value) return text;
  return editMembers(text, new Map([['model', JSON.stringify(model)]]));
}
