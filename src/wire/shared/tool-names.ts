import { quoted } from '../json/parse.ts';
import type { AddFault } from '../schema/validate.ts';

/** Name of a tool, and its path in the request. */
interface NamedTool {
  /** Undefined for tools that run on a server. */
  name: string | undefined;
  path: string;
  /** Path of the name; `${path}.name` if absent. */
  namePath?: string;
  /** Unique key; the name if absent. */
  key?: string;
}

/** Adds a fault for every duplicate, and returns the keys. */
export function checkToolNames(tools: Iterable<NamedTool>, add: AddFault): ReadonlyMap<string, unknown> {
  const found = new Map<string, string>();
  for (const { name, path, namePath = `${path}.name`, key = name } of tools) {
    if (name === undefined || key === undefined) continue;
    const first = found.get(key);
    if (first === undefined) found.set(key, path);
    else add(namePath, `duplicate name ${quoted(name)}, already used by ${first}`);
  }
  return found;
}
