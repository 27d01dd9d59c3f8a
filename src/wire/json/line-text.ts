/**
 * Escapes the characters at which Python's `splitlines`, httpx's `iter_lines` and Node's `readline` break lines, in addition
 * to line feeds and carriage returns.
 */
export function withoutBreaks(json: string): string {
  return breaks.test(json) ? json.replaceAll(eachBreak, escaped) : json;
}

/**
 * Converts JSON text to one line that common readers accept: DuckDB, jq and Postgres reject lone surrogates, raw or
 * escaped, so each becomes U+FFFD.
 * @param json valid JSON without line feeds and carriage returns
 */
export function lineText(json: string): string {
  const text = withoutBreaks(json.toWellFormed());
  return escapedSurrogate.test(text)
    ? text.replaceAll(eachEscape, (match) => (isLone(match) ? String.raw`\ufffd` : match))
    : text;
}

/** True if the JSON text contains a lone surrogate, raw or escaped. */
export function hasLoneSurrogate(json: string): boolean {
  if (!json.isWellFormed()) return true;
  return escapedSurrogate.test(json) && (json.match(eachEscape) ?? []).some(isLone);
}

const breaks = /[\u0085\u2028\u2029]/;
const eachBreak = /[\u0085\u2028\u2029]/g;
const escapedSurrogate = /\\u[dD][89a-fA-F]/;
/** Matches escapes from left to right, so that an escaped backslash does not start another; surrogate pairs as a whole. */
const eachEscape = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\./g;

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function isLone(escape: string): boolean {
  return escape.length === 6 && escapedSurrogate.test(escape);
}
