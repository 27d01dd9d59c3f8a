import { quoted } from '../json/parse.ts';
import type { AddFault } from '../schema/validate.ts';

/** A tool by its name, and where a request has it. */
interface Named {
  /** Undefined where somebody's server runs it. */
  name: string | undefined;
  /** Of the tool. */
  whole: string;
  /** Of its name; `name` in the whole if absent. */
  place?: string;
  /** What tells it from the others; its name if absent. */
  key?: string;
}

/** The keys that are there, and a fault for each that is there twice. */
export function checkNames(tools: Iterable<Named>, add: AddFault): ReadonlyMap<string, unknown> {
  const found = new Map<string, string>();
  for (const { name, whole, place = `${whole}.name`, key = name } of tools) {
    if (name === undefined || key === undefined) continue;
    const first = found.get(key);
    if (first === undefined) found.set(key, whole);
    else add(place, `${quoted(name)} is already the name of ${first}`);
  }
  return found;
}
