import { omitNullish } from '../../base/fields.ts';
import { ApiError, type Fault } from '../../core/errors.ts';
import { stepsOf } from '../schema/explain.ts';

/**
 * Original paths of the parts of a converted request. A key is an object of the converted request, the name of one of its
 * top-level fields, or a whole path.
 */
export type PathMap = Map<object | string, string>;
export type ReadonlyPathMap = ReadonlyMap<object | string, string>;

type MapPath = (path: string) => string;

/** Returns a function that maps a fault of the converted request to the client's paths. */
export function faultMapper(converted: object, paths: ReadonlyPathMap): (fault: Fault) => Fault {
  return (fault) => mapFaultPath(fault, (path) => originalPath(path, converted, paths));
}

/** Maps the paths in an error of the converted request to the client's paths. */
export function remapError(error: unknown, converted: object, paths: ReadonlyPathMap): unknown {
  return paths.size === 0 ? error : mapErrorPaths(error, (path) => originalPath(path, converted, paths));
}

export function mapErrorPaths(error: unknown, mapPath: MapPath): unknown {
  if (!(error instanceof ApiError)) return error;
  if (error.param === null && error.faults.length === 0) return error;
  const { code, param, status, retryAfter, shouldRetry, allow, blame, cause } = error;
  return new ApiError(code, mapMessage(error.message, param, mapPath), {
    param: param === null ? null : mapPath(param),
    faults: error.faults.map((fault) => mapFaultPath(fault, mapPath)),
    blame,
    cause,
    ...(status === 422 && { status }),
    ...omitNullish({ retryAfter, shouldRetry, allow }),
  });
}

function mapFaultPath(fault: Fault, mapPath: MapPath): Fault {
  if (fault.param === undefined) return fault;
  return { ...fault, param: mapPath(fault.param), message: mapMessage(fault.message, fault.param, mapPath) };
}

function mapMessage(message: string, param: string | null, mapPath: MapPath): string {
  return param === null || param === '' ? message : message.replaceAll(param, () => mapPath(param));
}

/**
 * Replaces the deepest mapped part of a path, and keeps the rest, also the JSON pointer at the end of a path into a schema
 * (`...parameters#/properties/a`, or `#` for the whole).
 */
function originalPath(param: string, converted: object, paths: ReadonlyPathMap): string {
  const [field = '', ...pointer] = param.split(/(?=#(?:\/|$))/);
  return [originalFieldPath(field, converted, paths), ...pointer].join('');
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
