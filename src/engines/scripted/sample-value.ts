import { fieldsOf } from '../../base/fields.ts';
import { decodeReference, resolvePointer } from '../../base/json-pointer.ts';
import type { JsonSchema } from '../../wire/chat/chat.ts';

/** A small value for the common keywords of a schema: required properties alone, shortest strings, smallest numbers. */
export function sampleValue(root: JsonSchema): unknown {
  return sample(root, 0);

  function sample(schema: unknown, depth: number): unknown {
    const own = fieldsOf(schema);
    // A schema may refer to itself.
    if (depth > 16) return null;
    const inner = (each: unknown) => sample(each, depth + 1);
    if (typeof own.$ref === 'string') return inner(resolvePointer(root, decodeReference(own.$ref)));
    if ('const' in own) return own.const;
    if (Array.isArray(own.enum)) return own.enum[0];
    // The last branch is often `null`, which ends a recursion.
    const branches = own.anyOf ?? own.oneOf;
    if (Array.isArray(branches)) return inner(branches.at(-1));
    if (Array.isArray(own.allOf)) return Object.assign({}, ...own.allOf.map(inner));
    const properties = fieldsOf(own.properties);
    const required = (own.required ?? []) as string[];
    const least = (keyword: string) => Number(own[keyword] ?? 0);
    switch ([own.type ?? (own.properties ? 'object' : 'string')].flat()[0]) {
      case 'object':
        return Object.fromEntries(required.map((name) => [name, inner(properties[name])]));
      case 'array':
        return Array.from({ length: least('minItems') }, () => inner(own.items));
      case 'string':
        return 'a'.repeat(least('minLength'));
      case 'number':
      case 'integer':
        return Math.min(Math.ceil(least('minimum')), Math.floor(Number(own.maximum ?? Infinity)));
      default:
        return own.type === 'boolean' ? false : null;
    }
  }
}
