import type { AddedColumn, TableWriter } from './table.ts';

/** Writer of JSON Lines. A row that came from JSON Lines keeps its text; the added members follow. */
export function createJsonlWriter(
  added: readonly AddedColumn[],
  emit: (text: string) => Promise<void> | void,
): TableWriter {
  const keys = added.map(({ name }) => JSON.stringify(name));
  return {
    write({ values, text = JSON.stringify(values) }, more) {
      const members = more.map((value, index) => `${keys[index]}:${JSON.stringify(value ?? null)}`).join(',');
      const before = text.slice(0, text.lastIndexOf('}')).trimEnd();
      const comma = before.endsWith('{') || members === '' ? '' : ',';
      return emit(`${before}${comma}${members}}\n`);
    },
    finish: () => Promise.resolve(),
  };
}
