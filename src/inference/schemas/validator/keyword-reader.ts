import { type Fields, isObject } from '../../../base/fields.ts';
import { escapePointerPart, ownField } from '../../../base/json-pointer.ts';
import { SchemaRejected } from '../schema-limits.ts';
import type { Node } from './evaluate.ts';
import type { CompilePattern, Pattern } from './patterns.ts';

/** Turns a subschema into a node. @param at its JSON pointer */
export type ToNode = (schema: unknown, at: string) => Node;

/** Reads the keywords of one schema, and throws SchemaRejected, with the place, for values that JSON Schema does not allow. */
export class KeywordReader {
  readonly #schema: Fields;
  readonly #at: string;
  readonly #toNode: ToNode;
  readonly #compilePattern: CompilePattern;

  constructor(schema: Fields, at: string, toNode: ToNode, compilePattern: CompilePattern) {
    this.#schema = schema;
    this.#at = at;
    this.#toNode = toNode;
    this.#compilePattern = compilePattern;
  }

  /** JSON pointer of a keyword. */
  place(name: string): string {
    return `${this.#at}/${name}`;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#schema, name);
  }

  /** The raw value of a keyword. */
  value(name: string): unknown {
    return ownField(this.#schema, name);
  }

  number(name: string): number | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    // 1e400 is read as infinity, which engines would get as null.
    if (typeof value !== 'number' || !Number.isFinite(value)) throw this.bad(name, 'expected a number');
    return value;
  }

  /** A length or number of parts. */
  count(name: string): number | undefined {
    const value = this.number(name);
    if (value === undefined || (Number.isInteger(value) && value >= 0)) return value;
    throw this.bad(name, 'expected an integer that is not negative');
  }

  boolean(name: string): boolean {
    const value = this.has(name) ? this.value(name) : false;
    if (typeof value !== 'boolean') throw this.bad(name, 'expected true or false');
    return value;
  }

  schema(name: string): Node | undefined {
    const value = this.value(name);
    return value === undefined ? undefined : this.#toNode(value, this.place(name));
  }

  schemas(name: string): Node[] | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || value.length === 0) throw this.bad(name, 'expected a list of schemas');
    return value.map((each, n) => this.#toNode(each, `${this.place(name)}/${n}`));
  }

  /** Members of an object of schemas. */
  named(name: string): [string, Node][] {
    return this.members(name).map(([key, value, at]) => [key, this.#toNode(value, at)]);
  }

  /** Members of an object, with their places; empty without the keyword. */
  members(name: string): [name: string, value: unknown, at: string][] {
    const value = this.has(name) ? this.value(name) : {};
    if (!isObject(value)) throw this.bad(name, 'expected an object');
    return Object.entries(value).map(([key, each]) => [
      key,
      each,
      `${this.place(name)}/${escapePointerPart(key)}`,
    ]);
  }

  toNode(schema: unknown, at: string): Node {
    return this.#toNode(schema, at);
  }

  /** A list of different names. @param at place of the list, for the error */
  names(value: unknown, at: string): string[] {
    if (!Array.isArray(value) || !value.every((each) => typeof each === 'string'))
      throw new SchemaRejected(at, 'expected a list of names');
    const names = new Set<string>();
    for (const name of value) {
      if (names.has(name)) throw new SchemaRejected(at, `duplicate name "${name}"`);
      names.add(name);
    }
    return value;
  }

  required(): string[] {
    const value = this.value('required');
    return value === undefined ? [] : this.names(value, this.place('required'));
  }

  pattern(text: string, name: 'pattern' | 'patternProperties'): Pattern {
    try {
      return this.#compilePattern(text);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw this.bad(name, `not a regular expression of RE2 or JavaScript: ${error.message}`);
    }
  }

  bad(name: string, message: string): SchemaRejected {
    return new SchemaRejected(this.place(name), message);
  }
}
