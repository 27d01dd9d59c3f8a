import { type JsonMember, type JsonScan, scanJson } from './scan.ts';

/** New JSON text by member name; null takes the member out. */
export type Edits = Map<string, string | null>;

/**
 * `text` with some of its top-level members replaced, removed or put first, every other byte as it was.
 * @param scan of this very text, if there is one
 */
export function editMembers(text: string, edits: Edits, scan = scanFor(text, edits)): string {
  const replaced = scan.members.filter(({ name }) => typeof edits.get(name) === 'string');
  const isReplaceOnly = replaced.length === edits.size;
  return isReplaceOnly ? replaceSpans(text, replaced, edits) : rebuild(text, scan, edits);
}

/** What is only replaced is looked for no further than it stands, which is mostly at the beginning. */
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
    // Between a value and the next key there is nothing but a comma and blanks.
    from = text.indexOf(',', end) + 1;
  }
  const added = [...missing].flatMap((name) => {
    const edit = edits.get(name);
    return typeof edit === 'string' ? [`${JSON.stringify(name)}:${edit}`] : [];
  });
  const tail = text.slice(members.at(-1)?.end ?? inside);
  return text.slice(0, inside) + [...added, ...pieces].join(',') + tail;
}
