import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Template } from '@huggingface/jinja';
import { type Fields, isObject } from '../../../base/fields.ts';
import { nearestWord } from '../../../base/nearest-word.ts';
import { CliError } from '../../shared/exit-codes.ts';

/** Template of a prompt, such as `Classify: {{ review }}`. */
export interface RowTemplate {
  /** Option that contains it, for messages. */
  option: string;
  /** Columns that the template names. */
  columns: ReadonlySet<string>;
  /** @throws Error of the template engine */
  render(values: Fields): string;
}

/** Text of an option, or the content of the file in `@file`. @throws CliError without the file */
export function textOption(option: string, text: string, cwd: string): string {
  if (!text.startsWith('@')) return text;
  try {
    return readFileSync(resolve(cwd, text.slice(1)), 'utf8').replace(/^\uFEFF/, '');
  } catch {
    throw new CliError(`${option} names the file ${text.slice(1)}, which cannot be read.`);
  }
}

/** Compiles a Jinja template. All values of a row are also in `row`. @throws CliError for a syntax error */
export function compileTemplate(option: string, source: string): RowTemplate {
  const template = parse(option, source);
  const columns = namedColumns(template.parsed);
  return {
    option,
    columns,
    render(values) {
      const known: Fields = {};
      for (const name in values) {
        const value = values[name];
        // With null, the filter `default` would have no effect.
        if (value !== null) known[name] = value;
      }
      return template.render({ row: known, ...known });
    },
  };
}

function parse(option: string, source: string): Template {
  try {
    return new Template(source);
  } catch (error) {
    throw new CliError(
      `${option} is not a valid template: ${error instanceof Error ? error.message : String(error)}.`,
      'A column is named as {{ review }}, and one with a space as {{ row["Review text"] }}.',
    );
  }
}

/** @throws CliError that names the columns there are, for a template that names another one */
export function requireColumns(
  template: Pick<RowTemplate, 'option' | 'columns'>,
  { name, columns }: { name: string; columns: readonly string[] },
): void {
  const missing = [...template.columns].find((column) => !columns.includes(column));
  if (missing === undefined) return;
  const near = nearestWord(missing, columns);
  const shown = columns.slice(0, maxShown).join(', ');
  const more = columns.length > maxShown ? ` and ${columns.length - maxShown} more` : '';
  throw new CliError(
    `${template.option} names the column '${missing}', which ${name} does not have: its columns are ${shown}${more}.`,
    near === undefined ? undefined : `Did you mean {{ ${near} }}?`,
  );
}

const maxShown = 30;

interface Node {
  type: string;
  [member: string]: unknown;
}

const builtIn: ReadonlySet<string> = new Set(
  'row loop range namespace true false none True False None raise_exception strftime_now'.split(' '),
);

/** Names that a template reads, without its own variables. */
function namedColumns(program: unknown): Set<string> {
  const read = new Set<string>();
  const own = new Set(builtIn);
  const visit = (part: unknown): void => {
    if (Array.isArray(part)) return part.forEach(visit);
    if (part instanceof Map) return [...part].forEach(visit);
    if (!isObject(part) || typeof part['type'] !== 'string') return;
    visitNode(part as Node);
  };
  const visitNode = (node: Node): void => {
    if (node.type === 'Identifier') return void read.add(String(node['value']));
    if (node.type === 'MemberExpression') {
      const name = columnOfRow(node);
      if (name !== undefined) return void read.add(name);
      visit(node['object']);
      if (node['computed'] === true) visit(node['property']);
      return;
    }
    for (const name of namesBy[node.type] ?? []) define(node[name]);
    const ignored = notValues[node.type] ?? [];
    for (const [name, member] of Object.entries(node)) if (!ignored.includes(name)) visit(member);
    if (node.type === 'FilterExpression') visitArguments(node['filter']);
  };
  const visitArguments = (filter: unknown): void => {
    if (isObject(filter) && filter['type'] === 'CallExpression') visit(filter['args']);
  };
  const define = (target: unknown): void => {
    if (Array.isArray(target)) return target.forEach(define);
    if (!isObject(target)) return;
    if (target['type'] === 'Identifier') own.add(String(target['value']));
    else define(target['value']);
  };
  visit(program);
  for (const name of own) read.delete(name);
  return read;
}

/** Members that define names. */
const namesBy: Record<string, readonly string[]> = {
  For: ['loopvar'],
  Set: ['assignee'],
  Macro: ['name', 'args'],
  CallStatement: ['callerArgs'],
};

/** Members that contain other names than those of values. */
const notValues: Record<string, readonly string[]> = {
  FilterExpression: ['filter'],
  FilterStatement: ['filter'],
  TestExpression: ['test', 'operator'],
  BinaryExpression: ['operator'],
  UnaryExpression: ['operator'],
  KeywordArgumentExpression: ['key'],
};

/** Column of `row.review` or `row["Review text"]`. */
function columnOfRow({ object, property, computed }: Node): string | undefined {
  if (!isObject(object) || object['type'] !== 'Identifier' || object['value'] !== 'row') return undefined;
  if (!isObject(property) || typeof property['value'] !== 'string') return undefined;
  return computed !== true || property['type'] === 'StringLiteral' ? property['value'] : undefined;
}
