import { RE2JS } from 're2js';

/** A pattern as Ajv applies it. */
interface Pattern {
  test(text: string): boolean;
  toString(): string;
}

/**
 * Patterns run on RE2, which cannot be made to backtrack (reliability.md, C14). Those that RE2 does not know (look-around,
 * back references, more than 1,000 repetitions) run on the regular expressions of JavaScript, which may never end: only the
 * time limit of the thread stops them. Ajv identifies the patterns of a schema by their text.
 */
export const patterns = Object.assign(
  (pattern: string): Pattern => {
    const test = linear(pattern) ?? backtracking(pattern);
    return { test, toString: () => pattern };
  },
  { code: 'patterns' },
);

function linear(pattern: string): Pattern['test'] | null {
  try {
    const expression = RE2JS.compile(pattern);
    return (text) => expression.matcher(text).find();
  } catch {
    return null;
  }
}

/** Ordinary texts: a pattern that hangs on one of them is detected before an answer is paid for. */
const probes = ['', ...['a', '0', 'a.', ' ', '-'].map((part) => part.repeat(1_000))];

function backtracking(pattern: string): Pattern['test'] {
  const expression = javaScript(pattern);
  for (const probe of probes) expression.test(probe);
  return (text) => expression.test(text);
}

/** @throws SyntaxError for what is no regular expression of JavaScript */
function javaScript(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch (error) {
    // Needless escapes (`\@`) are taken without the flag; but so are those of other dialects (`\Z`), as the letter alone.
    if (foreignEscape.test(pattern.replaceAll('\\\\', ''))) throw error;
    return new RegExp(pattern);
  }
}

const foreignEscape = /\\[^\W\d_bBcdDfknrsStuvwWx]/;
