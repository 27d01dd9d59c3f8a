import type * as AjvPackage from 'ajv';
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import { loadPackage } from '../../base/load-package.ts';
import type { Schema } from './schema.ts';
import { ApiError, type ErrorCode, type Fault } from '../../core/errors.ts';
import { explain } from './explain.ts';
import type { JsonBody } from '../json/json-body.ts';
import { parseJson } from '../json/parse.ts';
import type { JsonScan } from '../json/scan.ts';

/** At most this many faults are told (api.md, section 2). */
export const maxFaults = 100;

/** Checks a value against one schema; an empty list when it fits. */
export interface Validator {
  (value: unknown): Fault[];
  /** Compiles it, unless it is. */
  compile: () => void;
}

/** Adds a fault to those that were found. */
export type AddFault = (param: string, message: string, code?: ErrorCode) => void;

/** The faults that are added. */
export function collectFaults(look: (add: AddFault) => void): Fault[] {
  const faults: Fault[] = [];
  look((param, message, code = 'validation_error') => faults.push({ param, code, message }));
  return faults;
}

/**
 * A validator for a schema. The verdict comes from a check that stops at the first fault and allocates nothing
 * when there is none; only a value that failed is checked again for more of its faults, as many as are told.
 * Each is compiled when it is first needed, or prepared: up to 60 ms once, against megabytes and a second of every start for
 * all of them.
 *
 * A schema writes unions as type arrays or `if`/`then`, never `anyOf`, so that a fault inside one has an exact path.
 * @param agreement what no schema can say of a value of that shape: fields that must agree with each other
 */
export function validator(schema: Schema, agreement?: (value: never, add: AddFault) => void): Validator {
  let quick: ValidateFunction | undefined;
  let full: ValidateFunction | undefined;
  const compiled = () => (quick ??= compilers().quick.compile(schema));
  const check = (value: unknown): Fault[] => {
    const isGood = compiled();
    if (isGood(value)) return agreement ? collectFaults((add) => agreement(value as never, add)) : [];
    const first = isGood.errors ?? [];
    if (isTooMany(first[0])) return explain(first, value, maxFaults);
    full ??= compilers().full.compile(schema);
    full(value);
    return explain(full.errors ?? first, value, maxFaults);
  };
  return Object.assign(check, { compile: () => void compiled() });
}

// Ajv's own optimizing of its code takes as long as making it, and the machine's compiler does the same again.
const asMade = { optimize: false };
const options = {
  code: asMade,
  strict: false,
  validateSchema: false,
  validateFormats: false,
  addUsedSchema: false,
  verbose: true,
};
let made: { quick: Ajv; full: Ajv } | undefined;

function compilers(): { quick: Ajv; full: Ajv } {
  if (made) return made;
  const { Ajv } = loadPackage('ajv') as typeof AjvPackage;
  const full = new Ajv({ ...options, allErrors: true, code: { ...asMade, process: boundLoops } });
  const quick = new Ajv({ ...options, code: { ...asMade, process: dropUnmetIfErrors } });
  return (made = { quick, full });
}

/**
 * The code of a check that keeps nothing of an `if` that is not met: Ajv would make an empty object and a list for each,
 * to throw both away at once; the roles of four messages are a dozen.
 */
export function dropUnmetIfErrors(code: string): string {
  return code.replaceAll(
    /const (err\d+) = \{\};if\(vErrors === null\)\{vErrors = \[\1\];\}else \{vErrors\.push\(\1\);\}/g,
    '',
  );
}

/** Enough for `maxFaults`: some errors are no faults, and some tell the same. */
const maxErrors = 4 * maxFaults;

/**
 * The code of a check that asks for all errors, with loops over items and fields that end when there are enough: a body of
 * half a megabyte can be wrong in 200,000 places. Ajv has no such limit of its own.
 */
function boundLoops(code: string): string {
  return code.replaceAll(/for\((?:let|const) [^{}]*\)\{/g, `$&if(errors>=${maxErrors})break;`);
}

/** A list that is too long is told by itself: its items may be hundreds of thousands. */
function isTooMany(error: ErrorObject | undefined): boolean {
  return error?.keyword === 'maxItems' || error?.keyword === 'maxProperties';
}

/**
 * A request body that passes the check.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseBody<T>(text: string, check: Validator): JsonBody<T> & { scan: JsonScan } {
  const { value, scan } = parseJson(text, { what: 'The request body' });
  const faults = check(value);
  if (faults.length > 0) throw faultsError(faults);
  return { value: value as T, text, scan };
}

/** One ApiError for all faults of a request: the first in the message, the others in the details. */
export function faultsError(faults: Fault[]): ApiError {
  const first = faults[0]!;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  const place = first.param === undefined ? '' : `${first.param}: `;
  return new ApiError(first.code, `${place}${first.message}${more}`, {
    param: first.param ?? null,
    faults: faults.slice(0, maxFaults),
    status: 422,
  });
}
