import type * as AjvPackage from 'ajv';
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import { loadPackage } from '../../base/load-package.ts';
import type { Schema } from './schema.ts';
import { ApiError, type ErrorCode, type Fault } from '../../core/errors.ts';
import { explain } from './explain.ts';
import { type KnownObject, knownFields } from './known-fields.ts';
import type { JsonBody } from '../json/json-body.ts';
import { parseJson } from '../json/parse.ts';
import type { JsonScan } from '../json/scan.ts';

/** Maximum faults that an error reports. */
export const maxFaults = 100;

/** Checks a value against one schema and returns its faults. */
export interface Validator {
  (value: unknown): Fault[];
  /** Fields that a valid value may have. */
  known: () => KnownObject;
  /** Compiles the schema, unless it is compiled already. */
  compile: () => void;
}

export type AddFault = (param: string, message: string, code?: ErrorCode) => void;

/** Returns the faults that `check` adds. */
export function collectFaults(check: (add: AddFault) => void): Fault[] {
  const faults: Fault[] = [];
  check((param, message, code = 'validation_error') => faults.push({ param, code, message }));
  return faults;
}

/**
 * Creates a validator for a schema. A quick check stops at the first fault and allocates nothing for a valid value; only an
 * invalid value is checked again for all faults. Schemas are compiled on first use, which takes up to 60 ms each; all of
 * them at start-up would take megabytes and a second.
 *
 * Schemas write unions as type arrays or `if`/`then`, never `anyOf`, so that faults have exact paths.
 * @param agreement rules between fields, which a schema cannot express; runs only on values of the right shape
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
  return Object.assign(check, { known: knownFields(schema), compile: () => void compiled() });
}

// Ajv's optimizer takes as long as generating the code, and V8 optimizes the code anyway.
const unoptimized = { optimize: false };
const options = {
  code: unoptimized,
  strict: false,
  validateSchema: false,
  validateFormats: false,
  addUsedSchema: false,
  verbose: true,
};
let cached: { quick: Ajv; full: Ajv } | undefined;

function compilers(): { quick: Ajv; full: Ajv } {
  if (cached) return cached;
  const { Ajv } = loadPackage('ajv') as typeof AjvPackage;
  const full = new Ajv({ ...options, allErrors: true, code: { ...unoptimized, process: boundLoops } });
  const quick = new Ajv({ ...options, code: { ...unoptimized, process: dropUnmetIfErrors } });
  return (cached = { quick, full });
}

/**
 * Removes from Ajv's code the empty error object and list that it allocates, and discards, for each `if` that does not
 * match: a dozen for the roles of four messages.
 */
export function dropUnmetIfErrors(code: string): string {
  return code.replaceAll(
    /const (err\d+) = \{\};if\(vErrors === null\)\{vErrors = \[\1\];\}else \{vErrors\.push\(\1\);\}/g,
    '',
  );
}

/** Enough for `maxFaults`, because explain() drops some errors and merges equal ones. */
const maxErrors = 4 * maxFaults;

/**
 * Makes the loops over items and fields in Ajv's code stop at `maxErrors`: a body of half a megabyte can have 200,000
 * errors, and Ajv has no such limit of its own.
 */
function boundLoops(code: string): string {
  return code.replaceAll(/for\((?:let|const) [^{}]*\)\{/g, `$&if(errors>=${maxErrors})break;`);
}

/** A list that is too long is the only fault reported, because it may have hundreds of thousands of items. */
function isTooMany(error: ErrorObject | undefined): boolean {
  return error?.keyword === 'maxItems' || error?.keyword === 'maxProperties';
}

/** Receives a valid body, to report unknown fields. @throws ApiError `validation_error` (422) where they are faults */
export type ReportFields = (body: object, known: () => KnownObject) => void;

/**
 * Parses and checks a request body.
 * @throws ApiError `validation_error`, `too_deep` or `duplicate_key` (422) with every fault found
 */
export function parseBody<T>(
  text: string,
  check: Validator,
  report?: ReportFields,
): JsonBody<T> & { scan: JsonScan } {
  const { value, scan } = parseJson(text, { what: 'The request body' });
  const faults = check(value);
  if (faults.length > 0) throw faultsError(faults);
  report?.(value as object, check.known);
  return { value: value as T, text, scan };
}

/** Error for all faults of a request: the first in the message, up to `maxFaults` in the details. */
export function faultsError(faults: Fault[]): ApiError {
  const first = faults[0]!;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  const path = first.param === undefined ? '' : `${first.param}: `;
  return new ApiError(first.code, `${path}${first.message}${more}`, {
    param: first.param ?? null,
    faults: faults.slice(0, maxFaults),
    status: 422,
  });
}
