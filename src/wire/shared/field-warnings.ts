import { pluralize } from '../../base/words.ts';
import type { FieldWarning } from '../../core/field-warning.ts';

/** Warnings about the requests of a file, a batch or a dry run. */
export function presentWarnings(warnings: readonly FieldWarning[]) {
  return warnings.map(({ code, field, count, suggestion, line }) => ({
    code,
    field,
    count,
    suggestion,
    line,
  }));
}

/** Warning as `Unknown field max_token in 3 requests, first in line 2; did you mean max_tokens?`. */
export function warningText({ field, count, suggestion, line }: FieldWarning): string {
  const first = line === null ? '' : `, ${count === 1 ? '' : 'first '}in line ${line}`;
  const advice = suggestion === null ? '' : `; did you mean ${suggestion}?`;
  return `Unknown field ${field} in ${pluralize(count, 'request')}${first}${advice}`;
}

/** Value of `x-offpeak-warnings`: the warnings about a single request as JSON in ASCII. Longer lists are cut off. */
export function warningsHeader(warnings: readonly FieldWarning[]): string {
  const shown = warnings
    .slice(0, maxShown)
    .map(({ code, field, suggestion }) => ({ code, field, suggestion }));
  return JSON.stringify(shown).replaceAll(/[^\x20-\x7e]/g, (unit) => {
    const code = unit.codePointAt(0)!;
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** Bounds the header to a few kilobytes. */
const maxShown = 10;
