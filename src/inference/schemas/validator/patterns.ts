import type * as Re2js from 're2js';
import { loadPackage } from '../../../base/load-package.ts';
import { type Run, spend, TooMuch } from './evaluate.ts';

/** Returns true if the pattern occurs in a text. */
export type Pattern = (text: string, run: Run) => boolean;
/** @throws SyntaxError if neither RE2 nor JavaScript reads the pattern; TooMuch if it is not allowed here */
export type CompilePattern = (pattern: string) => Pattern;

export interface PatternLimits {
  /** Instructions of all patterns of a schema. */
  maxInstructions: number;
  /** Allows patterns that backtrack, and so may never end. */
  backtracking: boolean;
}

/** Instructions times characters for which RE2 takes about as long as for a step, if it has to track all instructions at once. */
const perStep = 16;

/** Ordinary texts, on which a pattern that hangs is detected before an answer is paid for. */
const probes = ['', ...['a', '0', 'a.', ' ', '-'].map((part) => part.repeat(1_000))];

/**
 * Compiles the patterns of one schema for RE2, which never backtracks (security.md, C14). Those that RE2 does not support
 * (look-around, back references, more than 1,000 repetitions) run in JavaScript, if that is allowed.
 */
export function createPatternCompiler({ maxInstructions, backtracking }: PatternLimits): CompilePattern {
  const compiled = new Map<string, Pattern>();
  let instructions = 0;

  function compile(pattern: string): Pattern {
    const size = instructionsOf(pattern);
    instructions += size;
    if (instructions > maxInstructions) throw new TooMuch();
    const inRE2 = linear(pattern);
    const occurs = inRE2 ?? backtracked(pattern);
    if (!inRE2 && !backtracking) throw new TooMuch();
    if (backtracking) for (const probe of probes) occurs(probe);
    return (text, run) => {
      spend(run, Math.ceil((size * text.length) / perStep));
      return occurs(text);
    };
  }

  return (pattern) => {
    let matches = compiled.get(pattern);
    if (!matches) compiled.set(pattern, (matches = compile(pattern)));
    return matches;
  };
}

/** Upper bound of the instructions of a pattern in RE2: repetitions are copies. */
function instructionsOf(pattern: string): number {
  let atoms = pattern.length;
  let copies = 1;
  for (const [, before, min, max] of pattern.matchAll(/(?<=(.))\{(\d+)(?:,(\d*))?\}/gs)) {
    const count = Math.max(Number(min), Number(max ?? 0)) + 1;
    // The repeated part may be a group, or a repetition itself.
    if (/[)}*+?]/.test(before!)) copies *= count;
    else atoms += count;
  }
  return atoms * copies;
}

function linear(pattern: string): ((text: string) => boolean) | null {
  const { RE2JS } = loadPackage('re2js') as typeof Re2js;
  try {
    const expression = RE2JS.compile(pattern);
    return (text) => expression.matcher(text).find();
  } catch {
    return null;
  }
}

/** @throws SyntaxError for an invalid regular expression */
function backtracked(pattern: string): (text: string) => boolean {
  const expression = javaScript(pattern);
  return (text) => expression.test(text);
}

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
