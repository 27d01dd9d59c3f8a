import { parseDuration } from '../base/duration.ts';
import { nearestWord } from '../base/nearest-word.ts';

/** Problem with a configured value, and its location. */
export interface ConfigProblem {
  /** File path, flag such as `--port`, or environment variable. */
  file: string;
  line: number | null;
  message: string;
  hint: string | null;
}

/** `offpeak.yaml:12: models[0].id: must not be empty. Hint`. */
export function formatProblem(problem: ConfigProblem): string {
  const place = problem.line === null ? problem.file : `${problem.file}:${problem.line}`;
  return `${place}: ${problem.message}${problem.hint === null ? '' : `. ${problem.hint}`}`;
}

/** Invalid configuration, with all problems and their locations. */
export class ConfigError extends Error {
  readonly problems: ConfigProblem[];

  constructor(problems: ConfigProblem[]) {
    super(problems.map(formatProblem).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Configured value with its location. */
export interface SourceValue {
  file: string;
  line: number | null;
  /** `models[0].engine.path`; '' for the root. */
  path: string;
  value: Scalar | SourceValue[] | Map<string, SourceValue>;
  /** True for text of a variable or flag, where `8080` may be a number. */
  loose: boolean;
  /** True for a possible secret, which messages do not quote. */
  hidden: boolean;
}

type Scalar = string | number | boolean | null;

export interface Bounds {
  min?: number;
  max?: number;
}

export type Checker = ReturnType<typeof createChecker>;

/** Reads values by their expected type; collects all problems. */
export function createChecker() {
  const problems: ConfigProblem[] = [];

  function fail(at: SourceValue, message: string, hint?: string): undefined {
    const full = at.path === '' ? message : `${at.path}: ${message}`;
    problems.push({ file: at.file, line: at.line, message: full, hint: hint ?? null });
  }

  function text(at: SourceValue | undefined): string | undefined {
    if (at === undefined) return undefined;
    if (typeof at.value !== 'string') return fail(at, `expected text, found ${describe(at)}`, quoteHint(at));
    return at.value === '' ? fail(at, 'must not be empty') : at.value;
  }

  function number(at: SourceValue | undefined, bounds: Bounds = {}): number | undefined {
    if (at === undefined) return undefined;
    const found =
      at.loose && typeof at.value === 'string' && at.value.trim() !== '' ? Number(at.value) : at.value;
    if (typeof found !== 'number' || !Number.isFinite(found))
      return fail(at, `expected a number, found ${describe(at)}`);
    const { min = -Infinity, max = Infinity } = bounds;
    if (found < min || found > max)
      return fail(at, `must be ${range(min, max)}${at.hidden ? '' : `, not ${describe(at)}`}`);
    return found;
  }

  function whole(at: SourceValue | undefined, bounds: Bounds = {}): number | undefined {
    const found = number(at, bounds);
    if (at === undefined || found === undefined || Number.isSafeInteger(found)) return found;
    return fail(at, `expected a whole number, not ${found}`);
  }

  function choice<T extends string>(at: SourceValue | undefined, options: readonly T[]): T | undefined {
    const found = text(at);
    if (at === undefined || found === undefined) return undefined;
    const chosen = options.find((option) => option === found);
    if (chosen !== undefined) return chosen;
    const nearest = nearestWord(found, options);
    return fail(at, `must be one of ${options.join(', ')}`, nearest && `Did you mean '${nearest}'?`);
  }

  return {
    problems,
    fail,
    text,
    number,
    whole,
    choice,
    /** Fields of an object. Unknown fields are problems; absent and null fields are undefined. */
    object<K extends string>(
      at: SourceValue | undefined,
      keys: readonly K[],
    ): Partial<Record<K, SourceValue>> {
      if (at === undefined) return {};
      if (!(at.value instanceof Map)) {
        fail(at, `expected an object with ${keys.join(', ')}, found ${describe(at)}`);
        return {};
      }
      const fields: Partial<Record<string, SourceValue>> = {};
      for (const [key, field] of at.value) {
        if ((keys as readonly string[]).includes(key)) {
          if (field.value !== null) fields[key] = field;
          continue;
        }
        const nearest = nearestWord(key, keys);
        const hint = nearest ? `Did you mean '${nearest}'?` : `Known here: ${keys.join(', ')}.`;
        fail(field, 'unknown key', hint);
      }
      return fields;
    },
    /** List; if `what` names an item, an empty one is a problem. */
    list(at: SourceValue | undefined, what?: string): SourceValue[] | undefined {
      if (at === undefined) return undefined;
      if (!Array.isArray(at.value)) return fail(at, `expected a list, found ${describe(at)}`);
      if (what !== undefined && at.value.length === 0) fail(at, `must name at least one ${what}`);
      return at.value;
    },
    wholeOrAuto(at: SourceValue | undefined, bounds: Bounds): number | 'auto' | undefined {
      if (at?.value === 'auto') return 'auto';
      if (at !== undefined && typeof at.value === 'string' && !at.loose)
        return fail(at, `expected a number or auto, found ${describe(at)}`);
      return whole(at, bounds);
    },
    flag(at: SourceValue | undefined): boolean | undefined {
      if (at === undefined) return undefined;
      if (at.loose && (at.value === 'true' || at.value === 'false')) return at.value === 'true';
      if (typeof at.value === 'boolean') return at.value;
      return fail(at, `expected true or false, found ${describe(at)}`);
    },
    /** Secret or other word for an HTTP header. */
    word(at: SourceValue | undefined): string | undefined {
      const found = text(at);
      if (at === undefined || found === undefined || /^[\x21-\x7e]+$/.test(found)) return found;
      return fail(at, 'must be printable characters without spaces');
    },
    /** An http:// or https:// URL, without trailing slashes. */
    url(at: SourceValue | undefined): string | undefined {
      const found = text(at);
      if (at === undefined || found === undefined) return undefined;
      const protocol = URL.canParse(found) ? new URL(found).protocol : '';
      if (protocol === 'http:' || protocol === 'https:') return found.replace(/\/+$/, '');
      return fail(at, 'expected an http:// or https:// URL', 'For example http://127.0.0.1:8000/v1');
    },
    /** Duration such as `30d`, in milliseconds. */
    duration(at: SourceValue | undefined): number | undefined {
      if (at === undefined) return undefined;
      const found = typeof at.value === 'string' ? parseDuration(at.value) : undefined;
      if (found !== undefined) return found;
      return fail(at, `expected a duration, found ${describe(at)}`, 'Write 250ms, 25s, 10m, 24h or 30d.');
    },
  };
}

function describe(at: SourceValue): string {
  if (Array.isArray(at.value)) return 'a list';
  if (at.value instanceof Map) return 'an object';
  if (at.value === null) return 'nothing';
  return at.hidden ? 'other text' : JSON.stringify(at.value);
}

function quoteHint(at: SourceValue): string | undefined {
  return typeof at.value === 'number' || typeof at.value === 'boolean'
    ? `Quote it: "${at.value}".`
    : undefined;
}

function range(min: number, max: number): string {
  if (max === Infinity) return `at least ${min}`;
  return min === -Infinity ? `at most ${max}` : `from ${min} to ${max}`;
}
