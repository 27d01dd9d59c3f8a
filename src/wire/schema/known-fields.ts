import { fieldsOf } from '../../base/fields.ts';
import { alsoKnown, type Schema } from './schema.ts';

/** Known fields of a JSON value: any, or those of an object and of the objects in it. Items of lists have the place of the list. */
export type Known = 'anything' | KnownObject;

export interface KnownObject {
  readonly fields: ReadonlyMap<string, Known>;
  /** Fields of objects whose `type` has rules of its own, with the common ones. */
  readonly variants: ReadonlyMap<string, KnownObject>;
  /** True if objects with a `type` that is not in `variants` may have any fields. */
  readonly isOpen: boolean;
}

/**
 * Fields that a request may have: those in its schema, which Offpeak checks, and those that the schema names by `alsoKnown`. Derived on
 * first use.
 */
export function knownFields(schema: Schema): () => KnownObject {
  let known: KnownObject | undefined;
  return () => (known ??= finished(collect(schema, newDraft())) as KnownObject);
}

/** Fields while a schema is read, whose rules may name a field several times. */
interface Draft {
  fields: Map<string, Draft>;
  variants: Map<string, Draft>;
  /** True if the schema leaves the values of `type` open. */
  isOpen: boolean;
}

const newDraft = (): Draft => ({ fields: new Map(), variants: new Map(), isOpen: false });

function collect(schema: Schema, into: Draft): Draft {
  const { properties, items, allOf, if: condition, then, else: otherwise } = schema as Record<string, Schema>;
  for (const [name, rule] of Object.entries(properties ?? {})) {
    collect(rule, entry(into.fields, name));
    const { enum: values, const: value } = fieldsOf(rule);
    if (name === 'type' && values === undefined && value === undefined) into.isOpen = true;
  }
  for (const name of (schema as Marked)[alsoKnown] ?? []) entry(into.fields, name);
  if (items) collect(items, into);
  for (const rule of (allOf as readonly Schema[] | undefined) ?? []) collect(rule, into);
  const types = condition && typesIn(condition);
  const targets = types ? types.map((type) => (type === null ? into : entry(into.variants, type))) : [into];
  if (then) for (const target of targets) collect(then, target);
  if (otherwise) collect(otherwise, into);
  return into;
}

type Marked = Schema & { readonly [alsoKnown]?: readonly string[] };

function entry(drafts: Map<string, Draft>, name: string): Draft {
  const found = drafts.get(name) ?? newDraft();
  drafts.set(name, found);
  return found;
}

/** Values of `type` that a condition names; undefined if it is about something else. */
function typesIn(condition: Schema): readonly (string | null)[] | undefined {
  const { const: value, enum: values } = fieldsOf(fieldsOf(fieldsOf(condition)['properties'])['type']);
  return (values ?? (value === undefined ? undefined : [value])) as readonly (string | null)[] | undefined;
}

function finished(draft: Draft): Known {
  if (draft.fields.size === 0 && draft.variants.size === 0) return 'anything';
  const { fields, variants, isOpen } = draft;
  const common = { ...draft, variants: new Map<string, Draft>() };
  return {
    fields: new Map([...fields].map(([name, each]) => [name, finished(each)])),
    variants: new Map(
      [...variants].map(([type, each]) => [type, finished(merged(common, each)) as KnownObject]),
    ),
    isOpen: isOpen && variants.size > 0,
  };
}

function merged(a: Draft, b: Draft): Draft {
  return {
    fields: mergedMaps(a.fields, b.fields),
    variants: mergedMaps(a.variants, b.variants),
    isOpen: a.isOpen || b.isOpen,
  };
}

function mergedMaps(a: Map<string, Draft>, b: Map<string, Draft>): Map<string, Draft> {
  const all = new Map(a);
  for (const [name, draft] of b) {
    const other = a.get(name);
    all.set(name, other ? merged(other, draft) : draft);
  }
  return all;
}
