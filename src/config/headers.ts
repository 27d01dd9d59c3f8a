import type { Checker, SourceValue } from './source-value.ts';

/** Characters of a header name (RFC 9110, `token`). */
const headerToken = /^[\w!#$%&'*+.^`|~-]+$/;
/** Headers that HTTP itself manages. */
const reserved = /^(?:host|connection|content-.*|transfer-encoding|keep-alive|upgrade|te|trailer|expect)$/;

/** Name of a header, in lower case. */
export function headerName(at: SourceValue, check: Checker): string | undefined {
  const found = check.text(at);
  if (found === undefined || headerToken.test(found)) return found?.toLowerCase();
  return check.fail(at, 'is not a valid header name');
}

export function headers(at: SourceValue, check: Checker): Record<string, string> {
  if (!(at.value instanceof Map)) {
    check.fail(at, 'expected an object of names and texts', 'For example headers: { x-team: offpeak }');
    return {};
  }
  const found: Record<string, string> = {};
  for (const [name, field] of at.value) {
    const text = check.text(field);
    if (!headerToken.test(name) || reserved.test(name.toLowerCase()))
      check.fail(field, 'is not a header that can be set');
    else if (text !== undefined && !/^[\x20-\x7e]*$/.test(text))
      check.fail(field, 'must be printable characters');
    else if (text !== undefined) found[name.toLowerCase()] = text;
  }
  return found;
}
