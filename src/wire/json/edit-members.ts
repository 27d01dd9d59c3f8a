import { type JsonMember, type JsonScan, scanJson } from './scan.ts';

/** New JSON text by member name; null removes the member. */
export type Edits = Map<string, string | null>;

/**
 * Replaces, removes or prepends top-level members of `text`; every other byte stays as it was.
 * @param scan of the same text, if the caller has one
 */
export function editMembers(text: string, edits: Edits, scan = scanFor(text, edits)): string {
  const replaced = scan.members.filter(({ name }) => typeof edits.get(name) === 'string');
  const isReplaceOnly = replaced.length === edits.size;
  return isReplaceOnly ? replaceSpans(text, replaced, edits) : rebuild(text, scan, edits);
}

/** If members are only replaced, the scan ends behind the last of them, mostly near the beginning. */
function scanFor(text: string, edits: Edits): JsonScan {
  const isReplaceOnly = ![...edits.values()].includes(null);
  return scanJson(text, { maxDepth: Infinity, maxNodes: Infinity, ...(isReplaceOnly && { until: edits }) });
}

function replaceSpans(text: string, members: JsonMember[], edits: Edits): string {
  let result = '';
  let from = 0;
  for (const { name, start, end } of members) {
    result += text.slice(from, start) + edits.get(name);
    from = end;
  }
  return result + text.slice(from);
}

function rebuild(text: string, { members, inside }: JsonScan, edits: Edits): string {
  const pieces: string[] = [];
  const missing = new Set(edits.keys());
  let from = inside;
  for (const { name, start, end } of members) {
    const edit = edits.get(name);
    if (edit === undefined) pieces.push(text.slice(from, end));
    else if (edit !== null) pieces.push(text.slice(from, start) + edit);
    missing.delete(name);
    // Only a comma and white space separate a value from the next key.
    from = text.indexOf(',', end) + 1;
  }
  const added = [...missing].flatMap((name) => {
    const edit = edits.get(name);
    return typeof edit === 'string' ? [`${JSON.stringify(name)}:${edit}`] : [];
  });
  const tail = text.slice(members.at(-1)?.end ?? inside);
  return text.slice(0, inside) + [...added, ...pieces].join(',') + tail;
}
