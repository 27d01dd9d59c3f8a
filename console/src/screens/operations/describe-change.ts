interface Change {
  before: object | null;
  after: object | null;
}

/** Returns a change in one line: `weight: 1 → 2, name: "a" → "b"`. Of what was created or removed, the fields alone. */
export function describeChange({ before, after }: Change): string {
  const [old, current] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after ?? {}))];
  const names = [...new Set([...old.keys(), ...current.keys()])];
  return names.map((name) => describe(name, { old, current })).join(', ');
}

function describe(
  name: string,
  { old, current }: Record<'old' | 'current', ReadonlyMap<string, unknown>>,
): string {
  const [was, is] = [JSON.stringify(old.get(name)), JSON.stringify(current.get(name))];
  if (was === undefined || is === undefined) return `${name}: ${is ?? was}`;
  return `${name}: ${was} → ${is}`;
}
