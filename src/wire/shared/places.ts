import { present } from '../../base/fields.ts';
import { ApiError, type Fault } from '../../core/errors.ts';
import { stepsOf } from './explain.ts';

/**
 * Where the parts of a converted request stood in the request as the client sent it: by the object in the new request, by
 * the name of a top-level field, or by a whole path.
 */
export type Places = Map<object | string, string>;
export type ReadonlyPlaces = ReadonlyMap<object | string, string>;

/** A fault of a converted request, told in the places of the one the client sent. */
export function faultMover(converted: object, places: ReadonlyPlaces): (fault: Fault) => Fault {
  const moved = (param: string) => placeOf(param, converted, places);
  return (fault) => movedFault(fault, moved);
}

/** An error about a converted request, told in the places of the one the client sent. */
export function movedError(error: unknown, converted: object, places: ReadonlyPlaces): unknown {
  return places.size === 0 ? error : retoldError(error, (param) => placeOf(param, converted, places));
}

/** An error with other places. */
export function retoldError(error: unknown, moved: (param: string) => string): unknown {
  if (!(error instanceof ApiError)) return error;
  if (error.param === null && error.faults.length === 0) return error;
  const { code, param, status, retryAfter, shouldRetry, allow, blame, cause } = error;
  return new ApiError(code, retold(error.message, param, moved), {
    param: param === null ? null : moved(param),
    faults: error.faults.map((fault) => movedFault(fault, moved)),
    blame,
    cause,
    ...(status === 422 && { status }),
    ...present({ retryAfter, shouldRetry, allow }),
  });
}

function movedFault(fault: Fault, moved: (param: string) => string): Fault {
  if (fault.param === undefined) return fault;
  return { ...fault, param: moved(fault.param), message: retold(fault.message, fault.param, moved) };
}

function retold(message: string, param: string | null, moved: (param: string) => string): string {
  return param === null || param === '' ? message : message.replaceAll(param, () => moved(param));
}

/**
 * The place of the deepest part of `param` that has one, and what is below it as it stands; so does the JSON pointer with
 * which a path into a schema ends (`...parameters#/properties/a`, or `#` for the whole).
 */
function placeOf(given: string, converted: object, places: ReadonlyPlaces): string {
  const [param = '', ...pointer] = given.split(/(?=#(?:\/|$))/);
  return [placeOfPath(param, converted, places), ...pointer].join('');
}

function placeOfPath(param: string, converted: object, places: ReadonlyPlaces): string {
  const known = places.get(param);
  if (known !== undefined) return known;
  let at: unknown = converted;
  let path = '';
  for (const [depth, { step, text }] of stepsOf(param).entries()) {
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[step] : undefined;
    path = places.get(at as object) ?? (depth === 0 ? places.get(text) : undefined) ?? path + text;
  }
  return path;
}
