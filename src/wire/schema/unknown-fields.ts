import { nearestWord } from '../../base/nearest-word.ts';
import { truncate } from '../../base/truncate.ts';
import type { Fault } from '../../core/errors.ts';
import type { FieldWarning } from '../../core/field-warning.ts';
import { joinPath } from './explain.ts';
import type { Known, KnownObject } from './known-fields.ts';

/** Distinct unknown fields that are counted; a body may have any number. */
export const maxUnknownFields = 100;
/** Characters of a name that are kept. */
const maxName = 100;

/** Unknown field of one body. */
export type UnknownField = Pick<FieldWarning, 'field' | 'suggestion'>;

interface FindOptions {
  /** Top-level fields that the engine of the model takes besides the known ones. */
  extra?: () => readonly string[];
  /** Decodes a name, if the body was parsed from bytes. */
  textOf?: (characters: string) => string;
}

/** Unknown fields of a body, each once, up to `maxUnknownFields`. Costs one look-up for each field of a body without any. */
export function findUnknownFields(
  body: object,
  known: KnownObject,
  { extra = () => [], textOf = (text) => text }: FindOptions = {},
): UnknownField[] {
  if (!hasUnknown(body, known)) return [];
  const extraFields = extra();
  const found = new Map<string, UnknownField>();

  const visit = (value: unknown, place: Known, path: string): void => {
    if (typeof value !== 'object' || value === null || found.size >= maxUnknownFields) return;
    if (Array.isArray(value)) {
      for (const item of value) visit(item, place, path.endsWith('[]') ? path : `${path}[]`);
      return;
    }
    const here = placeOf(value, place);
    if (here === 'anything') return;
    for (const [name, inner] of Object.entries(value)) {
      const next = here.fields.get(name);
      if (next) visit(inner, next, joinPath(path, name));
      else if (path !== '' || !extraFields.includes(name)) add(path, textOf(name), here);
    }
  };
  const add = (path: string, name: string, { fields }: KnownObject): void => {
    const field = joinPath(path, truncate(name, maxName, '…'));
    if (found.has(field) || found.size >= maxUnknownFields) return;
    const meant = name.length > maxName ? undefined : meantField(name, fields);
    found.set(field, { field, suggestion: meant === undefined ? null : joinPath(path, meant) });
  };
  visit(body, known, '');
  return [...found.values()];
}

/** Names of other formats and engines for the same parameter; the first that is known is meant. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  input: ['messages', 'prompt'],
  instructions: ['system'],
  max_completion_tokens: ['max_output_tokens', 'max_tokens'],
  max_new_tokens: ['max_output_tokens', 'max_tokens'],
  max_output_tokens: ['max_tokens'],
  max_tokens: ['max_output_tokens'],
  messages: ['input'],
  num_predict: ['max_output_tokens', 'max_tokens'],
  prompt: ['messages', 'input'],
  stop: ['stop_sequences'],
  stop_sequences: ['stop'],
  system: ['instructions'],
};

/** Field that is probably meant by an unknown name. */
function meantField(name: string, fields: ReadonlyMap<string, Known>): string | undefined {
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const other = Object.hasOwn(otherNames, snake) ? otherNames[snake]! : [];
  return [snake, ...other].find((each) => fields.has(each)) ?? nearestWord(name, [...fields.keys()]);
}

function hasUnknown(value: unknown, place: Known): boolean {
  if (place === 'anything' || typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (hasUnknown(item, place)) return true;
    return false;
  }
  const here = placeOf(value, place);
  if (here === 'anything') return false;
  for (const name in value) {
    const next = here.fields.get(name);
    if (next === undefined || (next !== 'anything' && hasUnknown((value as Body)[name], next))) return true;
  }
  return false;
}

type Body = Record<string, unknown>;

/** Fields of an object, which may depend on its `type`. */
function placeOf(value: object, place: Known): Known {
  if (place === 'anything' || place.variants.size === 0) return place;
  const { type } = value as Body;
  if (typeof type !== 'string') return place;
  return place.variants.get(type) ?? (place.isOpen ? 'anything' : place);
}

/** Fault for an unknown field, where unknown fields are faults. */
export function unknownFieldFault({ field, suggestion }: UnknownField): Fault {
  const advice = suggestion === null ? '' : `; did you mean "${suggestion}"?`;
  return { param: field, code: 'validation_error', message: `unknown field${advice}` };
}

/** Counts the unknown fields of many bodies. */
export class FieldWarnings {
  readonly #byField = new Map<string, FieldWarning>();

  /** @param line number of the line; null for a single request */
  add(unknown: readonly UnknownField[], line: number | null): void {
    for (const { field, suggestion } of unknown) {
      const known = this.#byField.get(field);
      if (known) known.count += 1;
      else if (this.#byField.size < maxUnknownFields)
        this.#byField.set(field, { code: 'unknown_field', field, count: 1, suggestion, line });
    }
  }

  /** The most frequent first. */
  get all(): FieldWarning[] {
    return [...this.#byField.values()].toSorted((a, b) => b.count - a.count);
  }
}
