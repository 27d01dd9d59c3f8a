import { fail, holds, holdsAt, type Node, type Run, spend } from './evaluate.ts';
import type { KeywordReader } from './keyword-reader.ts';

/** Adds the keywords of objects, except `unevaluatedProperties`. */
export function addObjectRules(node: Node, reader: KeywordReader): void {
  const min = reader.count('minProperties') ?? 0;
  const max = reader.count('maxProperties') ?? Infinity;
  if (min > 0 || max < Infinity)
    node.object.push((value, run) => {
      const size = Object.keys(value).length;
      spend(run, size >> 4);
      if (size < min) return fail(run, `must NOT have fewer than ${min} properties`);
      return size <= max || fail(run, `must NOT have more than ${max} properties`);
    });
  const required = reader.required();
  if (required.length > 0)
    node.object.push((value, run) => {
      spend(run, required.length >> 4);
      const missing = required.find((name) => !Object.hasOwn(value, name));
      return missing === undefined || fail(run, `must have required property '${missing}'`);
    });
  addDependencies(node, reader);
  addProperties(node, reader);
}

/** `dependentRequired` and `dependentSchemas`, and both as `dependencies`, as in earlier drafts. */
function addDependencies(node: Node, reader: KeywordReader): void {
  const schemas = reader.named('dependentSchemas');
  const names = reader
    .members('dependentRequired')
    .map(([name, value, at]) => [name, reader.names(value, at)] as const);
  for (const [name, value, at] of reader.members('dependencies'))
    if (Array.isArray(value)) names.push([name, reader.names(value, at)]);
    else schemas.push([name, reader.toNode(value, at)]);
  for (const [name, needed] of names)
    node.object.push((value, run) => {
      if (!Object.hasOwn(value, name)) return true;
      spend(run, 1 + (needed.length >> 4));
      const missing = needed.find((each) => !Object.hasOwn(value, each));
      return (
        missing === undefined || fail(run, `must have property ${missing} when property ${name} is present`)
      );
    });
  for (const [name, schema] of schemas)
    node.object.push((value, run, seen) => !Object.hasOwn(value, name) || holds(schema, value, run, seen));
}

function addProperties(node: Node, reader: KeywordReader): void {
  const properties = new Map(reader.named('properties'));
  const byPattern = reader
    .named('patternProperties')
    .map(([pattern, schema]) => ({ matches: reader.pattern(pattern, 'patternProperties'), schema }));
  const additional = reader.schema('additionalProperties');
  const forName = reader.schema('propertyNames');
  if (properties.size === 0 && byPattern.length === 0 && !additional && !forName) return;
  const refusesAdditional = reader.value('additionalProperties') === false;
  node.object.push((value, run, seen) => {
    for (const name of Object.keys(value)) {
      const member = value[name];
      if (forName && !isAllowedName(name, forName, run)) return false;
      const own = properties.get(name);
      if (own && !holdsAt(name, own, member, run)) return false;
      let isKnown = own !== undefined;
      for (const { matches, schema } of byPattern) {
        spend(run, 1);
        if (!matches(name, run)) continue;
        isKnown = true;
        if (!holdsAt(name, schema, member, run)) return false;
      }
      if (!isKnown && refusesAdditional) return fail(run, `must NOT have additional property '${name}'`);
      if (!isKnown && additional && !holdsAt(name, additional, member, run)) return false;
      if (isKnown || additional) seen?.keys.add(name);
    }
    return true;
  });
}

function isAllowedName(name: string, schema: Node, run: Run): boolean {
  return holds(schema, name, run) || fail(run, `has the property name '${name}', which ${run.fault?.how}`);
}
