/** How far a keyword of JSON Schema (drafts 7 to 2020-12) is held by construction. */
export type Hold =
  /** In every schema. */
  | 'always'
  /** In the forms that `docs/structured-output.md` tells; others are refused under `strict`. */
  | 'mostly'
  /** Not by the grammar, or in part: the answer is checked. Rare in practice, so that an answer seldom misses it. */
  | 'checked'
  /** Refused before the engine is asked. */
  | 'never';

/** Whatever stands not in this table constrains nothing. The page for users has the same rows; a test compares. */
export const keywordTable: Readonly<Record<string, Hold>> = {
  type: 'always',
  enum: 'always',
  const: 'always',
  $ref: 'mostly',
  $defs: 'always',
  definitions: 'always',
  anyOf: 'always',
  allOf: 'mostly',
  oneOf: 'checked',
  not: 'checked',
  if: 'checked',
  then: 'checked',
  else: 'checked',
  properties: 'always',
  required: 'always',
  additionalProperties: 'always',
  patternProperties: 'checked',
  propertyNames: 'checked',
  minProperties: 'checked',
  maxProperties: 'checked',
  dependentRequired: 'checked',
  dependentSchemas: 'checked',
  dependencies: 'checked',
  unevaluatedProperties: 'checked',
  items: 'always',
  prefixItems: 'always',
  additionalItems: 'always',
  minItems: 'always',
  maxItems: 'always',
  uniqueItems: 'checked',
  contains: 'checked',
  minContains: 'checked',
  maxContains: 'checked',
  unevaluatedItems: 'checked',
  minLength: 'always',
  maxLength: 'always',
  pattern: 'mostly',
  format: 'mostly',
  minimum: 'always',
  maximum: 'always',
  exclusiveMinimum: 'always',
  exclusiveMaximum: 'always',
  multipleOf: 'mostly',
  $dynamicRef: 'never',
  $recursiveRef: 'never',
};

/** Whether `schema` constrains anything besides the keywords named in `except`. */
export function constrainsBeyond(schema: Record<string, unknown>, except: readonly string[]): boolean {
  return Object.keys(schema).some(
    (keyword) =>
      !except.includes(keyword) &&
      keyword !== '$defs' &&
      keyword !== 'definitions' &&
      Object.hasOwn(keywordTable, keyword),
  );
}
