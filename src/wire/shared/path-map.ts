import { omitNullish } from '../../base/fields.ts';
import { ApiError, type Fault } from '../../core/errors.ts';
import { stepsOf } from '../schema/explain.ts';

/**
 * Where the parts of a converted request stood in the request as the client sent it: by the object in the new request, by
 * the name of a top-level field, or by a whole path.
 */
export type PathMap = Map<object | string, string>;
export type ReadonlyPathMap = ReadonlyMap<object | string, string>;

/** A fault of a converted request, told in the paths of the one the client sent. */
export function faultMapper(converted: object, paths: ReadonlyPathMap): (fault: Fault) => Fault {
  const moved = (param: string) => originalPath(param, converted, paths);
  return (fault) => mapFaultParam(fault, moved);
}

/** An error about a converted request, told in the paths of the one the client sent. */
export function remapError(error: unknown, converted: object, paths: ReadonlyPathMap): unknown {
  return paths.size === 0 ? error : mapErrorParams(error, (param) => originalPath(param, converted, paths));
}

/** An error with other paths. */
export function mapErrorParams(error: unknown, moved: (param: string) => string): unknown {
  if (!(error instanceof ApiError)) return error;
  if (error.param === null && error.faults.length === 0) return error;
  const { code, param, status, retryAfter, shouldRetry, allow, blame, cause } = error;
  return new ApiError(code, mapMessage(error.message, param, moved), {
    param: param === null ? null : moved(param),
    faults: error.faults.map((fault) => mapFaultParam(fault, moved)),
    blame,
    cause,
    ...(status === 422 && { status }),
    ...omitNullish({ retryAfter, shouldRetry, allow }),
  });
}

function mapFaultParam(fault: Fault, moved: (param: string) => string): Fault {
  if (fault.param === undefined) return fault;
  return { ...fault, param: moved(fault.param), message: mapMessage(fault.message, fault.param, moved) };
}

function mapMessage(message: string, param: string | null, moved: (param: string) => string): string {
  return param === null || param === '' ? message : message.replaceAll(param, () => moved(param));
}

/**
 * The place of the deepest part of `param` that has one, and what is below it as it stands; so does the JSON pointer with
 * which a path into a schema ends (`...parameters#/properties/a`, or `#` for the whole).
 */
function originalPath(given: string, converted: object, paths: ReadonlyPathMap): string {
  const [param = '', ...pointer] = given.split(/(?=#(?:\/|$))/);
  return [originalFieldPath(param, converted, paths), ...pointer].join('');
}

function originalFieldPath(param: string, converted: object, paths: ReadonlyPathMap): string {
  const known = paths.get(param);
  if (known !== undefined) return known;
  let at: unknown = converted;
  let path = '';
  for (const [depth, { step, text }] of stepsOf(param).entries()) {
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[step] : undefined;
    path = paths.get(at as object) ?? (depth === 0 ? paths.get(text) : undefined) ?? path + text;
  }
  return path;
}
