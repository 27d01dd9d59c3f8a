/** Keywords of JSON Schema (drafts 7 to 2020-12) that are met by construction. */
const held = new Set([
  '$ref',
  '$defs',
  'definitions',
  'type',
  'enum',
  'const',
  'anyOf',
  'oneOf',
  'allOf',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'format',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
]);

/** Keywords that ask for something our grammar cannot express. Whatever stands in neither list constrains nothing. */
const unsupported = new Set([
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
  'pattern',
  'multipleOf',
  'uniqueItems',
  'contains',
  'minContains',
  'maxContains',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'patternProperties',
  'propertyNames',
  'minProperties',
  'maxProperties',
  'unevaluatedProperties',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
  'not',
  'if',
  'then',
  'else',
]);

/** The value with which an unsupported keyword asks for nothing after all. */
const asksForNothing: Record<string, unknown> = {
  uniqueItems: false,
  unevaluatedItems: true,
  unevaluatedProperties: true,
  propertyNames: true,
  additionalItems: true,
  minProperties: 0,
};

/** The keywords of `schema` that ask for something the grammar cannot hold. */
export function unsupportedKeywords(schema: Record<string, unknown>): string[] {
  return Object.keys(schema).filter(
    (keyword) => unsupported.has(keyword) && schema[keyword] !== asksForNothing[keyword],
  );
}

/** Whether `schema` constrains anything besides the keywords named in `except`. */
export function constrainsBeyond(schema: Record<string, unknown>, except: readonly string[]): boolean {
  return Object.keys(schema).some(
    (keyword) =>
      !except.includes(keyword) &&
      keyword !== '$defs' &&
      keyword !== 'definitions' &&
      (held.has(keyword) || unsupported.has(keyword)),
  );
}
