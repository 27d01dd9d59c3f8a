import { RE2JS } from 're2js';

/** A pattern in the form that Ajv needs; `toString` identifies it. */
interface Pattern {
  test(text: string): boolean;
  toString(): string;
}

/**
 * Regular expressions run on RE2, which never backtracks (security.md, C14). Those that RE2 does not support (look-around,
 * back references, more than 1,000 repetitions) run in JavaScript and may never end; the thread's time limit stops them.
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

/** Ordinary texts, on which a pattern that hangs is detected before an answer is paid for. */
const probes = ['', ...['a', '0', 'a.', ' ', '-'].map((part) => part.repeat(1_000))];

function backtracking(pattern: string): Pattern['test'] {
  const expression = javaScript(pattern);
  for (const probe of probes) expression.test(probe);
  return (text) => expression.test(text);
}

/** @throws SyntaxError for an invalid regular expression */
function javaScript(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch (error) {
    // Without the flag, needless escapes (`\@`) are valid. So are those of other dialects (`\Z`), with another meaning.
    if (foreignEscape.test(pattern.replaceAll('\\\\', ''))) throw error;
    return new RegExp(pattern);
  }
}

const foreignEscape = /\\[^\W\d_bBcdDfknrsStuvwWx]/;
