/** What had to be put right in an answer, for the log. */
export type Repair = 'usage estimated' | 'text was not Unicode' | 'finish reason is unknown';
export interface Repairs {
  add: (repair: Repair) => unknown;
}

/** `text` without halves of surrogate pairs, which no UTF-8 can carry (reliability.md, F31). */
export function unicode(text: string, repairs: Repairs): string {
  if (text.isWellFormed()) return text;
  repairs.add('text was not Unicode');
  return text.toWellFormed();
}
