import { describe, expect, it } from 'vitest';
import { routes } from '../src/server/routes/routes.ts';

// Clients send null for unset fields, so every optional field of every request must accept it.

type Node = Record<string, unknown>;

/** Object in a schema: its required fields, and all fields with their types in each variant. */
interface Place {
  required: Set<string>;
  fields: { name: string; schema: Node; required: ReadonlySet<string> }[];
}

const list = (value: unknown) => (Array.isArray(value) ? value : []) as unknown[];
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function placesOf(root: Node): Map<string, Place> {
  const places = new Map<string, Place>();
  const visit = (schema: Node, path: string, isCase: boolean) => {
    const place = places.get(path) ?? { required: new Set<string>(), fields: [] };
    places.set(path, place);
    const required = new Set(list(schema['required']) as string[]);
    if (!isCase) for (const name of required) place.required.add(name);
    for (const [name, field] of Object.entries((schema['properties'] ?? {}) as Record<string, Node>)) {
      place.fields.push({ name, schema: field, required });
      visit(field, `${path}.${name}`, false);
    }
    if (isNode(schema['items'])) visit(schema['items'], `${path}[]`, false);
    for (const each of list(schema['allOf'])) visit(each as Node, path, isCase);
    for (const name of ['then', 'else']) if (isNode(schema[name])) visit(schema[name], path, true);
  };
  visit(root, '', false);
  return places;
}

const takesNull = ({ type, enum: values, const: only }: Node) =>
  (type === undefined || [type].flat().includes('null')) &&
  (values === undefined || list(values).includes(null)) &&
  only === undefined;

const bodies = routes.flatMap(({ method, path, body, docs }) =>
  docs.body && body !== 'multipart' ? [[`${method} ${path}`, docs.body as Node] as const] : [],
);

describe('every optional field accepts null', () => {
  it.each(bodies)('%s', (_, schema) => {
    const refusing = Array.from(placesOf(schema), ([path, { required, fields }]) =>
      fields
        .filter((field) => !required.has(field.name) && !field.required.has(field.name))
        .filter((field) => !takesNull(field.schema))
        .map(({ name }) => `${path}.${name}`),
    ).flat();
    expect(refusing).toEqual([]);
  });
});
