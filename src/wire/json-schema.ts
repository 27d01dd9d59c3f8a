/**
 * JSON Schema 2020-12 as plain objects, with the one thing that makes it tedious by hand done here: the list of required
 * properties. A library for this would cost a fifth of the time in which the service starts.
 */
export type Schema = object;

/** Marks a property of an object as optional without standing in its JSON. */
const optional = '~optional';

function ofType(type: string) {
  return (rule: object = {}): Schema => ({ type, ...rule });
}

export const Type = {
  String: ofType('string'),
  Integer: ofType('integer'),
  Number: ofType('number'),
  Boolean: ofType('boolean'),

  /** Any value. */
  Unknown: (note: object = {}): Schema => ({ ...note }),

  /** Exactly this value. */
  Literal: (value: string | number | boolean, note: object = {}): Schema => ({
    type: typeof value,
    const: value,
    ...note,
  }),

  Array: (items: Schema, rule: object = {}): Schema => ({ type: 'array', items, ...rule }),

  /** An object whose properties must be there, but for those made `Optional`. */
  Object(properties: Record<string, Schema>, rule: object = {}): Schema {
    const required = Object.keys(properties).filter((name) => !(optional in properties[name]!));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...rule };
  },

  Optional: (schema: Schema): Schema => Object.defineProperty({ ...schema }, optional, { value: true }),
};
