import type { SchemaElement, SchemaTree } from 'hyparquet';
import { getMaxDefinitionLevel } from 'hyparquet/src/schema.js';
import { encodeNestedValues } from 'hyparquet-writer/src/dremel.js';
import type { AddedColumn, ColumnType } from '../table.ts';
import { int96Nanos } from './cells.ts';
import type { LeafValues } from './leaf-reader.ts';
import type { ParquetColumn } from './parquet-file.ts';

/** Leaf of an output column, with its values in the current row group. */
export interface OutputLeaf {
  /** Elements from the root to the leaf, for the footer. */
  path: SchemaElement[];
  /** The leaf without its logical type: values are written as they are stored. */
  element: SchemaElement;
  statistics: boolean;
  /** Values of the rows since the last call, with their levels. */
  takeValues: () => LeafValues & { maxDefinitionLevel: number };
}

export interface OutputColumn {
  /** Elements of the schema: the column and what is below it. */
  elements: SchemaElement[];
  leaves: OutputLeaf[];
  /** Adds the value of a row. @returns its approximate size in bytes */
  add(value: unknown): number;
}

/** Column that is copied from a Parquet file, with values as they are stored there. */
export function copiedColumn({ tree, leaves, isNested }: ParquetColumn): OutputColumn {
  const outputs = leaves.map(({ path }) => copiedLeaf(path));
  return {
    elements: flatten(tree),
    leaves: outputs.map(({ leaf }) => leaf),
    add(value) {
      const parts = isNested ? (value as LeafValues[]) : undefined;
      let size = 0;
      for (let index = 0; index < outputs.length; index++)
        size += outputs[index]!.add(parts?.[index] ?? value);
      return size;
    },
  };
}

function flatten(tree: SchemaTree): SchemaElement[] {
  return [storedElement(tree.element), ...tree.children.flatMap(flatten)];
}

/** Element for the footer. INT96, which is deprecated, becomes a timestamp. */
function storedElement(element: SchemaElement): SchemaElement {
  const { type, logical_type: logical, converted_type: converted } = element;
  if (type === 'INT96')
    return {
      ...element,
      type: 'INT64',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'NANOS' },
    };
  // The writer gives the bit width a wrong type; the converted type says the same.
  if (logical?.type === 'INTEGER' && converted !== undefined) return { ...element, logical_type: undefined };
  return element;
}

function copiedLeaf(path: SchemaTree[]) {
  const { element: source } = path.at(-1)!;
  const max = getMaxDefinitionLevel(path);
  let held = emptyLeaf();
  const isInt96 = source.type === 'INT96';
  const convert = (value: unknown) => (isInt96 && value !== null ? int96Nanos(value as bigint) : value);
  const leaf: OutputLeaf = {
    path: path.map(({ element }) => storedElement(element)),
    element: physical(storedElement(source)),
    statistics: hasPlainOrder(source),
    takeValues() {
      const values = { ...held, maxDefinitionLevel: max };
      held = emptyLeaf();
      return values;
    },
  };
  return {
    leaf,
    add(value: unknown): number {
      if (!isLeafValues(value)) {
        held.values.push(convert(value));
        if (max > 0) held.definition.push(value === null ? 0 : 1);
        return sizeOf(value);
      }
      let size = 0;
      for (let index = 0; index < value.values.length; index++) {
        held.values.push(convert(value.values[index]));
        held.definition.push(value.definition[index]!);
        if (value.repetition.length > 0) held.repetition.push(value.repetition[index]!);
        size += sizeOf(value.values[index]);
      }
      return size;
    },
  };
}

const emptyLeaf = (): LeafValues => ({ values: [], definition: [], repetition: [] });

function isLeafValues(value: unknown): value is LeafValues {
  return typeof value === 'object' && value !== null && 'definition' in value;
}

function physical({ name, type, type_length, repetition_type }: SchemaElement): SchemaElement {
  return { name, type, type_length, repetition_type };
}

/** True if the order of the stored values is the order of what they mean. */
function hasPlainOrder({ type, converted_type: converted, logical_type: logical }: SchemaElement): boolean {
  if (type === 'INT96' || type === 'FIXED_LEN_BYTE_ARRAY' || logical?.type === 'FLOAT16') return false;
  return (
    !/^(?:DECIMAL|UINT_|INTERVAL|BSON|JSON)/.test(converted ?? '') &&
    (type !== 'BYTE_ARRAY' || converted === 'UTF8')
  );
}

/** Column of new values. */
export function newColumn({ name, type }: AddedColumn, root: SchemaElement): OutputColumn {
  const optional = (element: Omit<SchemaElement, 'repetition_type'>): SchemaElement => ({
    ...element,
    repetition_type: 'OPTIONAL',
  });
  const list = optional({ name, converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1 });
  const elements: SchemaElement[] =
    type === 'vector'
      ? [
          list,
          { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
          optional({ name: 'element', type: 'DOUBLE' }),
        ]
      : [optional({ name, ...stored[type] })];
  const tree = chain([root, ...elements]);
  let rows: unknown[] = [];
  const leaf: OutputLeaf = {
    path: [root, ...elements],
    element: physical(elements.at(-1)!),
    statistics: true,
    takeValues() {
      const { values, definitionLevels, repetitionLevels, maxDefinitionLevel } = encodeNestedValues(
        tree,
        rows,
      );
      rows = [];
      return {
        values: values as unknown[],
        definition: definitionLevels,
        repetition: repetitionLevels,
        maxDefinitionLevel,
      };
    },
  };
  return {
    elements,
    leaves: [leaf],
    add(value) {
      const one = coerce(value, type);
      rows.push(one);
      return sizeOf(one);
    },
  };
}

const text: Pick<SchemaElement, 'type' | 'converted_type' | 'logical_type'> = {
  type: 'BYTE_ARRAY',
  converted_type: 'UTF8',
  logical_type: { type: 'STRING' },
};

const stored: Record<Exclude<ColumnType, 'vector'>, typeof text> = {
  string: text,
  json: text,
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
};

/** Tree of nodes that have one child each. */
function chain(elements: readonly SchemaElement[]): SchemaTree[] {
  const nodes: SchemaTree[] = [];
  for (let index = elements.length - 1; index >= 0; index--) {
    const child = nodes[0];
    nodes.unshift({
      element: elements[index]!,
      path: elements.slice(1, index + 1).map(({ name }) => name),
      children: child === undefined ? [] : [child],
      count: elements.length - index,
    });
  }
  return nodes;
}

const encoder = new TextEncoder();

/** Stored value; null for one of another type. */
function coerce(value: unknown, type: ColumnType): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'integer') return integerOf(value);
  if (type === 'number') return typeof value === 'number' ? value : null;
  if (type === 'boolean') return typeof value === 'boolean' ? value : null;
  if (type === 'vector') return Array.isArray(value) ? value : null;
  return encoder.encode(type === 'string' && typeof value === 'string' ? value : JSON.stringify(value));
}

function integerOf(value: unknown): bigint | null {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return typeof value === 'string' && /^-?\d{1,19}$/.test(value) ? BigInt.asIntN(64, BigInt(value)) : null;
}

function sizeOf(value: unknown): number {
  if (value instanceof Uint8Array) return value.length + 16;
  return Array.isArray(value) ? value.length * 8 : 8;
}
