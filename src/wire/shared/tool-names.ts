import { quoted } from '../json/parse.ts';
import type { AddFault } from '../schema/validate.ts';

/** A tool by its name, and where a request has it. */
interface NamedTool {
  /** Undefined where somebody's server runs it. */
  name: string | undefined;
  /** Of the tool. */
  path: string;
  /** Of its name; `name` in the whole if absent. */
  namePath?: string;
  /** What tells it from the others; its name if absent. */
  key?: string;
}

/** The keys that are there, and a fault for each that is there twice. */
export function checkToolNames(tools: Iterable<NamedTool>, add: AddFault): ReadonlyMap<string, unknown> {
  const found = new Map<string, string>();
  for (const { name, path, namePath = `${path}.name`, key = name } of tools) {
    if (name === undefined || key === undefined) continue;
    const first = found.get(key);
    if (first === undefined) found.set(key, path);
    else add(namePath, `${quoted(name)} is already the name of ${first}`);
  }
  return found;
}
