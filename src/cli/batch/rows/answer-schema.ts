import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Fields, fieldsOf, isObject, parseOrUndefined, stringOr } from '../../../base/fields.ts';
import { CliError } from '../../shared/exit-codes.ts';
import type { AddedColumn, ColumnType } from '../../table/table.ts';

/** JSON Schema of the answers. */
export interface AnswerSchema {
  /** Member `json_schema` of a response format. */
  format: { name: string; strict: boolean; schema: Fields };
  /** Columns of the properties; undefined for answers that are not objects. */
  columns: AddedColumn[] | undefined;
}

/** Reads a JSON Schema, also one within a `response_format`. @throws CliError for anything else */
export function readAnswerSchema(path: string, cwd: string): AnswerSchema {
  const content = parseOrUndefined(readText(path, cwd));
  if (!isObject(content))
    throw new CliError(`--schema ${path} is not a JSON object.`, 'It must contain a JSON Schema.');
  const format = isObject(content['json_schema']) ? content['json_schema'] : content;
  const schema = isObject(format['schema']) ? format['schema'] : format;
  const isWrapped = schema !== format;
  return {
    format: {
      name: isWrapped ? stringOr(format['name'], 'answer') : 'answer',
      strict: isWrapped ? format['strict'] !== false : true,
      schema,
    },
    columns: columnsOf(schema),
  };
}

function readText(path: string, cwd: string): string {
  try {
    return readFileSync(resolve(cwd, path), 'utf8').replace(/^\uFEFF/, '');
  } catch {
    throw new CliError(`--schema names the file ${path}, which cannot be read.`);
  }
}

function columnsOf({ type, properties }: Fields): AddedColumn[] | undefined {
  const entries = Object.entries(fieldsOf(properties));
  if ((type !== undefined && type !== 'object') || entries.length === 0) return undefined;
  return entries.map(([name, property]) => ({ name, type: columnType(fieldsOf(property)) }));
}

/** Type of a property; `json` where a column needs more than one type. */
function columnType({ type, enum: values }: Fields): ColumnType {
  const types = (Array.isArray(type) ? type : [type]).filter((name) => name !== 'null');
  const [only] = types;
  if (types.length === 1 && typeof only === 'string' && simple.includes(only)) return only as ColumnType;
  const isText =
    Array.isArray(values) && values.every((value) => typeof value === 'string' || value === null);
  return isText && type === undefined ? 'string' : 'json';
}

const simple = ['string', 'integer', 'number', 'boolean'];
