import { isObject } from '../../base/fields.ts';
import { type BatchEndpoint, batchEndpoints } from '../../core/batch.ts';
import type { ErrorCode, Fault } from '../../core/errors.ts';
import type { FieldWarning } from '../../core/field-warning.ts';
import type { JsonProblem } from '../json/parse.ts';
import { describe, joinPath } from '../schema/explain.ts';
import { unknownFieldFault } from '../schema/unknown-fields.ts';
import { collectFaults } from '../schema/validate.ts';
import { lineMembers } from './bare-body.ts';

export const customIdLimit = 512;

export const loneSurrogate = 'contains a lone surrogate, which is not valid Unicode';

/** Reason why a value is not a valid custom_id (faults B13, B15 and B27 of docs/reliability.md), or undefined. */
export function customIdFault(value: unknown): string | undefined {
  if (typeof value !== 'string') return notExpected('a string', value);
  if (value === '') return 'must not be empty';
  if (value.length > customIdLimit)
    return `expected at most ${customIdLimit} characters, got ${value.length}`;
  if (!value.isWellFormed()) return loneSurrogate;
  return controlCharacter.test(value) ? 'must not contain control characters' : undefined;
}

// oxlint-disable-next-line no-control-regex -- the pattern finds them
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/;

function notExpected(what: string, value: unknown): string {
  return value === undefined ? 'required, but missing' : `expected ${what}, got ${describe(value)}`;
}

export const bareBodyFault: Fault = {
  code: 'invalid_json_line',
  message:
    'lines like this one are bare request bodies: put each into {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {...}}, or use offpeak batch run --wrap',
};

export const otherFormatFault: Fault = {
  code: 'invalid_json_line',
  message:
    'lines like this one are not batch lines: a line is {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {...}}',
};

const problemCodes: Record<JsonProblem['code'], ErrorCode> = {
  invalid_json: 'invalid_json_line',
  too_deep: 'too_deep',
  too_many_nodes: 'line_too_long',
  duplicate_key: 'duplicate_key',
};

/** Fault for a line that cannot be parsed. */
export function jsonFault({ code, message, at }: JsonProblem): Fault {
  const reason = code === 'invalid_json' ? `invalid JSON: ${message}` : message;
  return { code: problemCodes[code], message: `${reason} (column ${at + 1})` };
}

/** Faults of the line around its body, except custom_id and url. */
export function shapeFaults(line: Record<string, unknown>): Fault[] {
  const { method, body } = line;
  return collectFaults((add) => {
    if (method !== 'POST') add('method', notExpected('"POST"', method));
    if (!isObject(body)) add('body', notExpected('an object', body));
    for (const key of Object.keys(line))
      if (!lineMembers.includes(key))
        add(joinPath('', key), 'unknown field; a line has custom_id, method, url and body');
  });
}

/** Fault for an unknown field of a stored file, in a batch where unknown fields are faults. */
export function unknownInFile({ count, line, ...unknown }: FieldWarning): Fault {
  const { message, ...fault } = inBody(unknownFieldFault(unknown));
  const more = count === 1 ? '' : ` (in ${count} requests)`;
  return { ...fault, ...(line !== null && { line }), message: message + more };
}

/** Fault of a body, in its line. */
export function inBody(fault: Fault): Fault {
  const { param = '' } = fault;
  return { ...fault, param: param === '' || param.startsWith('[') ? `body${param}` : `body.${param}` };
}

/** Message for a value that is not an enabled batch endpoint. */
export function endpointFault(value: unknown, endpoints: readonly BatchEndpoint[]): string {
  const known = endpoints.map((name) => `"${name}"`);
  const message = `expected ${known.join(' or ')}, got ${describe(value)}`;
  if (batchEndpoints.some((name) => name === value))
    return `${message}, which batch.endpoints in the server's configuration can enable`;
  const operation = otherSpelling.exec(String(value))?.[1];
  const meant = endpoints.find((name) => name === `/v1/${operation}`);
  return meant === undefined ? message : `${message}; write "${meant}"`;
}

/** Endpoint as other services spell it: without a version, with a trailing slash, or as a whole URL. */
const otherSpelling = /^(?:https?:\/\/[^/]+)?\/?(?:openai\/)?(?:v1\/)?([a-z/]+?)\/?$/;
