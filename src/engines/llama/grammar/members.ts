import type { Conversion } from './conversion.ts';
import { type Schema, type SchemaObject, mergeSchemas } from './merge.ts';
import { satisfies } from './satisfies.ts';
import { encodePointer } from './pointers.ts';

/** A member with a name that the schema spells out. */
export interface Member {
  name: string;
  value: unknown;
  /** Pointer of its schema. */
  at: string;
  isRequired: boolean;
}

/** The named members, each with all that is said about it. */
export function readMembers(conversion: Conversion, schema: SchemaObject, pointer: string): Member[] {
  const properties = (schema.properties as Record<string, unknown> | undefined) ?? {};
  const wanted = new Set((schema.required as string[] | undefined) ?? []);
  const members: Member[] = Object.entries(properties).map(([name, value]) => ({
    name,
    value,
    at: `${pointer}/properties/${encodePointer(name)}`,
    isRequired: wanted.has(name),
  }));
  // A required name without a property of its own is an additional property that must come.
  for (const name of wanted) {
    if (Object.hasOwn(properties, name)) continue;
    const isOther = !patternsOf(conversion, schema).some(({ matches }) => matches(name));
    const value: unknown = isOther ? schema.additionalProperties : true;
    members.push({ name, value, at: `${pointer}/additionalProperties`, isRequired: true });
  }
  return members.map((member) => confined(conversion, schema, pointer, member));
}

/** With what patternProperties and propertyNames say about the name. */
function confined(conversion: Conversion, schema: SchemaObject, pointer: string, member: Member): Member {
  const walk = conversion.walk(pointer);
  const names = (schema.propertyNames ?? true) as Schema;
  if (!satisfies(member.name, names, walk, conversion.strings)) return { ...member, value: false };
  const said = patternsOf(conversion, schema).filter(({ matches }) => matches(member.name));
  if (said.length === 0) return member;
  const value = said.reduce<Schema>(
    (all, one) => mergeSchemas(all, one.value, walk),
    (member.value ?? true) as Schema,
  );
  return { ...member, value };
}

/** The patterns of patternProperties that can be followed. */
export function patternsOf(
  { strings }: Conversion,
  schema: SchemaObject,
): { pattern: string; value: Schema; matches: (name: string) => boolean }[] {
  const patterns = (schema.patternProperties as Record<string, Schema> | undefined) ?? {};
  return Object.entries(patterns).flatMap(([pattern, value]) => {
    const language = strings.ofPattern(pattern);
    if (!('kind' in language)) return [];
    return [{ pattern, value, matches: (name: string) => strings.matches(language, name) }];
  });
}
